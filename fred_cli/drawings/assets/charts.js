// Draws the panels of charts with plotly, after the page is shown, in the colours of the page.
"use strict";
const charts = (() => {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map(); // place to what it shows
  const queue = [];
  let ready = false;

  const inked = (value, ink) => {
    if (value === "INK") return ink;
    if (Array.isArray(value)) return typeof value[0] === "object" ? value.map((one) => inked(one, ink)) : value;
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inked(one, ink)]));
    }
    return value;
  };

  const axis = (given, line) => ({
    gridcolor: line, linecolor: line, zerolinecolor: line, automargin: true, fixedrange: true, ...given,
    ...(given?.title ? { title: { standoff: 8, ...given.title } } : {}),
  });

  function styled(layout) {
    const [ink, line] = [colour("ink"), colour("line")];
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, dragmode: false,
      font: { family: "system-ui, sans-serif", size: 12, color: ink }, bargap: 0.25,
      margin: { l: 44, r: 8, t: 8, b: 24 },
      hoverlabel: { bgcolor: colour("card"), bordercolor: line, font: { color: ink } },
      ...inked(layout, ink), xaxis: axis(layout.xaxis, line), yaxis: axis(layout.yaxis, line),
    };
  }

  // Paper is narrower than the window that a chart was drawn for: page.css scales it.
  function scalable(place) {
    place.querySelectorAll(".main-svg").forEach((svg) => {
      svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
    });
  }

  async function show(place, plot) {
    const first = !drawn.has(place);
    drawn.set(place, plot);
    const data = inked(plot.data, colour("ink"));
    await Plotly.react(place, data, styled(plot.layout), { displayModeBar: false, responsive: true });
    if (first) place.on("plotly_afterplot", () => scalable(place));
    scalable(place);
  }

  // What is folded away has no size yet.
  const visible = (place) => place.offsetParent !== null;

  function next() {
    const place = queue.find(visible);
    if (!ready || !place) return;
    queue.splice(queue.indexOf(place), 1);
    const text = place.parentElement.querySelector(":scope > script[type='application/json']");
    show(place, JSON.parse(text.textContent)).then(() => setTimeout(next, 0));
  }

  async function unpacked() {
    const packed = atob(document.getElementById("plotly-packed").textContent);
    const bytes = Uint8Array.from(packed, (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // Resolves when plotly is there.
  const loaded = new Promise((resolve) => {
    const begin = async () => {
      try {
        const script = document.createElement("script");
        script.textContent = await unpacked();
        document.head.append(script);
      } catch (error) {
        const note = "This browser cannot draw the charts; the tables have their numbers.";
        document.querySelectorAll(".plot").forEach((place) => { place.dataset.note = note; });
        return;
      }
      ready = true;
      queue.push(...document.querySelectorAll(".chart .plot:not([data-own])"));
      next();
      resolve();
    };
    // Two frames later the page is on the screen.
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(begin, 0)));
  });

  dark.addEventListener("change", () => drawn.forEach((plot, place) => show(place, plot)));
  document.addEventListener("toggle", () => next(), true);
  return { show, loaded, colour, next, drawnAll: () => ready && !queue.some(visible) };
})();
