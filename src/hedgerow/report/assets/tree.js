// The dendrogram: branches open as one zooms in; click, tap or Enter selects one, arrow keys walk.

const CLOSE_BELOW = 26; // a branch narrower than this many pixels is drawn closed
const MOST_OPEN = 320;
const MOST_LETTERS = 14; // of a leaf's name
const SLIM = 5; // a closed branch narrower than this many pixels has no room for a colour
const MANY = 60; // clusters from which there are such branches

// Nodes arrive in preorder: the left child of an inner node i is i + 1, `right[i]` is 0 for a terminal.
const tree = data.tree && {
  right: unpack(data.tree.right),
  size: unpack(data.tree.size),
  logD: unpack(data.tree.log_d),
  height: unpack(data.tree.height),
  start: unpack(data.tree.start),
  stop: unpack(data.tree.stop),
  order: unpack(data.tree.order),
  roots: data.tree.roots,
};

const isInner = (node) => tree.right[node] > 0;
const mergeProbability = (node) => 1 / (1 + Math.exp(tree.logD[node]));

// Parents, the part past the cut, and x in units of points. Small clusters get some extra room so that they stay visible.
function layTree() {
  const m = tree.right.length;
  tree.parent = new Int32Array(m).fill(-1);
  tree.above = new Uint8Array(m);
  tree.from = new Float64Array(m);
  tree.to = new Float64Array(m);
  tree.center = new Float64Array(m);
  const tops = [];
  const isTop = new Uint8Array(m);
  for (let i = 0; i < m; i++) {
    const p = tree.parent[i];
    tree.above[i] = isInner(i) && tree.logD[i] > 0 && (p < 0 || tree.above[p]) ? 1 : 0;
    if (!tree.above[i] && (p < 0 || tree.above[p])) { tops.push(i); isTop[i] = 1; }
    if (isInner(i)) tree.parent[i + 1] = tree.parent[tree.right[i]] = i;
  }
  const room = total / (4 * tops.length);
  let x = 0;
  let unit = 1;
  for (let i = 0; i < m; i++) {
    if (isTop[i]) unit = (tree.size[i] + room) / tree.size[i];
    if (!isInner(i)) { tree.from[i] = x; x += unit * tree.size[i]; tree.to[i] = x; }
  }
  for (let i = m - 1; i >= 0; i--) {
    if (isInner(i)) {
      tree.from[i] = tree.from[i + 1];
      tree.to[i] = tree.to[tree.right[i]];
      tree.center[i] = (tree.center[i + 1] + tree.center[tree.right[i]]) / 2;
    } else tree.center[i] = (tree.from[i] + tree.to[i]) / 2;
  }
  tree.width = x;
  tree.tops = tops.length;
}

function branchTitle(node) {
  if (!isInner(node) && tree.size[node] === 1) return `Leaf ${points.name(tree.order[tree.start[node]])}`;
  return `Branch of ${count(tree.size[node], "point")}, ${data.tree.join} ${chance(mergeProbability(node))}`;
}

function chooseBranch(node) {
  const mask = new Uint8Array(kept);
  for (let at = tree.start[node]; at < tree.stop[node]; at++) mask[tree.order[at]] = 1;
  choose({ kind: "branch", node, mask, size: tree.size[node], title: branchTitle(node) });
}

// The label most of a branch's points carry.
const mainClusters = new Map();

function mainCluster(node) {
  if (!mainClusters.has(node)) mainClusters.set(node, countVotes(node));
  return mainClusters.get(node);
}

function countVotes(node) {
  const votes = new Map();
  for (let at = tree.start[node]; at < tree.stop[node]; at++) {
    const label = points.label[tree.order[at]];
    votes.set(label, (votes.get(label) || 0) + 1);
  }
  let best = 0;
  let most = -1;
  for (const [label, votesFor] of votes) if (votesFor > most) { best = label; most = votesFor; }
  return best;
}

