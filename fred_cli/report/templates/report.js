// What the page lets its reader do: sort and filter strategies, zoom the timeline, step the flits,
// walk the links.
"use strict";
const byId = (name) => document.getElementById(name);
const dataOf = (name) => JSON.parse(byId(name).textContent);
// Parts of an iteration by name: words, heading and colour of each.
const partOf = Object.fromEntries(dataOf("parts-data").map((one) => [one.name, one]));

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  if (text !== undefined) made.textContent = text;
  return made;
}

// What scrolls must be reached by the keyboard, and only that: a browser also stops at a region that
// could scroll by a fraction of a pixel.
const regions = [...document.querySelectorAll(".wide")];
function reachable() {
  regions.forEach((one) => {
    const across = one.scrollWidth > one.clientWidth + 1;
    const down = one.scrollHeight > one.clientHeight + 1;
    const cue = ["scroll", across ? "\u2194" : "", down ? "\u2195" : ""].filter(Boolean).join(" ");
    one.setAttribute("tabindex", across || down ? "0" : "-1");
    const given = { role: "region", "aria-label": one.dataset.label, "data-cue": cue };
    Object.entries(given).forEach(([key, value]) => (across || down ? one.setAttribute(key, value) : one.removeAttribute(key)));
  });
}
const sized = new ResizeObserver(reachable);
regions.forEach((one) => sized.observe(one));
document.addEventListener("toggle", reachable, true);

// Strategies.
(() => {
  const { parts, rows } = dataOf("explorer-data");
  const controls = byId("explorer-controls").elements;
  const body = byId("explorer-table").tBodies[0];
  const plot = document.querySelector("#chart-explorer .plot");
  let ready = false;

  function fabrics() {
    const names = [...new Set(rows.filter((row) => row.workload === controls.workload.value).map((row) => row.fabric))];
    const before = controls.fabric.value;
    controls.fabric.replaceChildren(new Option("all", ""), ...names.map((name) => new Option(name, name)));
    controls.fabric.value = names.includes(before) ? before : "";
  }

  function chosen() {
    const text = controls.text.value.trim().toUpperCase();
    const key = controls.sort.value;
    const value = (row) => (key in row ? row[key] : row.parts[Number(key)]);
    const found = rows.filter((row) => row.workload === controls.workload.value
      && (!controls.fabric.value || row.fabric === controls.fabric.value)
      && (!controls.fits.value || row.fits === (controls.fits.value === "yes"))
      && `-${row.strategy}-`.includes(text));
    const order = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : a.ms - b.ms);
    return found.sort((a, b) => b.fits - a.fits || order(a, b));
  }

  function cell(row, text, numeric) {
    const made = row.insertCell();
    made.textContent = text;
    if (numeric) made.className = "n";
  }

  function draw(shown, several) {
    const labels = shown.map((row) => `${row.fits ? "" : "\u2717 "}${row.strategy}${several ? ` ${row.fabric.split("/").pop()}` : ""}`);
    plot.style.height = `${64 + 24 * Math.max(shown.length, 1)}px`;
    const places = shown.map((_, place) => place);
    const data = parts.map((name) => partOf[name]).map(({ words, colour }, part) => ({
      type: "bar", orientation: "h", name: words, y: places, x: shown.map((row) => row.parts[part]),
      marker: { color: colour }, customdata: labels, hovertemplate: `%{customdata}<br>${words}: %{x:.4g} ms<extra></extra>`,
    }));
    charts.show(plot, { data, layout: {
      barmode: "stack", xaxis: { title: { text: "ms per sample" }, side: "top" }, margin: { l: 44, r: 8, t: 48, b: 8 },
      yaxis: { range: [shown.length - 0.5, -0.5], tickmode: "array", tickvals: places, ticktext: labels },
    } });
  }

  function show() {
    const found = chosen();
    const shown = found.slice(0, Number(controls.most.value));
    body.replaceChildren();
    shown.forEach((row, place) => {
      const line = body.insertRow();
      if (!row.fits) line.className = "unfit";
      cell(line, row.fits ? place + 1 : "\u2717");
      cell(line, row.strategy);
      cell(line, row.fabric);
      cell(line, row.ms.toPrecision(4), true);
      row.parts.forEach((part) => cell(line, part === 0 ? "0" : part < 0.001 * row.ms ? "< 0.1 %" : part.toPrecision(3), true));
      cell(line, row.gb, true);
      cell(line, row.memory);
    });
    const unfit = found.filter((row) => !row.fits).length;
    byId("explorer-status").textContent = `${shown.length} of ${found.length} shown, ${unfit} of them do not fit the memory.`
      .replace(", 0 of them do not fit the memory", ", all fit the memory");
    if (ready) draw(shown, new Set(found.map((row) => row.fabric)).size > 1);
    reachable();
  }

  byId("explorer-controls").addEventListener("input", (event) => {
    if (event.target.name === "workload") fabrics();
    show();
  });
  byId("explorer-controls").addEventListener("submit", (event) => event.preventDefault());
  fabrics();
  show();
  charts.loaded.then(() => { ready = true; show(); });
})();

