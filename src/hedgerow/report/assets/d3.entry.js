// What the page uses of d3; assets/README.md says how d3.min.js is made from this.
export { extent, max, range, sum } from "d3-array";
export { axisBottom, axisLeft } from "d3-axis";
export { scaleBand, scaleLinear } from "d3-scale";
export { select } from "d3-selection";
export { line } from "d3-shape";
export { zoom, zoomIdentity } from "d3-zoom";
