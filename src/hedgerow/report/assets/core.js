// What all parts of the page share: the data, colours, the selection, small builders.

const data = JSON.parse(document.getElementById("data").textContent);
const TYPES = { f4: Float32Array, f8: Float64Array, i4: Int32Array, u2: Uint16Array, u1: Uint8Array };

function unpack(packed) {
  const raw = atob(packed.data);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new TYPES[packed.type](bytes.buffer);
}

// Points kept for the page: all of them, or an even sample of a large set.
const points = {
  row: unpack(data.points.row),
  label: null, // of the clustering that is shown
  doubt: null,
  name: (i) => (data.points.names ? data.points.names[i] : `point ${points.row[i]}`),
};
const total = data.points.total;
const kept = points.row.length;

// Same eight colours and golden-angle rule as the package's plots; larger clusters choose first.
const CLUSTER_COLORS = ["#388bc8", "#e19c57", "#674491", "#54cdb1", "#8e4127", "#c16887", "#757f30", "#b6a0ed"];
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));

function rankedColor(rank) {
  if (rank < CLUSTER_COLORS.length) return CLUSTER_COLORS[rank];
  const extra = rank - CLUSTER_COLORS.length;
  const hue = ((4.56 + GOLDEN_ANGLE * extra) * 180) / Math.PI;
  return `oklch(${[82, 66, 42][extra % 3]}% 0.13 ${(hue % 360).toFixed(1)})`;
}

// The clustering that the page shows: the only one, or one of several from coarse to fine. Parts of the page listen.
const views = data.views.map((view) => ({ ...view, label: unpack(view.label), doubt: view.doubt ? Float32Array.from(unpack(view.doubt), (part) => part / 255) : null }));
const viewers = [];
let shown = data.shown;

const clusterColor = (cluster) => rankedColor(views[shown].colors[cluster]);
const viewPart = () => document.querySelector(`[data-view="${shown}"]`);

function onView(listener) {
  viewers.push(listener);
}

function showView(next) {
  viewPart().hidden = true;
  shown = next;
  viewPart().hidden = false;
  points.label = views[shown].label;
  points.doubt = views[shown].doubt;
  for (const viewer of viewers) viewer();
}

function token(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function channels(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

// A colour function over [0, 1] through the named style tokens, so that it follows the theme.
function ramp(names) {
  const stops = names.map((name) => channels(token(name)));
  return (amount) => {
    const at = Math.min(Math.max(amount, 0), 1) * (stops.length - 1);
    const i = Math.min(Math.floor(at), stops.length - 2);
    return stops[i].map((low, c) => Math.round(low + (at - i) * (stops[i + 1][c] - low)));
  };
}

const rgb = (parts) => `rgb(${parts.join(",")})`;

// Elements. Text always goes in as text, never as markup.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A name that a narrow column may break after an underscore, a dot or an equals sign.
function breakable(name) {
  const pieces = name.split(/(?<=[_.=])/);
  return pieces.flatMap((piece, i) => (i < pieces.length - 1 ? [piece, make("wbr")] : [piece]));
}

function swatch(color) {
  const element = make("span", { class: "swatch", "aria-hidden": "true" });
  element.style.background = color;
  return element;
}

const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

function short(value) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size >= 1e6 || size < 1e-3) ? value.toExponential(1) : String(+value.toPrecision(size >= 1000 ? 5 : 3));
  return text.replace("-", "−");
}

// A mean with as many decimals as its spread deserves.
function spread(mean, sd) {
  if (!Number.isFinite(mean)) return "–";
  if (!Number.isFinite(sd) || sd === 0) return String(+mean.toPrecision(12)).replace("-", "−") + (sd === 0 ? " ± 0" : "");
  const size = Math.max(Math.abs(mean), sd);
  const offset = sd * 1e3 < Math.abs(mean) && size < 1e15; // far from zero for its spread: the digits before it say nothing
  if (size < 1e-3 || (size >= 1e6 && !offset)) return `${short(mean)} ± ${short(sd)}`;
  const decimals = Math.min(Math.max(1 - Math.floor(Math.log10(+sd.toPrecision(2))), 0), 6);
  return `${mean.toFixed(decimals).replace(/^-(?=0(\.0*)?$)/, "")} ± ${sd.toFixed(decimals)}`.replace("-", "−");
}

// What to take off values far from zero for their range, so that axes show what differs: a round number, or 0.
function offsetOf([low, high]) {
  const range = high - low;
  if (!(range > 0) || Math.max(Math.abs(low), Math.abs(high)) < 1e4 * range) return 0;
  const step = 10 ** Math.ceil(Math.log10(range));
  return Math.floor(low / step) * step;
}

const percent = (share) => (share > 0 && share < 0.005 ? "<1%" : share >= 0.995 && share < 1 ? ">99%" : `${Math.round(100 * share)}%`);

const chance = (p) => (p < 0.001 ? "<0.001" : p > 0.999 ? ">0.999" : `= ${p.toFixed(3)}`);

// The selection: a set of kept points with a name, from a branch, a cluster or a point. Parts of the page listen.
const listeners = [];
let selection = null;

function onSelect(listener) {
  listeners.push(listener);
}

function choose(next) {
  selection = next;
  document.getElementById("bar").hidden = next === null;
  document.getElementById("bar-text").textContent = next === null ? "" : next.title;
  for (const listener of listeners) listener(next);
}

function chooseCluster(cluster, extra = "") {
  const mask = new Uint8Array(kept);
  for (let i = 0; i < kept; i++) mask[i] = points.label[i] === cluster ? 1 : 0;
  const size = views[shown].sizes[cluster];
  choose({ kind: "cluster", cluster, mask, size, title: `${extra}Cluster ${cluster}: ${count(size, "point")}` });
}

// Redraw everything after a change of size or theme.
const painters = [];

function paint() {
  for (const painter of painters) painter();
}
