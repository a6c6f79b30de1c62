// Saves tables as TSV, and pictures as SVG or PNG.

import { make } from "./dom.js";

const MAX_SIDE = 32767; // pixels of a canvas, in the browser that allows the fewest
const MAX_AREA = 2 ** 24;
const LINE = 20;
const MIN_WIDTH = 640; // for the caption
const COLOURS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "paint-order", "font-family", "font-size", "font-weight", "text-anchor"];

export function save(name, parts, type) {
  const address = URL.createObjectURL(parts instanceof Blob ? parts : new Blob([parts], { type }));
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** The data of a table: whole sentences, and numbers with six digits after the point; quoted as in `as_tsv`. */
export function tableText({ data }) {
  const text = (cell) => (typeof cell === "number" ? String(Number(cell.toFixed(6))) : (cell?.textContent ?? cell ?? ""));
  const quoted = (text) => (/^$|["\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return data.map((row) => `${row.map((cell) => quoted(text(cell))).join("\t")}\n`).join("");
}

/** A drawing for paper: one picture in light colours with its name, the legend (drawings and texts) and the source. */
export function onPaper(drawing, { legend, source }) {
  const { width, height } = drawing.viewBox.baseVal;
  const top = LINE * (legend.length + 2);
  const size = [Math.max(width, MIN_WIDTH), top + height + 2 * LINE];
  const text = (line, x, words) => make("text", { x, y: LINE * (line + 0.75), "font-family": "sans-serif", "font-size": 13 }, words);
  const placed = (picture, x, y, size) => {
    const copy = inItsColours(picture);
    for (const [name, value] of Object.entries({ x, y, ...size })) copy.setAttribute(name, value);
    return copy;
  };
  return make("svg", { viewBox: `0 0 ${size.join(" ")}`, width: size[0], height: size[1] },
    make("rect", { width: size[0], height: size[1], fill: "white" }),
    text(0, 4, drawing.getAttribute("aria-label")),
    legend.flatMap(([mark, words], at) => [placed(mark, 4, LINE * (at + 1)), text(at + 1, 26, words)]),
    placed(drawing, 0, top - LINE / 2, { width, height }),
    text((top + height) / LINE, 4, source));
}

/** A copy with the light colours of the page, because a file has no style sheet. */
function inItsColours(drawing) {
  const copy = drawing.cloneNode(true);
  const originals = [drawing, ...drawing.querySelectorAll("*")];
  drawing.classList.add("light");
  [copy, ...copy.querySelectorAll("*")].forEach((element, at) => {
    const style = getComputedStyle(originals[at]);
    for (const name of COLOURS) element.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex"]) element.removeAttribute(name);
  });
  drawing.classList.remove("light");
  return copy;
}

export const drawingText = (drawing) => new XMLSerializer().serializeToString(drawing);

/** A drawing as a picture of twice its size, or of the largest size that every browser can make. */
export async function drawingAsPng(drawing) {
  const { width, height } = drawing.viewBox.baseVal;
  const scale = Math.min(2, MAX_SIDE / Math.max(width, height), Math.sqrt(MAX_AREA / (width * height)));
  const picture = new Image();
  picture.src = URL.createObjectURL(new Blob([drawingText(drawing)], { type: "image/svg+xml" }));
  try {
    await picture.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: scale * width, height: scale * height });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    const png = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    if (png === null) throw new Error(`this browser cannot make a PNG of ${canvas.width} x ${canvas.height} pixels; save the picture as SVG`);
    return png;
  } finally {
    URL.revokeObjectURL(picture.src);
  }
}
