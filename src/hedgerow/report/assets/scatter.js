// The scatter: points in their cluster's colour, paler and larger where uncertain; linked with the selection.

function startScatter() {
  const place = unpack(data.scatter.points);
  const extents = [0, 1].map((side) => d3.extent(place.filter((_, at) => at % 2 === side)));
  const offsets = extents.map(offsetOf);
  const spans = extents.map((extent, side) => extent.map((value) => value - offsets[side]));
  const names = data.scatter.axes.map((name, side) => (offsets[side] === 0 ? name : `${name} − ${offsets[side].toLocaleString("en")}`));
  const host = document.getElementById("scatter");
  const svg = d3.select(host).append("svg").attr("role", "img").attr("aria-label",
    `Scatter of ${count(kept, "point")}: ${data.scatter.axes[0]} across, ${data.scatter.axes[1] || "spread only"} upwards, coloured by cluster.`);
  const frame = svg.append("g");
  const across = frame.append("g");
  const upwards = frame.append("g");
  const cloud = svg.append("g");
  const acrossName = svg.append("text").attr("class", "title").attr("text-anchor", "middle");
  const upwardsName = svg.append("text").attr("class", "title").attr("text-anchor", "middle");
  const flat = data.scatter.axes[1] === "";
  const radius = kept > 1500 ? 2.2 : kept > 400 ? 3 : 4;
  const doubt = (i) => (points.doubt ? points.doubt[i] : 0);
  const indices = d3.range(kept);

  const dots = cloud.selectAll("circle").data(indices).join("circle").attr("class", "point").attr("data-row", (i) => points.row[i])
    .on("click", (event, i) => chooseCluster(points.label[i], `${points.name(i)} is in `.replace(/^point/, "Point")));

  // One line of text for all points: a title element in each makes thousands of them slow to restyle.
  const readout = document.getElementById("scatter-readout");
  const idle = readout.textContent;
  const tell = (i) => `${points.name(i)}: cluster ${points.label[i]}${points.doubt ? `, uncertainty ${percent(doubt(i))}` : ""}.`;
  dots.on("pointerenter", (event, i) => (readout.textContent = tell(i))).on("pointerleave", () => (readout.textContent = idle));

  onView(() => dots.attr("fill", (i) => clusterColor(points.label[i])).attr("fill-opacity", (i) => 0.92 - 0.6 * doubt(i)).attr("r", (i) => radius * (1 + 0.6 * doubt(i))));

  function mark() {
    dots.classed("hit", (i) => selection !== null && selection.mask[i] === 1)
      .classed("dim", (i) => selection !== null && selection.mask[i] === 0);
    if (selection && 2 * d3.sum(selection.mask) < kept) dots.filter((i) => selection.mask[i] === 1).raise(); // a majority shows anyway
  }

  function resize() {
    const width = host.clientWidth;
    const height = Math.max(280, Math.min(Math.round(width * 0.82), 460));
    const margin = { left: 12, right: 10, top: 8, bottom: 40 };
    svg.attr("viewBox", `0 0 ${width} ${height}`).attr("height", height);
    const y = d3.scaleLinear(spans[1], [height - margin.bottom - 8, margin.top + 8]).nice();
    if (!flat) margin.left = 32 + 6.5 * d3.max(y.ticks(6).map(y.tickFormat(6)), (text) => text.length);
    const x = d3.scaleLinear(spans[0], [margin.left + 8, width - margin.right - 8]).nice();
    across.attr("transform", `translate(0,${height - margin.bottom})`).call(d3.axisBottom(x).ticks(width / 90));
    if (!flat) upwards.attr("transform", `translate(${margin.left},0)`).call(d3.axisLeft(y).ticks(6));
    dots.attr("cx", (i) => x(place[2 * i] - offsets[0])).attr("cy", (i) => y(place[2 * i + 1] - offsets[1]));
    acrossName.attr("x", (margin.left + width) / 2).attr("y", height - 6).text(clip(names[0], width / 7));
    upwardsName.attr("transform", `translate(13,${(height - margin.bottom) / 2}) rotate(-90)`).text(clip(names[1], height / 7));
  }

  const clip = (text, room) => (text.length > room ? text.slice(0, Math.max(room - 1, 1)) + "…" : text);
  painters.push(resize);
  onSelect(mark);
}