function startTree() {
  layTree();
  const host = document.getElementById("tree");
  const svg = d3.select(host).append("svg").attr("role", "group").attr("aria-label",
    `Dendrogram of ${count(total, "point")}: ${count(tree.tops, "cluster")} below the cut. Arrow keys walk along branches, Enter selects.`);
  const margin = { left: 46, right: 6, top: 16, bottom: 30 };
  if (tree.tops > MANY) document.getElementById("tree-slim").hidden = false;
  const nameRoom = data.points.names ? 24 + 6.6 * Math.min(d3.max(data.points.names, (name) => name.length), MOST_LETTERS) : 30;
  svg.append("clipPath").attr("id", "tree-window").append("rect");
  const axis = svg.append("g");
  const scene = svg.append("g").attr("clip-path", "url(#tree-window)");
  const cutLine = scene.append("line").attr("class", "cut");
  const stems = scene.append("g");
  const branches = scene.append("g");
  const feet = scene.append("g").attr("class", "feet");
  const texts = scene.append("g");
  const cutText = svg.append("text").attr("class", "title over").attr("text-anchor", "end");
  let runs = [];
  let view = d3.zoomIdentity;
  let focused = tree.roots[0];
  let width = 0;
  let height = 0;
  let x = null;
  let y = null;

  // A plain wheel scrolls the page; only Ctrl + wheel, a pinch, or a drag once zoomed in belong to the tree.
  const zoom = d3.zoom()
    .filter((event) => {
      if (event.type === "wheel") return event.ctrlKey || event.metaKey;
      if (event.type === "dblclick") return false;
      if (event.type.startsWith("touch")) return event.touches.length > 1 || view.k > 1;
      return !event.button;
    })
    .on("zoom", (event) => { view = event.transform; draw(); });
  svg.call(zoom);

  const place = (units) => view.applyX(x(units));
  const span = (node) => place(tree.to[node]) - place(tree.from[node]);
  // Hundreds of colours side by side say nothing: what is slim is grey until one zooms in or chooses it.
  const isChosen = (node) => selection !== null && Boolean(selection.mask[tree.order[tree.start[node]]]);
  const shade = (node) => (span(node) >= SLIM || tree.tops <= MANY || isChosen(node) ? clusterColor(mainCluster(node)) : token("--p5"));
  const footColor = (run, plain) => (tree.tops <= MANY || place(run.to) - place(run.from) >= SLIM || (selection && run.rows.some((row) => selection.mask[row])) ? clusterColor(run.label) : plain);
  const inSight = (node) => place(tree.to[node]) > margin.left && place(tree.from[node]) < width - margin.right;

  // Open branches, widest first; joins past the cut always.
  function frontier() {
    const open = [];
    const closed = [];
    const waiting = tree.roots.filter(inSight);
    const rank = (node) => (tree.above[node] ? 1e6 + tree.height[node] : span(node));
    while (waiting.length) {
      let best = 0;
      for (let i = 1; i < waiting.length; i++) if (rank(waiting[i]) > rank(waiting[best])) best = i;
      const node = waiting.splice(best, 1)[0];
      if (isInner(node) && (tree.above[node] || span(node) >= CLOSE_BELOW) && open.length < MOST_OPEN) {
        open.push(node);
        for (const child of [node + 1, tree.right[node]]) if (inSight(child)) waiting.push(child);
      } else closed.push(node);
    }
    return { open, closed };
  }

  function outline(node) {
    const foot = y(0);
    if (!isInner(node)) {
      if (tree.size[node] === 1) return `M${place(tree.center[node])},${foot}v-7`;
    } else if (opened.has(node)) {
      const [a, b] = [node + 1, tree.right[node]];
      return `M${place(tree.center[a])},${y(tree.height[a])}V${y(tree.height[node])}H${place(tree.center[b])}V${y(tree.height[b])}`;
    }
    const gap = Math.min(0.8, span(node) / 4);
    return `M${place(tree.from[node]) + gap},${foot}H${place(tree.to[node]) - gap}L${place(tree.center[node])},${y(tree.height[node])}Z`;
  }

  let opened = new Set();

  function draw() {
    const { open, closed } = frontier();
    const room = closed.some((node) => tree.size[node] === 1 && span(node) > 11) ? nameRoom : 30;
    if (room !== margin.bottom || y === null) layHeights(room);
    opened = new Set(open);
    const isClosed = (node) => !opened.has(node) && tree.size[node] > 1;
    const shown = [...open, ...closed.filter((node) => tree.size[node] > 1 || tree.parent[node] < 0 || span(node) > 8)];
    if (!shown.includes(focused)) focused = shown[0];
    const tone = ramp(["--p0", "--p5", "--p1"]);

    const joined = branches.selectAll("g.branch").data(shown, (node) => node);
    joined.exit().remove();
    const fresh = joined.enter().append("g").attr("class", "branch").attr("role", "button").attr("data-node", (node) => node)
      .attr("aria-label", branchTitle).on("click", (event, node) => { focused = meant(event, node); chooseBranch(focused); })
      .on("dblclick", (event, node) => zoomTo(meant(event, node)))
      .on("pointermove", (event, node) => hover(meant(event, node))).on("pointerleave", () => hover(-1)).on("keydown", walk).on("focus", (event, node) => { focused = node; });
    fresh.append("path").attr("class", "hit");
    fresh.append("path").attr("class", "shape");
    fresh.append("title").text(branchTitle);
    const all = fresh.merge(joined);
    all.attr("tabindex", (node) => (node === focused ? 0 : -1));
    all.select(".hit").attr("d", outline);
    all.select(".shape").attr("d", outline).classed("closed", isClosed)
      .attr("stroke", (node) => (isClosed(node) ? shade(node) : rgb(tone(tree.size[node] > 1 ? mergeProbability(node) : 1))))
      .attr("fill", (node) => (isClosed(node) ? shade(node) : "none"));
    mark();

    const top = stems.selectAll("line").data(tree.roots.filter(inSight), (node) => node);
    top.exit().remove();
    top.enter().append("line").attr("class", "stem").merge(top)
      .attr("x1", (node) => place(tree.center[node])).attr("x2", (node) => place(tree.center[node]))
      .attr("y1", (node) => y(tree.height[node])).attr("y2", (node) => y(tree.height[node]) - 8);

    const plain = token("--line");
    const strip = feet.selectAll("rect").data(runs.filter((run) => place(run.to) > 0 && place(run.from) < width), (run) => run.from);
    strip.exit().remove();
    strip.enter().append("rect").attr("height", 7).merge(strip).attr("fill", (run) => footColor(run, plain))
      .attr("x", (run) => place(run.from)).attr("y", y(0) + 4).attr("width", (run) => Math.max(place(run.to) - place(run.from), 0.5));
    label(closed);
    for (const [id, still] of [["tree-out", view.k <= 1], ["tree-whole", view.k <= 1], ["tree-branch", !selection || selection.kind !== "branch"]]) {
      document.getElementById(id).disabled = still;
    }
  }

  // Lines of parent and child may be a pixel apart, so a pointer means the branch whose line is nearest. A click
  // without a pointer (assistive technology) has no detail and means its own element.
  function meant(event, node) {
    if (event.type === "click" && event.detail === 0) return node;
    const box = svg.node().getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let best = node;
    let least = Infinity;
    branches.selectAll("g.branch").each((other) => {
      const far = distance(other, px, py);
      if (far < least || (far === least && tree.size[other] > tree.size[best])) { least = far; best = other; }
    });
    return best;
  }

  function distance(node, px, py) {
    const top = y(tree.height[node]);
    const beside = (low, high, value) => Math.max(low - value, value - high, 0);
    if (!opened.has(node)) {
      const inside = py >= top && py <= y(0) + 2 ? 0.5 : Math.min(Math.abs(py - top), Math.abs(py - y(0)));
      return Math.hypot(beside(place(tree.from[node]), place(tree.to[node]), px), inside);
    }
    const [a, b] = [node + 1, tree.right[node]];
    const [xa, xb] = [place(tree.center[a]), place(tree.center[b])];
    return Math.min(
      Math.hypot(beside(xa, xb, px), py - top),
      Math.hypot(px - xa, beside(top, y(tree.height[a]), py)),
      Math.hypot(px - xb, beside(top, y(tree.height[b]), py)),
    );
  }

  function hover(over) {
    branches.selectAll("g.branch").classed("over", (node) => node === over);
  }

  // Counts under closed branches, names under leaves, where there is room.
  function label(closed) {
    const words = closed
      .map((node) => ({ node, leaf: tree.size[node] === 1, text: tree.size[node] > 1 ? tree.size[node].toLocaleString("en") : data.points.names ? points.name(tree.order[tree.start[node]]) : "" }))
      .filter((word) => word.text && span(word.node) > (word.leaf ? 11 : 7 * word.text.length + 2));
    const joined = texts.selectAll("text").data(words, (word) => word.node);
    joined.exit().remove();
    joined.enter().append("text").text((word) => (word.text.length > MOST_LETTERS ? word.text.slice(0, MOST_LETTERS - 1) + "…" : word.text)).merge(joined)
      .attr("text-anchor", (word) => (word.leaf ? "end" : "middle"))
      .attr("transform", (word) => `translate(${place((tree.from[word.node] + tree.to[word.node]) / 2) + (word.leaf ? 4 : 0)},${y(0) + (word.leaf ? 15 : 23)})${word.leaf ? " rotate(-90)" : ""}`);
  }

  // Fade what lies outside the selection.
  function mark() {
    const before = new Int32Array(tree.order.length + 1); // selected points left of each place
    if (selection) tree.order.forEach((row, at) => (before[at + 1] = before[at] + selection.mask[row]));
    const inside = (node) => !selection || before[tree.stop[node]] - before[tree.start[node]] === tree.stop[node] - tree.start[node];
    branches.selectAll("g.branch").classed("dim", (node) => !inside(node))
      .classed("chosen", (node) => selection !== null && selection.node === node)
      .attr("aria-pressed", (node) => (selection !== null && selection.node === node ? "true" : "false"));
    feet.selectAll("rect").classed("dim", (run) => selection !== null && !run.rows.some((row) => selection.mask[row]));
  }

  function zoomTo(node) {
    const wide = Math.max(x(tree.to[node]) - x(tree.from[node]), 1e-6);
    const k = Math.min(Math.max((0.92 * (width - margin.left - margin.right)) / wide, 1), zoom.scaleExtent()[1]);
    const middle = (x(tree.from[node]) + x(tree.to[node])) / 2;
    const center = (margin.left + width - margin.right) / 2;
    svg.call(zoom.transform, d3.zoomIdentity.translate(center - k * middle, 0).scale(k));
  }

  const steps = {
    ArrowUp: (node) => tree.parent[node],
    ArrowDown: (node) => (isInner(node) ? node + 1 : -1),
    ArrowRight: (node) => aside(node, 1),
    ArrowLeft: (node) => aside(node, -1),
  };

  // The neighbour on that side: the sibling, else the sibling of the nearest ancestor that has one there.
  function aside(node, way) {
    for (let at = node; at >= 0; at = tree.parent[at]) {
      const p = tree.parent[at];
      const family = p < 0 ? tree.roots : [p + 1, tree.right[p]];
      const next = family[family.indexOf(at) + way];
      if (next !== undefined) return next;
    }
    return -1;
  }

  function walk(event, node) {
    if (event.key === "Enter" || event.key === " ") chooseBranch(node);
    else if (event.key === "+" || event.key === "=") svg.call(zoom.scaleBy, 1.6);
    else if (event.key === "-") svg.call(zoom.scaleBy, 1 / 1.6);
    else if (event.key === "0") svg.call(zoom.transform, d3.zoomIdentity);
    else if (event.key === "z") zoomTo(node);
    else if (event.key in steps) {
      const next = steps[event.key](node);
      if (next >= 0) {
        focused = next;
        draw();
        if (focused !== next) { focused = next; zoomTo(tree.parent[next] >= 0 ? tree.parent[next] : next); focused = next; draw(); }
        const target = branches.selectAll("g.branch").filter((other) => other === focused).node();
        if (target) target.focus();
      }
    } else return;
    event.preventDefault();
  }

  function resize() {
    width = host.clientWidth;
    height = width < 600 ? 330 : 420;
    svg.attr("viewBox", `0 0 ${width} ${height}`).attr("height", height);
    svg.select("clipPath rect").attr("x", margin.left - 2).attr("width", width - margin.left - margin.right + 4).attr("height", height);
    x = d3.scaleLinear([0, tree.width], [margin.left, width - margin.right]);
    y = null;
    const most = Math.max(1, (24 * tree.width) / width);
    zoom.extent([[margin.left, 0], [width - margin.right, height]]).translateExtent([[margin.left, 0], [width - margin.right, height]]).scaleExtent([1, most]);
    svg.call(zoom.transform, d3.zoomIdentity);
  }

  // The vertical scale, with room below for names when there are any to see.
  function layHeights(room) {
    margin.bottom = room;
    const tallest = Math.max(d3.max(tree.roots, (root) => tree.height[root]), data.tree.cut);
    y = d3.scaleLinear([0, tallest * 1.04], [height - margin.bottom, margin.top]);
    const ticks = axis.selectAll("g").data(data.tree.ticks).join((enter) => {
      const tick = enter.append("g");
      tick.append("line").attr("class", "guide");
      tick.append("text").attr("text-anchor", "end").attr("x", margin.left - 8).attr("dy", "0.32em");
      return tick;
    }).attr("transform", (tick) => `translate(0,${y(tick[0])})`);
    ticks.select("line").attr("x1", margin.left).attr("x2", width - margin.right);
    ticks.select("text").text((tick) => tick[1]);
    cutLine.attr("x1", 0).attr("x2", width).attr("y1", y(data.tree.cut)).attr("y2", y(data.tree.cut));
    cutText.attr("x", width - margin.right - 2).attr("y", y(data.tree.cut) - 5).text(`cut: ${count(tree.tops, "cluster")}`);
  }

  // Stretches of equal labels along the leaves, for the coloured feet.
  function labelRuns() {
    const found = [];
    for (let i = 0; i < tree.right.length; i++) {
      if (isInner(i)) continue;
      const share = (tree.to[i] - tree.from[i]) / Math.max(tree.stop[i] - tree.start[i], 1);
      for (let at = tree.start[i]; at < tree.stop[i]; at++) {
        const row = tree.order[at];
        const from = tree.from[i] + share * (at - tree.start[i]);
        const last = found[found.length - 1];
        if (last && last.label === points.label[row] && Math.abs(last.to - from) < 1e-6) { last.to = from + share; last.rows.push(row); }
        else found.push({ label: points.label[row], from, to: from + share, rows: [row] });
      }
    }
    return found;
  }

  document.getElementById("tree-in").addEventListener("click", () => svg.call(zoom.scaleBy, 1.6));
  document.getElementById("tree-out").addEventListener("click", () => svg.call(zoom.scaleBy, 1 / 1.6));
  document.getElementById("tree-whole").addEventListener("click", () => svg.call(zoom.transform, d3.zoomIdentity));
  document.getElementById("tree-branch").addEventListener("click", () => selection && selection.kind === "branch" && zoomTo(selection.node));
  painters.push(() => (host.clientWidth !== width ? resize() : draw()));
  onSelect(draw);
  onView(() => {
    runs = labelRuns();
    mainClusters.clear();
    if (y !== null) draw();
  });
}
