// Elements of HTML and SVG from values; text is always text, never markup.

const SVG = "http://www.w3.org/2000/svg";
const PIXELS_PER_REM = 16;
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

/** Parts that stand next to each other where there is room. */
export const sideBySide = (...parts) => make("div", { class: "side" }, parts.map((part) => make("div", {}, part)));

/** Replaces the children of an element; if one of them had the focus of the keyboard, the element takes it, if it can. */
export function replace(element, ...children) {
  const hadFocus = element.contains(document.activeElement);
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
  if (hadFocus) element.focus();
}

/** Text in the language of the model; says which one it is, to whoever reads it aloud. */
export const foreign = (language, text) => make("span", { lang: language }, text);

/** What looks like a link, and acts when it is clicked. */
export const link = (act, ...parts) => make("button", { type: "button", class: "link", onclick: act }, ...parts);

/** A sentence with one of its tokens marked; long ones are cut around it. */
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

/** A table with a caption and column names (strings or elements), and rows of cells: strings, numbers or elements.
    data: its rows as they are saved, the names first. */
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

const shown = (cell) => (typeof cell === "number" ? cell.toFixed(2) : (cell ?? ""));
