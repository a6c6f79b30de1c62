// Saves tables as TSV, and pictures as SVG or PNG.

const MAX_SIDE = 32767; // pixels of a canvas, in the browsers that allow the fewest
const MAX_AREA = 2 ** 24;
const COLOURS = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "text-anchor"];

export function save(name, parts, type) {
  const address = URL.createObjectURL(parts instanceof Blob ? parts : new Blob([parts], { type }));
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export function tableText(table) {
  const line = (row) => [...row.cells].map((cell) => cell.textContent.replace(/[\t\n\r]+/g, " ")).join("\t");
  return [...table.rows].map((row) => `${line(row)}\n`).join("");
}

/** A drawing with the colours that it has on the page, since a file has no style sheet. */
export function drawingText(drawing) {
  const copy = drawing.cloneNode(true);
  const originals = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, at) => {
    const style = getComputedStyle(originals[at]);
    for (const name of COLOURS) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute("class");
    element.removeAttribute("tabindex");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  for (const side of ["width", "height"]) copy.setAttribute(side, drawing.viewBox.baseVal[side]);
  return new XMLSerializer().serializeToString(copy);
}

/** A drawing as a picture of twice its size, or as large as every browser can make it. */
export async function drawingAsPng(drawing) {
  const { width, height } = drawing.viewBox.baseVal;
  const scale = Math.min(2, MAX_SIDE / Math.max(width, height), Math.sqrt(MAX_AREA / (width * height)));
  const picture = new Image();
  picture.src = URL.createObjectURL(new Blob([drawingText(drawing)], { type: "image/svg+xml" }));
  try {
    await picture.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: scale * width, height: scale * height });
    const context = canvas.getContext("2d");
    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const png = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    if (png === null) throw new Error(`this browser cannot make a PNG of ${canvas.width} x ${canvas.height} pixels; save the picture as SVG`);
    return png;
  } finally {
    URL.revokeObjectURL(picture.src);
  }
}
