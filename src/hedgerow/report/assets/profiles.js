// Profiles: a strip for each telling column of a cluster against all rows, and any two clusters side by side.

const BINS = 36;

// Heights of a histogram over [low, high], the tallest bar 1; null without entries.
function histogram(values, low, high) {
  const bars = new Array(BINS).fill(0);
  for (const value of values) bars[Math.min(BINS - 1, Math.floor((BINS * (value - low)) / (high - low)))] += 1;
  const most = Math.max(...bars);
  return most > 0 ? bars.map((bar) => bar / most) : null;
}

// The share of a level here, on that in all points.
function drawLevel(host, color) {
  const shares = [Number(host.dataset.all), Number(host.dataset.here)];
  const svg = stripOf(host, `${percent(shares[1])} here, ${percent(shares[0])} of all points`);
  svg.append("rect").attr("class", "ground").attr("y", 3).attr("width", 144).attr("height", 20);
  svg.append("rect").attr("class", "all").attr("y", 3).attr("width", 144 * shares[0]).attr("height", 20);
  svg.append("rect").attr("y", 8).attr("width", Math.max(1, 144 * shares[1])).attr("height", 10).attr("fill", color);
}

const stripOf = (host, label) => d3.select(host).append("svg").attr("viewBox", "0 0 144 26").attr("role", "img").attr("preserveAspectRatio", "none").attr("aria-label", label);

function drawStrip(host) {
  const cluster = Number(host.dataset.cluster);
  const color = clusterColor(cluster);
  if (host.dataset.here) { drawLevel(host, color); return; }
  const column = columns ? columns.names.indexOf(host.dataset.column) : -1;
  if (column < 0) return;
  const d = columns.names.length;
  const all = [];
  const here = [];
  for (let i = 0; i < kept; i++) {
    const value = columns.values[i * d + column];
    if (Number.isNaN(value)) continue;
    all.push(value);
    if (points.label[i] === cluster) here.push(value);
  }
  const [low, high] = d3.extent(all);
  if (!(high > low) || here.length === 0) return;
  // The outermost half per cent on each side may not squeeze the rest.
  const sorted = Float64Array.from(all).sort();
  const [least, most] = d3.extent(here);
  const edge = Math.floor(0.005 * (sorted.length - 1));
  const from = Math.min(sorted[edge], least);
  const to = Math.max(sorted[sorted.length - 1 - edge], most);
  const within = (value) => value >= from && value <= to;
  const svg = stripOf(host, `${short(least)} to ${short(most)} here, ${short(low)} to ${short(high)} in all points`);
  [[all.filter(within), null], [here, color]].forEach(([values, fill]) => {
    const bars = to > from ? histogram(values, from, to) : null;
    if (!bars) return;
    svg.append("g").selectAll("rect").data(bars).join("rect").attr("x", (_, i) => i * 4).attr("width", 4).attr("y", (bar) => 25 - 24 * bar).attr("height", (bar) => 24 * bar)
      .attr("class", fill ? "here" : "all").attr("fill", fill);
  });
  svg.append("line").attr("x1", 0).attr("x2", 144).attr("y1", 25.5).attr("y2", 25.5);
}

function startComparison(part) {
  const { clusters, names, shares } = views[shown].profiles;
  const mean = unpack(views[shown].profiles.mean);
  const sd = unpack(views[shown].profiles.spread);
  const width = names.length;
  const choices = [".compare-a", ".compare-b"].map((name) => part.querySelector(name));
  const told = (row, j) => (shares[j] && !Number.isNaN(mean[row * width + j]) ? percent(mean[row * width + j]) : spread(mean[row * width + j], sd[row * width + j]));
  const show = () => {
    const [a, b] = choices.map((choice) => Number(choice.value));
    const apart = names.map((_, j) => {
      const within = Math.sqrt((sd[a * width + j] ** 2 + sd[b * width + j] ** 2) / 2);
      const gap = Math.abs(mean[a * width + j] - mean[b * width + j]);
      return Number.isFinite(gap) ? (within > 0 ? gap / within : gap > 0 ? Infinity : 0) : NaN;
    });
    const rank = (j) => (Number.isNaN(apart[j]) ? -1 : apart[j]);
    const order = d3.range(width).sort((i, j) => rank(j) - rank(i));
    const body = make("tbody");
    const alike = order.filter((j) => apart[j] === 0 && told(a, j) === told(b, j) && a !== b);
    for (const j of order) if (!alike.includes(j)) body.append(make("tr", {}, make("th", { scope: "row" }, ...breakable(names[j])), make("td", {}, told(a, j)), make("td", {}, told(b, j)), make("td", {}, apart[j] === Infinity ? "entirely" : Number.isNaN(apart[j]) ? "–" : apart[j].toFixed(1))));
    const heads = ["", `cluster ${clusters[a]}`, `cluster ${clusters[b]}`, "apart"].map((text) => make("th", { scope: "col" }, text));
    part.querySelector(".comparison").replaceChildren(
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Two clusters" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body)),
      make("p", { class: "hint" }, "Apart: the difference of the means in standard deviations within the two clusters." + (alike.length ? ` Left out: ${count(alike.length, "column")} in which they are the same.` : "")));
  };
  for (const choice of choices) choice.addEventListener("change", show);
  show();
}

// The pictures of a clustering are drawn when it is first shown.
function startProfiles() {
  const begun = new Set();
  onView(() => {
    if (begun.has(shown)) return;
    begun.add(shown);
    const part = viewPart();
    part.querySelectorAll(".strip").forEach(drawStrip);
    if (views[shown].profiles && part.querySelector(".compare-a")) startComparison(part);
  });
}
