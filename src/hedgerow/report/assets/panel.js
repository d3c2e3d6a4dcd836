// The panel and the cluster table: what is inside the selected branch or cluster.

const columns = data.columns && {
  names: data.columns.names,
  values: unpack(data.columns.values),
  told: data.columns.told,
};

const words = data.words && {
  list: data.words.list,
  nodes: data.words.nodes ? unpack(data.words.nodes) : null,
  width: data.words.width,
};

// By running means: sums of squares would lose a spread that is small beside the numbers.
function moments(column, inside) {
  const d = columns.names.length;
  let n = 0;
  let mean = 0;
  let squares = 0;
  for (let i = 0; i < kept; i++) {
    const value = columns.values[i * d + column];
    if (!inside(i) || Number.isNaN(value)) continue;
    n += 1;
    const away = value - mean;
    mean += away / n;
    squares += away * (value - mean);
  }
  return { n, mean: n ? mean : NaN, sd: n > 1 ? Math.sqrt(squares / n) : NaN };
}

// Whether a column says yes or no of each point, as "sex=male" does: its mean is a share.
function isShare(column) {
  const d = columns.names.length;
  for (let i = 0; i < kept; i++) {
    const value = columns.values[i * d + column];
    if (value !== 0 && value !== 1 && !Number.isNaN(value)) return false;
  }
  return true;
}

function columnTable(mask) {
  const body = make("tbody");
  columns.told.forEach((column) => {
    const name = columns.names[column];
    const here = moments(column, (i) => mask[i] === 1);
    const all = moments(column, () => true);
    const told = ({ mean, sd }) => (isShare(column) && !Number.isNaN(mean) ? percent(mean) : spread(mean, sd));
    body.append(make("tr", {}, make("th", { scope: "row" }, ...breakable(name)), make("td", {}, told(here)), make("td", {}, told(all))));
  });
  const head = make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "mean ± sd"), make("th", { scope: "col" }, "here"), make("th", { scope: "col" }, "all points")));
  return make("div", { class: "scroll" }, make("table", {}, head, body));
}

function clusterChips(mask) {
  const inside = new Map();
  for (let i = 0; i < kept; i++) if (mask[i]) inside.set(points.label[i], (inside.get(points.label[i]) || 0) + 1);
  const list = [...inside].sort((a, b) => b[1] - a[1]);
  const chips = make("div", { class: "chips" });
  for (const [label, n] of list.slice(0, 12)) chips.append(make("span", { class: "cluster" }, swatch(clusterColor(label)), `cluster ${label}: ${n.toLocaleString("en")}`));
  if (list.length > 12) chips.append(make("span", {}, `and ${list.length - 12} more`));
  return chips;
}

function topWords(next) {
  if (next.kind === "cluster") return views[shown].words[next.cluster];
  const row = words.nodes.subarray(next.node * words.width, (next.node + 1) * words.width);
  return [...row].filter((word) => word >= 0).map((word) => words.list[word]);
}

function showPanel(next) {
  const panel = document.getElementById("panel");
  if (!next) {
    panel.replaceChildren(make("p", { class: "hint" }, data.tree ? "Select a branch of the tree, a cluster or a point to see what is inside." : "Select a cluster or a point to see what is inside."));
    return;
  }
  const parts = [make("h3", {}, next.kind === "branch" ? (next.size === 1 ? "One leaf" : `Branch of ${count(next.size, "point")}`) : `Cluster ${next.cluster}: ${count(next.size, "point")}`)];
  if (next.kind === "branch" && next.size > 1) {
    const sure = mergeProbability(next.node);
    const verdict = sure >= 0.95 ? "one cluster" : sure > 0.5 ? "rather one cluster" : sure > 0.05 ? "rather several clusters" : "several clusters";
    parts.push(make("p", {}, `Reads as ${verdict}: ${data.tree.join} ${chance(sure)}, log d = ${short(tree.logD[next.node])}.`));
  }
  if (points.doubt && next.size > 1) {
    let sum = 0;
    let n = 0;
    for (let i = 0; i < kept; i++) if (next.mask[i]) { sum += points.doubt[i]; n += 1; }
    if (n) parts.push(make("p", {}, `Mean uncertainty of its points: ${percent(sum / n)}.`));
  }
  if (next.kind === "branch") parts.push(clusterChips(next.mask));
  if (columns) parts.push(columnTable(next.mask));
  if (words) parts.push(make("p", { class: "words" }, make("strong", {}, "Words: "), topWords(next).join(", ")));
  const names = [];
  for (let i = 0; i < kept && names.length < 9; i++) if (next.mask[i]) names.push(points.name(i));
  parts.push(make("p", { class: "hint words" }, names.slice(0, 8).join(", ") + (next.size > 8 ? ` and ${count(next.size - 8, "more").replace(/s$/, "")}` : "")));
  if (kept < total) parts.push(make("p", { class: "hint" }, `Numbers here come from the ${count(kept, "point")} drawn, of ${total.toLocaleString("en")}.`));
  panel.replaceChildren(...parts);
}

function startPanel() {
  if (document.getElementById("panel")) { onSelect(showPanel); showPanel(null); }
  const buttons = [...document.querySelectorAll("button[data-cluster]")];
  for (const button of buttons) {
    const cluster = Number(button.dataset.cluster);
    const view = Number(button.closest("[data-view]").dataset.view);
    button.prepend(swatch(rankedColor(views[view].colors[cluster])));
    button.addEventListener("click", () => {
      if (selection && selection.kind === "cluster" && selection.cluster === cluster) choose(null);
      else chooseCluster(cluster);
    });
  }
  onSelect((next) => {
    for (const button of buttons) {
      const on = next !== null && next.kind === "cluster" && next.cluster === Number(button.dataset.cluster) && viewPart().contains(button);
      button.setAttribute("aria-pressed", on ? "true" : "false");
      button.closest("tr, .card").classList.toggle("chosen", on);
    }
  });
}
