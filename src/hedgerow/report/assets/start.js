// Start the parts that this report has, then keep them in step with size and theme.

function startTheme() {
  const button = document.getElementById("theme");
  const modes = ["auto", "light", "dark"];
  let mode = 0;
  button.hidden = false;
  const wear = (name) => {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    paint();
  };
  button.addEventListener("click", () => {
    mode = (mode + 1) % modes.length;
    button.textContent = `Colours: ${modes[mode]}`;
    wear(modes[mode]);
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  window.addEventListener("beforeprint", () => wear("light")); // paper is white, and canvases do not follow style sheets
  window.addEventListener("afterprint", () => wear(modes[mode]));
}

function startResize() {
  let width = window.innerWidth;
  let waiting = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return; // phones resize the height while scrolling
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(paint, 120);
  });
}

startTheme();
if (data.tree) startTree();
if (data.scatter) startScatter();
startPanel();
startProfiles();
if (data.levels) startFlow();
if (data.draws) { startCounts(); startTraces(); }
if (data.similarity) startSimilarity();
startResize();
document.getElementById("clear").addEventListener("click", () => choose(null));
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && selection) choose(null); });
showView(shown);
paint();
document.documentElement.dataset.ready = "true";