// Timeline.
(() => {
  const all = dataOf("timeline-data");
  const view = byId("timeline-view");
  const [left, high, top] = [118, 22, 8];
  let [from, to] = [0, 1];

  // The least round step that leaves at most six of them.
  function nice(span) {
    const power = 10 ** Math.floor(Math.log10(span / 6));
    return [1, 2, 5, 10].map((one) => one * power).find((one) => span / one <= 6);
  }

  function bars(svg, one, lane, y, width, scale, start, end) {
    let open = null; // neighbours within a pixel are one shape
    const flush = () => {
      if (!open) return;
      const bar = element("rect", { x: open.x0.toFixed(1), y: y + 3, width: Math.max(0.6, open.x1 - open.x0).toFixed(1), height: high - 6, fill: partOf[lane.kind].colour });
      // Paler where there are gaps that cannot be seen.
      bar.setAttribute("fill-opacity", Math.min(1, 0.3 + 0.7 * open.busy / Math.max(open.x1 - open.x0, 0.01)).toFixed(2));
      bar.append(element("title", {}, open.count > 1 ? `${open.count} tasks from ${open.text} on` : open.text));
      svg.append(bar);
      open = null;
    };
    for (let k = 0; k < lane.tasks.length; k += 3) {
      const [begin, length, name] = lane.tasks.slice(k, k + 3);
      if (begin + length < start || begin > end) continue;
      const x0 = left + Math.max(0, (begin - start) * scale);
      const x1 = left + Math.min(width - left, (begin + length - start) * scale);
      if (open && x0 - open.x1 < 0.5 && (x1 - x0 < 2 || open.x1 - open.x0 < 2)) {
        open.x1 = Math.max(open.x1, x1);
        open.count += 1;
        open.busy += x1 - x0;
      } else {
        flush();
        open = { x0, x1, count: 1, busy: x1 - x0, text: `${one.names[name]}: ${(length / 1e3).toPrecision(4)} ms` };
      }
    }
    flush();
  }

  function draw() {
    const one = all[byId("timeline-fabric").value];
    const width = Math.max(280, view.clientWidth);
    const [start, end] = [from * one.end_us, to * one.end_us];
    const scale = (width - left - 4) / (end - start);
    const height = top + high * one.lanes.length + 30;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img" });
    const label = `Timeline on ${byId("timeline-fabric").value}, ${(start / 1e3).toPrecision(4)} to ${(end / 1e3).toPrecision(4)} ms`;
    svg.setAttribute("aria-label", label);
    one.lanes.forEach((lane, place) => {
      const y = top + place * high;
      svg.append(element("rect", { class: "lane", x: left, y: y + 3, width: width - left - 4, height: high - 6 }));
      svg.append(element("text", { x: left - 6, y: y + 15, "text-anchor": "end" }, `${lane.stage}: ${partOf[lane.kind].heading}`));
      bars(svg, one, lane, y, width, scale, start, end);
    });
    const step = nice(((end - start) * (width > 600 ? 1 : 2)) / 1e3);
    for (let n = Math.ceil(start / 1e3 / step); n * step <= end / 1e3; n += 1) {
      const x = left + (n * step * 1e3 - start) * scale;
      svg.append(element("line", { class: "grid", x1: x, x2: x, y1: top, y2: height - 24 }));
      const anchor = x > width - 40 ? "end" : "middle";
      svg.append(element("text", { x, y: height - 10, "text-anchor": anchor }, `${Number((n * step).toPrecision(6))} ms`));
    }
    view.replaceChildren(svg);
    byId("timeline-status").textContent = `${label}.`;
  }

  const moves = {
    in: (span, middle) => [middle - span / 4, middle + span / 4],
    out: (span, middle) => [middle - span, middle + span],
    left: (span) => [from - span / 2, to - span / 2],
    right: (span) => [from + span / 2, to + span / 2],
    all: () => [0, 1],
  };
  document.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => {
    const [a, b] = moves[button.dataset.zoom](to - from, (from + to) / 2);
    const span = Math.min(1, b - a);
    from = Math.min(Math.max(0, a), 1 - span);
    to = from + span;
    draw();
  }));
  byId("timeline-fabric").addEventListener("change", draw);
  new ResizeObserver(draw).observe(view.parentElement);
  draw();
})();

