// Elements of HTML and SVG from values; text is always text, never markup.

const SVG = "http://www.w3.org/2000/svg";
const PIXELS_PER_REM = 16;
const MOST_BESIDE = 24; // tokens on either side of a word in a line
const SVG_TAGS = new Set(["svg", "g", "circle", "rect", "path", "text", "title", "line"]);

/** make("p", { class: "soft", onclick }, "text", child, ...): an element; null children and false attributes are left out. */
export function make(tag, attributes = {}, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A drawing of width * height, which grows with the text of the page. */
export function drawing(width, height, attributes, ...children) {
  const [wide, high] = [width, height].map((length) => `${length / PIXELS_PER_REM}rem`);
  return make("svg", { viewBox: `0 0 ${width} ${height}`, width: wide, height: high, ...attributes }, ...children);
}

/** Parts next to each other, if there is space. */
export const sideBySide = (...parts) => make("div", { class: "side" }, parts.map((part) => make("div", {}, part)));

/** A label with its control. */
export const field = (name, control) => make("label", { class: "field", id: `${control.id}-choice` }, make("span", { "data-say": name }), control);

/** Replaces the children of an element. If one of them had the keyboard focus, the element takes it if it can. */
export function replace(element, ...children) {
  const hadFocus = element.contains(document.activeElement);
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
  if (hadFocus) element.focus();
}

/** Text in the language of the model, marked with that language for screen readers. */
export const foreign = (language, text) => make("span", { lang: language }, text);

/** A button that looks like a link. */
export const link = (act, ...parts) => make("button", { type: "button", class: "link", onclick: act }, ...parts);

/** A sentence with one of its tokens marked; a long sentence is cut around it. */
export function sentence(language, tokens, marked, { around = 14 } = {}) {
  const first = Math.max(0, marked - around);
  const last = Math.min(tokens.length, marked + around + 1);
  return make(
    "span",
    { class: "sentence", lang: language, dir: "auto" },
    first > 0 ? "… " : null,
    tokens.slice(first, last).flatMap((token, at) => [
      at > 0 ? " " : null,
      first + at === marked ? make("mark", {}, token) : token,
    ]),
    last < tokens.length ? " …" : null,
  );
}

/** Text of the tokens before (-1) or after (1) the marked one, as many as fit into a line. */
export const beside = (tokens, marked, side) =>
  (side < 0 ? tokens.slice(Math.max(0, marked - MOST_BESIDE), marked) : tokens.slice(marked + 1, marked + 1 + MOST_BESIDE)).join(" ");

/** Marks that differ in shape as well as in colour, around (0, 0). kind: the number of a sense; null is unknown. */
export function markShape(kind) {
  return [
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "M0 -6.5l6.5 6.5l-6.5 6.5l-6.5 -6.5z",
    "M-5 -5h10v10h-10z",
    "M0 -6.5l6 11h-12z",
    "M0 6.5l6 -11h-12z",
    "M-6 -1.5h4.5v-4.5h3v4.5h4.5v3h-4.5v4.5h-3v-4.5h-4.5z",
  ][kind === null ? 0 : (kind + Math.floor(kind / 6)) % 6];
}

export const markClass = ({ kind, isOwn }) => `mark ${kind === null ? "unknown" : `sense${kind % 6}`}${isOwn ? " mine" : ""}`;

/** The mark of a place for legends and lists. */
export const swatch = (place) =>
  make("svg", { viewBox: "-8 -8 16 16", width: 14, height: 14, "aria-hidden": "true" }, make("path", { d: markShape(place.kind), class: markClass(place) }));

/** entries: [picture, text] */
export const legend = (entries) => make("ul", { class: "legend" }, entries.map(([picture, text]) => make("li", {}, picture, text)));

/** A token cut to at most `most` characters; the last one is then an ellipsis. */
export function shortened(token, most) {
  const characters = [...token];
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : token;
}

/** A table with a caption and column names (strings or elements), and rows of cells: strings, numbers or elements.
    data: the rows to save, column names first. */
export function table(caption, columns, rows, data = [columns, ...rows]) {
  const element = make(
    "table",
    {},
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, columns.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, rows.map((cells) => make("tr", {}, cells.map((cell) => make("td", { class: typeof cell === "number" ? "number" : false }, shown(cell)))))),
  );
  return Object.assign(element, { data });
}

/** A table that is made only when it is unfolded, because a long table would slow the sliders down. */
export function folded(name, makeTable) {
  const element = make("details", {}, make("summary", {}, name));
  element.addEventListener("toggle", () => {
    if (!element.open || element.querySelector("table")) return;
    element.append(makeTable());
    element.dispatchEvent(new Event("unfolded", { bubbles: true }));
  });
  return element;
}

const shown = (cell) => (typeof cell === "number" ? cell.toFixed(2) : (cell ?? ""));
