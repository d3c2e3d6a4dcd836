// Charts of the draws: the posterior of the number of clusters, and a trace per quantity.

function startCounts() {
  const { k, probability, by_chain: byChain } = data.draws.counts;
  const host = document.getElementById("counts");
  const spoken = k.map((value, i) => [value, probability[i]]).filter((pair) => pair[1] >= 0.01).map(([value, p]) => `${value}: ${percent(p)}`).join(", ");
  const svg = d3.select(host).append("svg").attr("role", "img").attr("aria-label", `Posterior of the number of clusters. ${spoken}`);
  const bars = svg.append("g").attr("class", "bars");
  const dots = svg.append("g");
  const across = svg.append("g");
  const upwards = svg.append("g");
  const name = svg.append("text").attr("class", "title").attr("text-anchor", "middle").text("number of clusters");

  painters.push(() => {
    const width = host.clientWidth;
    const height = 250;
    const margin = { left: 42, right: 8, top: 10, bottom: 40 };
    svg.attr("viewBox", `0 0 ${width} ${height}`).attr("height", height);
    const x = d3.scaleBand(k, [margin.left, width - margin.right]).paddingInner(0.2).paddingOuter(k.length < 4 ? 1.5 : 0.3);
    const y = d3.scaleLinear([0, Math.max(d3.max(probability), d3.max(byChain.flat()))], [height - margin.bottom, margin.top]).nice();
    const every = Math.max(1, Math.ceil((k.length * 26) / width));
    across.attr("transform", `translate(0,${height - margin.bottom})`).call(d3.axisBottom(x).tickValues(k.filter((_, i) => i % every === 0)).tickSizeOuter(0));
    upwards.attr("transform", `translate(${margin.left},0)`).call(d3.axisLeft(y).ticks(5).tickFormat((p) => percent(p)));
    bars.selectAll("rect").data(k).join("rect").attr("x", (value) => x(value)).attr("width", x.bandwidth())
      .attr("y", (_, i) => y(probability[i])).attr("height", (_, i) => y(0) - y(probability[i]));
    const offset = (chain) => (byChain.length === 1 ? 0.5 : 0.2 + (0.6 * chain) / (byChain.length - 1));
    const marks = byChain.length === 1 ? [] : byChain.flatMap((shares, chain) => shares.map((share, i) => ({ chain, i, share })).filter((mark) => mark.share > 0));
    dots.selectAll("circle").data(marks).join("circle").attr("class", "dot").attr("r", 4).attr("fill", (mark) => rankedColor(mark.chain))
      .attr("cx", (mark) => x(k[mark.i]) + offset(mark.chain) * x.bandwidth()).attr("cy", (mark) => y(mark.share));
    name.attr("x", (margin.left + width) / 2).attr("y", height - 5);
  });
}

function startTraces() {
  document.querySelectorAll(".plot[data-trace]").forEach((host) => {
    const trace = data.draws.traces[Number(host.dataset.trace)];
    const chains = trace.chains.map((chain) => ({ at: unpack(chain.at), value: unpack(chain.value) }));
    const svg = d3.select(host).append("svg").attr("role", "img").attr("aria-label", `Trace of ${trace.name} along the draws of ${count(chains.length, "chain")}`);
    const lines = svg.append("g");
    const across = svg.append("g");
    const upwards = svg.append("g");

    painters.push(() => {
      const width = host.clientWidth;
      const height = 170;
      const margin = { left: 54, right: 8, top: 8, bottom: 24 };
      svg.attr("viewBox", `0 0 ${width} ${height}`).attr("height", height);
      const values = chains.flatMap((chain) => [...chain.value].filter(Number.isFinite));
      const [low, high] = d3.extent(values);
      const y = d3.scaleLinear(low === high ? [low - 1, high + 1] : [low, high], [height - margin.bottom, margin.top]).nice();
      margin.left = Math.max(54, 14 + 6.5 * d3.max(y.ticks(5).map(y.tickFormat(5)), (text) => text.length));
      const x = d3.scaleLinear([0, Math.max(trace.draws - 1, 1)], [margin.left, width - margin.right]);
      const path = (chain) => d3.line().x((i) => x(chain.at[i])).y((i) => y(chain.value[i])).defined((i) => Number.isFinite(chain.value[i]))(d3.range(chain.at.length));
      lines.selectAll("path").data(chains).join("path").attr("class", "trace").attr("stroke", (_, chain) => rankedColor(chain))
        .attr("d", path);
      across.attr("transform", `translate(0,${height - margin.bottom})`).call(d3.axisBottom(x).ticks(width / 110));
      const axis = d3.axisLeft(y).ticks(5);
      if (low >= 0 && values.every(Number.isInteger)) axis.tickValues(y.ticks(5).filter(Number.isInteger)).tickFormat((k) => k.toLocaleString("en"));
      upwards.attr("transform", `translate(${margin.left},0)`).call(axis);
    });
  });
  document.querySelectorAll("[data-chain]").forEach((item) => item.prepend(swatch(rankedColor(Number(item.dataset.chain)))));
}