// Flits through the switch.
(() => {
  if (!byId("flits")) return;
  const steps = dataOf("flits-data");
  const svg = document.querySelector("#flits svg");
  const slider = byId("flits-cycle");
  const buttons = Object.fromEntries([...document.querySelectorAll("[data-step]")].map((one) => [one.dataset.step, one]));
  const stages = steps.columns.length - 1;
  const boxes = [...svg.querySelectorAll("g[data-column]")];
  boxes.forEach((box) => {
    const rect = box.querySelector("rect");
    const [x, y] = ["x", "y"].map((name) => Number(rect.getAttribute(name)));
    const dot = element("circle", { class: "flit", cx: x + 40, cy: y + 2, r: 9.5 });
    const text = element("text", { x: x + 40, y: y + 6, "text-anchor": "middle" });
    [dot, text].forEach((one) => { one.style.display = "none"; box.append(one); });
  });
  slider.max = steps.cycles - 1;

  function show(cycle) {
    slider.value = cycle;
    const at = steps.sent.map((sent) => cycle - sent);
    boxes.forEach((box) => {
      const column = Number(box.dataset.column);
      const flit = "flow" in box.dataset ? at.findIndex((age) => age >= steps.columns[column] && age < steps.columns[column + 1]) : -1;
      box.classList.toggle("busy", flit >= 0);
      box.querySelectorAll(".flit, .flit + text").forEach((one) => { one.style.display = flit >= 0 ? "" : "none"; });
      box.querySelector(".flit + text").textContent = flit + 1;
    });
    const where = at.map((age, flit) => {
      if (age < 0) return `flit ${flit + 1} waits`;
      if (age > steps.columns[stages]) return `flit ${flit + 1} is out`;
      if (age === steps.columns[stages]) return `flit ${flit + 1} is on all outputs as ${steps.outputs[cycle]}`;
      const stage = steps.columns.findIndex((begin, k) => age >= begin && age < steps.columns[k + 1]);
      const sent = age === 0 ? `, ${steps.inputs[cycle].slice(0, 8).join(", ")} on the inputs` : "";
      return `flit ${flit + 1} in stage ${stage + 1} of ${stages}${sent}`;
    });
    byId("flits-status").textContent = `Cycle ${cycle}: ${where.join("; ")}.`;
  }

  let timer = null;
  function stop() {
    clearInterval(timer);
    timer = null;
    buttons.play.setAttribute("aria-pressed", "false");
    buttons.play.textContent = "play";
  }
  const move = (by) => show((Number(slider.value) + by + steps.cycles) % steps.cycles);
  buttons.first.addEventListener("click", () => { stop(); show(0); });
  buttons["-1"].addEventListener("click", () => { stop(); move(-1); });
  buttons["1"].addEventListener("click", () => { stop(); move(1); });
  buttons.play.addEventListener("click", () => {
    if (timer) { stop(); return; }
    timer = setInterval(() => move(1), 700);
    buttons.play.setAttribute("aria-pressed", "true");
    buttons.play.textContent = "pause";
  });
  slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
  show(0);
})();

// Links: one stop of the tab key, arrow keys from the busiest on.
(() => {
  if (!byId("phase")) return;
  const selects = ["phase", "fabric"].map(byId);
  const maps = [...document.querySelectorAll(".map")];
  const status = byId("link-status");
  const shown = () => maps.find((map) => !map.hidden);
  const links = (map) => [...map.querySelectorAll("line")].reverse();
  const tell = (link) => { status.textContent = `${link.getAttribute("aria-label")} of the time occupied.`; };

  function choose() {
    const [phase, fabric] = selects.map((select) => select.value);
    maps.forEach((map) => { map.hidden = map.dataset.phase !== phase || map.dataset.fabric !== fabric; });
    reachable();
    if (!shown()) { status.textContent = `${fabric} has no ${phase}.`; return; }
    const found = links(shown());
    found.forEach((link, place) => link.setAttribute("tabindex", place ? "-1" : "0"));
    if (found.length) status.textContent = `Busiest link: ${found[0].getAttribute("aria-label")} of the time occupied. Arrow keys select the next link.`;
  }
  selects.forEach((one) => one.addEventListener("change", choose));
  maps.forEach((map) => {
    ["pointerover", "focusin", "click"].forEach((kind) => map.addEventListener(kind, (event) => {
      if (event.target.tagName === "line") tell(event.target);
    }));
    map.addEventListener("keydown", (event) => {
      const found = links(map);
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const ends = { Home: 0, End: found.length - 1 }[event.key];
      const here = found.indexOf(document.activeElement);
      if (here < 0 || (by === undefined && ends === undefined)) return;
      event.preventDefault();
      found[here].setAttribute("tabindex", "-1");
      const next = found[ends ?? (here + by + found.length) % found.length];
      next.setAttribute("tabindex", "0");
      next.focus();
    });
  });
  choose();
})();

// The section in view is marked in the navigation.
(() => {
  const entries = [...document.querySelectorAll("nav a")].map((link) => [document.querySelector(link.hash), link]);
  const mark = () => {
    const here = entries.filter(([section]) => section.getBoundingClientRect().top < innerHeight / 3).pop() ?? entries[0];
    entries.forEach(([, link]) => (link === here[1] ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
})();
