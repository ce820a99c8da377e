// The page of the explorer: the form and the address hold the view, the server computes it.
"use strict";
const byId = (name) => document.getElementById(name);
const form = byId("controls");
const dark = matchMedia("(prefers-color-scheme: dark)");
const small = matchMedia("(max-width: 600px)");
const KEPT = ["brush", "sort", "page", "point", "pin"]; // of the view, but not of the form
let kept = new URLSearchParams();
let axes = []; // of the parallel coordinates
let asked = 0;
const drawn = new Map(); // place of a chart to its view
// The view is asked for while the browser reads Bokeh's script.
const loaded = new Promise((done) => { addEventListener("DOMContentLoaded", done); }).then(() => Bokeh.set_log_level("warn"));

// The view as the form and the selection have it.
function current() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") query.append(name, value);
  KEPT.forEach((name) => { if (kept.get(name)) query.set(name, kept.get(name)); });
  return query;
}

async function ask(path, query) {
  const look = new URLSearchParams(query);
  if (dark.matches) look.set("dark", "1");
  if (small.matches) look.set("narrow", "1");
  let found;
  try {
    found = await (await fetch(`${path}?${look}`)).json();
  } catch {
    found = { error: "fred explore does not answer; is it still running?" };
  }
  byId("alert").hidden = !found.error;
  byId("alert").textContent = found.error ?? "";
  return found.error ? null : found;
}

// Draws charts where they belong, and fills their sources by name. The server keeps a chart that has
// been drawn, so that its root is the same one until axes, groups or colours change.
async function draw(charts, data = {}) {
  await loaded;
  await Promise.all(Object.entries(charts).map(async ([name, item]) => {
    if (drawn.get(name)?.root !== item.root_id) await embed(name, item);
    fill(drawn.get(name).view.model, data[name] ?? {});
  }));
}

async function embed(name, item) {
  const [place, holder] = [byId(name), document.createElement("div")];
  place.append(holder);
  const views = await Bokeh.embed.embed_item(item, holder);
  const [view] = views;
  const former = drawn.get(name);
  drawn.set(name, { view, views, holder, root: item.root_id });
  if (former) remove(former);
  view.canvas_view.events_el.tabIndex = -1; // a canvas does nothing with keys; the table does
  listen(name, view);
}

function fill(plot, data) {
  Object.entries(data.ranges ?? {}).forEach(([axis, [start, end]]) => Object.assign(plot[`${axis}_range`], { start, end }));
  plot.renderers.forEach(({ data_source: source }) => {
    const found = data[source.name];
    if (!found) return;
    const { selected, ...columns } = found;
    source.data = columns;
    source.selected.indices = selected ?? [];
  });
}

function remove({ view, views, holder }) {
  const place = Bokeh.documents.indexOf(view.model.document);
  if (place >= 0) Bokeh.documents.splice(place, 1);
  views.clear();
  holder.remove();
}

function listen(name, view) {
  const on = view.model.document;
  if (name === "chart-scatter") {
    on.on_event("selectiongeometry", (_, { geometry, final }) => { if (final) selected(view, geometry); });
  } else if (name === "chart-parallel") {
    on.on_event("selectiongeometry", (_, { geometry, final }) => { if (final) along(geometry); });
  } else on.on_event("doubletap", () => view.reset());
}

// A click opens the point under it, a rectangle selects points.
function selected(view, geometry) {
  if (geometry.type === "point") {
    const sources = view.model.renderers.map((one) => one.data_source).filter((one) => one.data.key);
    const source = sources.find((one) => one.selected.indices.length === 1 || (one.selected.indices.length && !kept.get("brush")));
    if (source) open(source.data.key[source.selected.indices[0]]);
    else show(current());
    return;
  }
  if (geometry.type !== "rect") return;
  const { x0, x1, y0, y1 } = geometry;
  const ends = [Math.min(x0, x1), Math.max(x0, x1), Math.min(y0, y1), Math.max(y0, y1)];
  kept.set("brush", ends.join(","));
  kept.delete("page");
  show(current());
}

// A rectangle over an axis is a filter of its column.
function along({ type, x0, x1, y0, y1 }) {
  if (type !== "rect") return;
  const [left, right] = [Math.min(x0, x1), Math.max(x0, x1)];
  const [low, high] = [Math.max(0, Math.min(y0, y1)), Math.min(1, Math.max(y0, y1))];
  const query = current();
  axes.forEach((axis, place) => {
    if (place < left || place > right) return;
    query.delete(`is.${axis.name}`);
    if (!query.getAll("filter").includes(axis.name)) query.append("filter", axis.name);
    if (axis.values.length) {
      const last = Math.max(1, axis.values.length - 1);
      axis.values.filter((_, n) => n / last >= low && n / last <= high).forEach((one) => query.append(`is.${axis.name}`, one));
      return;
    }
    const value = (share) => (axis.log ? axis.low * (axis.high / axis.low) ** share : axis.low + share * (axis.high - axis.low));
    query.set(`min.${axis.name}`, value(low).toPrecision(6));
    query.set(`max.${axis.name}`, value(high).toPrecision(6));
  });
  query.delete("page");
  show(query, { controls: true });
}

