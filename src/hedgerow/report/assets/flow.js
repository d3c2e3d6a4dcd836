// From coarse to fine: the slider, and which cluster parts into which. Columns are levels, bands are points.

function startFlow() {
  const levels = data.levels.bars.map((bars, at) => ({ at, bars: unpack(bars), bands: at + 1 < data.levels.bars.length ? unpack(data.levels.bands[at]) : [] }));
  const input = document.getElementById("level");
  const said = document.getElementById("level-told");
  const buttons = [...document.querySelectorAll("[data-level-button]")];
  const host = document.getElementById("flow");
  const sizes = views.map((view) => view.sizes.length);
  const svg = d3.select(host).append("svg").attr("role", "img").attr("aria-label", `Flow of points from coarse to fine: levels of ${sizes.join(", ")} clusters.`);
  const ground = svg.append("rect").attr("class", "here").attr("rx", 6);
  const bands = svg.append("g").attr("class", "bands");
  const columns = svg.append("g").selectAll("g").data(levels).join("g").attr("class", "column").on("click", (event, level) => show(level.at));
  columns.append("rect").attr("class", "catch");
  columns.append("g").attr("class", "stack");
  columns.append("text").attr("class", "title").attr("text-anchor", "middle").text((level) => sizes[level.at].toLocaleString("en"));
  columns.append("text").attr("class", "strength").attr("text-anchor", "middle").text((level) => (data.levels.told[level.at].match(/[0-9]+%/) || [""])[0]);
  const heads = svg.append("g").selectAll("text").data(["clusters", data.levels.told.some((told) => told.includes("%")) ? "strength" : ""]).join("text").text((head) => head);
  const [low, high] = d3.extent(levels.flatMap((level) => d3.extent(level.bars)));
  let lay = null;

  function show(next) {
    if (next === shown) return;
    const kept = selection && selection.kind === "branch" ? selection : null;
    if (selection) choose(null);
    showView(next);
    if (kept) choose(kept);
  }

  input.addEventListener("input", () => show(Number(input.value)));
  for (const button of buttons) button.addEventListener("click", () => show(Number(button.dataset.levelButton)));

  onView(() => {
    input.value = String(shown);
    input.setAttribute("aria-valuetext", data.levels.told[shown]);
    said.textContent = data.levels.told[shown];
    for (const button of buttons) {
      const on = Number(button.dataset.levelButton) === shown;
      button.setAttribute("aria-pressed", on ? "true" : "false");
      button.closest("tr").classList.toggle("chosen", on);
    }
    if (lay) place();
  });

  function place() {
    ground.attr("x", lay.x(shown) - lay.step / 2).attr("y", 2).attr("width", lay.step).attr("height", lay.height - 4);
    columns.classed("shown", (level) => level.at === shown);
  }

  painters.push(() => {
    const width = host.clientWidth;
    const height = width < 600 ? 300 : 380;
    const left = width < 600 ? 54 : 64;
    const step = (width - left) / levels.length;
    const x = (at) => left + (at + 0.5) * step;
    const y = d3.scaleLinear([low, high], [height - 46, 10]);
    const bar = Math.max(8, Math.min(26, 0.3 * step));
    lay = { x, step, height };
    svg.attr("viewBox", `0 0 ${width} ${height}`).attr("height", height);
    const color = (at, cluster) => rankedColor(views[at].colors[cluster]);
    const flows = levels.flatMap((level) => d3.range(level.bands.length / 6).map((i) => ({ at: level.at, band: level.bands.subarray(6 * i, 6 * i + 6) })));
    bands.selectAll("path").data(flows).join("path").attr("fill", (flow) => color(flow.at + 1, flow.band[1])).attr("d", ({ at, band }) => {
      const [from, to] = [x(at) + bar / 2, x(at + 1) - bar / 2];
      const middle = (from + to) / 2;
      const [a, b, c, d] = Array.from(band.subarray(2), (value) => y(value));
      return `M${from},${a}C${middle},${a} ${middle},${c} ${to},${c}V${d}C${middle},${d} ${middle},${b} ${from},${b}Z`;
    });
    columns.select(".catch").attr("x", (level) => x(level.at) - step / 2).attr("width", step).attr("height", height);
    columns.select(".stack").each(function stack(level) {
      d3.select(this).selectAll("rect").data(d3.range(level.bars.length / 2)).join("rect").attr("x", x(level.at) - bar / 2).attr("width", bar)
        .attr("y", (cluster) => y(level.bars[2 * cluster + 1])).attr("height", (cluster) => Math.max(0.75, y(level.bars[2 * cluster]) - y(level.bars[2 * cluster + 1])))
        .attr("fill", (cluster) => color(level.at, cluster))
        .on("click", (event, cluster) => { event.stopPropagation(); show(level.at); chooseCluster(cluster); });
    });
    columns.select(".title").attr("x", (level) => x(level.at)).attr("y", height - 24);
    columns.select(".strength").attr("x", (level) => x(level.at)).attr("y", height - 9);
    heads.attr("x", 2).attr("y", (_, i) => height - 24 + 15 * i);
    place();
  });
}
