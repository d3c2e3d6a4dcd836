// The similarity matrix on a canvas, with cluster colours along its sides and the selection marked.

const SLIM_STRETCH = 4; // pixels of the sides

function startSimilarity() {
  const cells = data.similarity.cells;
  const half = unpack(data.similarity.half);
  const edges = unpack(data.similarity.edges);
  const order = unpack(data.similarity.order); // kept points along the matrix
  const at = unpack(data.similarity.at); // and their cells
  const host = document.getElementById("similarity");
  const canvas = make("canvas", { role: "img", "aria-label": `Probability that two points share a cluster, ${count(total, "point")} in order; dark squares on the diagonal are clusters.` });
  const readout = document.getElementById("similarity-readout");
  const idle = readout.textContent;
  host.append(canvas);
  const main = new Int32Array(cells); // the cluster of most points of a cell

  function vote() {
    main.fill(-1);
    const votes = Array.from({ length: cells }, () => new Map());
    order.forEach((row, i) => votes[at[i]].set(points.label[row], (votes[at[i]].get(points.label[row]) || 0) + 1));
    votes.forEach((tally, cell) => { let most = 0; for (const [label, n] of tally) if (n > most) { most = n; main[cell] = label; } });
  }

  const value = (i, j) => half[(Math.max(i, j) * (Math.max(i, j) + 1)) / 2 + Math.min(i, j)] / 255;
  const strip = 12;
  let side = 0;
  let inside = null; // selected points per cell

  // For every cell, how many pixels of its side have one colour; those too few are grey.
  function stretches(n) {
    const long = new Float64Array(cells);
    for (let from = 0; from < cells; ) {
      let to = from + 1;
      while (to < cells && main[to] === main[from]) to++;
      long.fill((side * (edges[to] - edges[from])) / n, from, to);
      from = to;
    }
    return long;
  }

  function draw() {
    const width = Math.min(host.clientWidth, 544);
    const scale = window.devicePixelRatio || 1;
    side = width - strip - 3;
    canvas.width = canvas.height = Math.round(width * scale);
    const ink = canvas.getContext("2d");
    const tone = ramp(["--s0", "--s1", "--s2", "--s3"]);
    const table = d3.range(256).map((level) => tone(level / 255));
    const image = new ImageData(cells, cells);
    for (let i = 0; i < cells; i++) {
      for (let j = 0; j < cells; j++) {
        const color = table[Math.round(255 * value(i, j))];
        image.data.set([color[0], color[1], color[2], 255], 4 * (i * cells + j));
      }
    }
    const small = make("canvas");
    small.width = small.height = cells;
    small.getContext("2d").putImageData(image, 0, 0);
    ink.scale(scale, scale);
    ink.clearRect(0, 0, width, width);
    ink.imageSmoothingEnabled = cells > side;
    ink.drawImage(small, strip + 3, strip + 3, side, side);
    ink.strokeStyle = token("--line");
    ink.strokeRect(strip + 2.5, strip + 2.5, side + 1, side + 1);
    const n = edges[cells];
    const room = stretches(n);
    for (let cell = 0; cell < cells; cell++) {
      const from = strip + 3 + (side * edges[cell]) / n;
      const long = (side * (edges[cell + 1] - edges[cell])) / n;
      ink.globalAlpha = inside !== null && inside[cell] === 0 ? 0.15 : 1;
      ink.fillStyle = main[cell] >= 0 && (room[cell] >= SLIM_STRETCH || (inside !== null && inside[cell] > 0)) ? clusterColor(main[cell]) : token("--line");
      ink.fillRect(0, from, strip - 2, long + 0.3);
      ink.fillRect(from, 0, long + 0.3, strip - 2);
    }
    ink.globalAlpha = 1;
  }

  function mark(next) {
    inside = null;
    if (next) {
      inside = new Int32Array(cells);
      order.forEach((row, i) => { if (next.mask[row]) inside[at[i]] += 1; });
    }
    draw();
  }

  function read(event) {
    const box = canvas.getBoundingClientRect();
    const n = edges[cells];
    const cellOf = (offset) => {
      const row = ((offset * (side + strip + 3)) / box.width - strip - 3) * (n / side);
      for (let cell = 0; cell < cells; cell++) if (row >= edges[cell] && row < edges[cell + 1]) return cell;
      return -1;
    };
    const [i, j] = [cellOf(event.clientY - box.top), cellOf(event.clientX - box.left)];
    const who = (cell) => (main[cell] < 0 ? "points" : `points of cluster ${main[cell]}`);
    readout.textContent = i < 0 || j < 0 ? idle : `${who(i)} and ${who(j)}: together with probability ${value(i, j).toFixed(2)}`.replace(/^p/, "P");
  }

  canvas.addEventListener("pointermove", read);
  canvas.addEventListener("pointerdown", read);
  canvas.addEventListener("pointerleave", () => (readout.textContent = idle));
  painters.push(draw);
  onSelect(mark);
  onView(() => { vote(); if (side > 0) draw(); });
}