// Shows a view: everything but the open points.
async function show(query, { controls = false, push = false } = {}) {
  const number = ++asked;
  const found = await ask("/view", query);
  if (!found || number !== asked) return;
  const address = `${location.pathname}?${found.query}`;
  if (push) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  const now = new URLSearchParams(found.query);
  kept = new URLSearchParams(KEPT.filter((name) => now.get(name)).map((name) => [name, now.get(name)]));
  axes = found.axes;
  if (controls) {
    const open = byId("columns")?.open;
    form.innerHTML = found.controls;
    byId("columns").open = Boolean(open);
  }
  const focus = document.activeElement?.closest("#table") && marker(document.activeElement);
  byId("table").innerHTML = found.table;
  if (focus) byId("table").querySelector(focus)?.focus();
  byId("status").textContent = found.status;
  byId("drawn").textContent = found.drawn;
  byId("charts").hidden = !Object.keys(found.charts).length;
  ["narrow", "unselect"].forEach((name) => { byId(name).hidden = !kept.get("brush"); });
  reachable();
  await draw(found.charts, found.data);
  document.body.dataset.drawn = String(number);
}

// What finds a control again after the table has been replaced.
function marker(one) {
  if (one.id) return `#${one.id}`;
  const name = ["open", "page", "sort"].find((key) => key in one.dataset);
  if (name === "sort") return `[data-sort$="${CSS.escape(one.dataset.sort.replace(/^-/, ""))}"]`;
  return name ? `[data-${name}="${CSS.escape(one.dataset[name])}"]` : null;
}

// Shows the open points.
async function points() {
  const place = byId("points");
  place.hidden = !(kept.get("point") || kept.get("pin"));
  const found = place.hidden ? { html: "", charts: {} } : await ask("/points", current());
  if (!found) return;
  [...drawn].filter(([name]) => place.querySelector(`#${name}`)).forEach(([name, one]) => {
    remove(one);
    drawn.delete(name);
  });
  place.innerHTML = found.html;
  reachable();
  await draw(found.charts);
  document.body.dataset.points = `${kept.get("pin") ?? ""} ${kept.get("point") ?? ""}`;
}

async function open(key) {
  kept.set("point", key);
  await show(current(), { push: true });
  await points();
  byId("points").scrollIntoView({ block: "start" });
}

// What scrolls must be reached by the keyboard.
function reachable() {
  document.querySelectorAll(".wide").forEach((one) => {
    const scrolls = one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1;
    if (scrolls) one.setAttribute("tabindex", "0");
    else one.removeAttribute("tabindex");
    const given = { role: "region", "aria-label": one.dataset.label };
    Object.entries(given).forEach(([key, value]) => (scrolls ? one.setAttribute(key, value) : one.removeAttribute(key)));
  });
}

async function save(type, name) {
  const blob = await drawn.get(name).view.export(type).to_blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${name.replace("chart-", "")}.${type}`;
  link.click();
  URL.revokeObjectURL(link.href);
}

let typed = 0;
document.addEventListener("input", ({ target }) => {
  if (target.form !== form || target.id === "add") return;
  kept.delete("page");
  clearTimeout(typed);
  typed = setTimeout(() => show(current()), target.type === "number" ? 40 : 0);
});
document.addEventListener("change", async ({ target }) => {
  if (target.id !== "add" || !target.value) return;
  const query = current();
  query.append("filter", target.value);
  const name = target.value;
  await show(query, { controls: true });
  document.querySelector(`[data-remove="${CSS.escape(name)}"]`).parentElement.querySelector("input:not([type=hidden])")?.focus();
});
form.addEventListener("submit", (event) => event.preventDefault());

const clicks = {
  async reset() { kept = new URLSearchParams(); await show("", { controls: true, push: true }); await points(); },
  unselect() { kept.delete("brush"); show(current()); },
  narrow() {
    const [x0, x1, y0, y1] = kept.get("brush").split(",");
    kept.delete("brush");
    const query = current();
    [[query.get("x"), x0, x1], [query.get("y"), y0, y1]].forEach(([name, low, high]) => {
      if (!query.getAll("filter").includes(name)) query.append("filter", name);
      query.set(`min.${name}`, low);
      query.set(`max.${name}`, high);
    });
    show(query, { controls: true });
  },
  async pin() {
    kept.set("pin", kept.get("point"));
    kept.delete("point");
    await show(current(), { push: true });
    await points();
  },
  async unpin() {
    if (!kept.get("point")) kept.set("point", kept.get("pin"));
    kept.delete("pin");
    await show(current(), { push: true });
    await points();
  },
  async close() {
    kept.delete("point");
    kept.delete("pin");
    await show(current(), { push: true });
    await points();
    byId("table").focus();
  },
};
document.addEventListener("click", async ({ target }) => {
  const button = target.closest("button");
  if (!button) return;
  const { sort, page, remove: name, export: type, chart } = button.dataset;
  if (button.id in clicks) await clicks[button.id]();
  else if (button.dataset.open) await open(button.dataset.open);
  else if (type) await save(type, chart);
  else if (name) {
    button.closest("fieldset").remove();
    await show(current(), { controls: true });
    byId("add").focus();
  } else if (sort || page) {
    if (sort) { kept.set("sort", sort); kept.delete("page"); }
    if (page) kept.set("page", page);
    await show(current());
  }
});

async function start() {
  const query = new URLSearchParams(location.search);
  await show(query, { controls: true });
  await points();
}
addEventListener("popstate", start);
dark.addEventListener("change", start);
small.addEventListener("change", start);
new ResizeObserver(reachable).observe(document.body);
if (small.matches) byId("panel").open = false;
start();
