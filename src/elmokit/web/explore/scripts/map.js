// Maps of a word's occurrences, for the mix, for each layer, or for two corpora, in planes next to each other.

import { beside, drawing, folded, foreign, legend, link, make, markClass, markShape, replace, sentence, shortened, swatch, table } from "./dom.js";
import { placesAsData } from "./views.js";

const EDGE = 24; // around the marks, and twice as much below them, for the scale
const GAP = 16;
const TITLE = 24;
const WIDE = 848;
const HIGH = 400;
const NARROWEST = 220; // of a plane
const STEP = 1.5; // of the zoom
const LABEL = 20; // characters
const LABEL_HEIGHT = 14;
const CLICK = 4; // pixels that a click may move

let view = { word: null, zoom: 1, x: 0, y: 0 }; // kept while sliders are moved

export async function map(page) {
  const panes = await { mix: ofMix, umap: ofMix, layers: ofLayers, corpora: ofCorpora }[page.picture](page);
  if (panes && page.isCurrent()) show(page, panes);
}

async function ofMix({ panel, say, language, call, sentences, tokens, index, weights, picture, source, isCurrent }) {
  const word = tokens[index];
  const asked = { word, sentences, source, sources: source ? [0, source] : null, mixes: [weights] };
  const found = picture === "umap" ? await call("prepared", asked) : (await call("planes", asked))[0];
  if (!isCurrent()) return null;
  const { points, shares, all } = found;
  const shownWord = foreign(language, word);
  if (picture === "umap" && !points.length) return replace(panel, make("p", {}, say.parts("noPlane", { word: shownWord })));
  if (points.length < 3) return replace(panel, make("p", {}, say.parts("noOccurrences", { word: shownWord })));
  const name = picture === "umap" ? "umapCaption" : shares ? "mapCaption" : "sameCaption";
  const values = { shown: points.length, all, share: shares && Math.round(100 * (shares[0] + shares[1])) };
  const caption = (say, word) => say(name, { word, ...values });
  const note = name === "sameCaption" && !weights.slice(1).some((weight) => weight > 0) ? ` ${say("layerZero")}` : null;
  return { caption, note, panes: [{ points, shares }] };
}

async function ofLayers({ panel, say, language, call, sentences, tokens, index, source, numLayers, isCurrent }) {
  const word = tokens[index];
  const mixes = Array.from({ length: numLayers }, (_, layer) => Array.from({ length: numLayers }, (_, at) => (at === layer ? 1 : 0)));
  const planes = await call("planes", { word, sentences, sources: source ? [0, source] : null, mixes });
  if (!isCurrent()) return null;
  if (planes[0].points.length < 3) return replace(panel, make("p", {}, say.parts("noOccurrences", { word: foreign(language, word) })));
  const top = planes.at(-1).points;
  const rates = [];
  for (const weights of mixes) rates.push((await call("rate", { weights, word }))?.ofWord ?? null);
  if (!isCurrent()) return null;
  const title = (number) => (rates[number] === null ? say("layer", { number }) : say("layerRate", { number, rate: Math.round(100 * rates[number]) }));
  const panes = planes.map(({ points, shares }, number) => ({ title: title(number), note: shares ? null : say("oneVector"), points: turned(points, top), shares }));
  return { caption: (say, word) => say("layersCaption", { word, shown: top.length, all: planes[0].all }), panes };
}

/** The same points; an axis that is mirrored compared with another plane is turned around. */
function turned(points, like) {
  const sign = (axis) => (points.reduce((sum, point, at) => sum + point[axis] * like[at][axis], 0) < 0 ? -1 : 1);
  const [x, y] = ["x", "y"].map(sign);
  return points.map((point) => ({ ...point, x: x * point.x, y: y * point.y }));
}

async function ofCorpora({ panel, say, language, call, tokens, index, weights, source, other, nameOfSource, isCurrent }) {
  const word = tokens[index];
  const sources = [source, other];
  const asked = { word, sentences: [], sources };
  const change = await call("change", { ...asked, weights });
  if (!isCurrent()) return null;
  if (!change) return replace(panel, make("p", {}, say.parts("noCorpus", { word: foreign(language, word) })));
  const [{ points, shares }] = await call("planes", { ...asked, mixes: [weights] });
  if (!isCurrent()) return null;
  const panes = sources.map((from, at) => ({
    title: `${nameOfSource(from)} (${change.sizes[at]})`,
    points: points.filter((point) => point.from === from),
    ghosts: points.filter((point) => point.from !== from),
    shares,
  }));
  const numbers = ["prt", "apd", "excess"].map((name) => [name.length > 3 ? name : name.toUpperCase(), change[name].toFixed(3)]);
  const found = make("dl", { class: "numbers" }, numbers.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  return { caption: (say, word) => say("corporaCaption", { word }), panes, found: [found, make("p", { class: "soft" }, say("changeHint"))], summary: numbers.map((pair) => pair.join(" ")).join(", ") };
}

/** Fills the panel with planes, a legend, the sentence of the mark under the pointer or in focus, and a table. */
function show(page, { caption, note = null, panes, found = null, summary = "" }) {
  const { panel, say, language, tokens, index, isLabelled, add } = page;
  const word = tokens[index];
  if (view.word !== `${word} ${page.picture}`) view = { word: `${word} ${page.picture}`, zoom: 1, x: 0, y: 0 };
  const columns = panes.length === 1 ? 1 : Math.max(1, Math.min(panes.length, 3, Math.floor((panel.clientWidth + GAP) / (NARROWEST + GAP))));
  const total = Math.min(WIDE, Math.max(panel.clientWidth, NARROWEST));
  const width = (total - (columns - 1) * GAP) / columns;
  const height = Math.max(NARROWEST, Math.min(HIGH, 0.9 * width));
  for (const pane of panes) pane.points.sort((one, other) => one.isOwn - other.isOwn); // the user's own on top
  const everything = panes.flatMap(({ points }) => points);
  const below = make("p", { class: "below", role: "status" });
  const look = (point) => replace(below, swatch(point), ` ${nameOf(point, say)}: `, link(() => add(point), sentence(language, point.tokens, point.index)));
  const planes = panes.map((pane, at) =>
    new Plane(pane, { say, language, word, width, height, x: (at % columns) * (width + GAP), y: Math.floor(at / columns) * (height + TITLE + GAP) }));
  const marks = planes.flatMap((plane) => plane.marks);
  marks.forEach(({ element, point }, at) => {
    element.setAttribute("tabindex", at ? -1 : 0);
    element.addEventListener("pointerenter", () => look(point));
    element.addEventListener("click", () => add(point));
    element.addEventListener("focus", () => {
      for (const mark of marks) mark.element.setAttribute("tabindex", mark.element === element ? 0 : -1); // one tab stop for all marks
      look(point);
    });
    element.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter") add(point);
      if (!by) return;
      event.preventDefault();
      marks.at((at + by) % marks.length).element.focus();
    });
  });
  const place = () => planes.forEach((plane) => plane.place(view, isLabelled));
  const rows = Math.ceil(panes.length / columns);
  const picture = drawing(total, rows * (height + (panes.length > 1 ? TITLE : 0)) + (rows - 1) * GAP,
    { class: "fits map", role: "group", "aria-label": [caption(say, word), summary].filter(Boolean).join(" – ") }, planes.map((plane) => plane.group));
  const zoom = zoomed(picture, place);
  place();
  const names = Map.groupBy(everything, (point) => nameOf(point, say));
  replace(
    panel,
    make("h2", {}, caption(say.parts, foreign(language, word)), note),
    found,
    make("div", { class: "bar" }, legend([...names].map(([name, [point]]) => [swatch(point), name])), zoom),
    make("div", { class: "scroll" }, picture),
    below,
    folded(say("asTable"), () =>
      table(say("map"), [say("sense"), say("sentence"), "x", "y"], everything.map((point) => [nameOf(point, say), sentence(language, point.tokens, point.index), point.x, point.y]),
        placesAsData(everything, ["x", "y"]))),
  );
  look(everything.findLast((point) => point.isOwn && point.index === index && point.tokens.join(" ") === tokens.join(" ")) ?? everything[0]);

  function zoomed(picture, place) {
    const by = (factor) => {
      view.zoom = Math.min(50, Math.max(1, view.zoom * factor));
      if (view.zoom === 1) view.x = view.y = 0;
      picture.classList.toggle("zoomed", view.zoom > 1);
      place();
    };
    picture.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // pinching on a touchpad sends Ctrl too; otherwise the page scrolls
      event.preventDefault();
      by(event.deltaY < 0 ? STEP : 1 / STEP);
    }, { passive: false });
    picture.addEventListener("keydown", (event) => {
      const factor = { "+": STEP, "=": STEP, "-": 1 / STEP, 0: 0 }[event.key];
      if (factor !== undefined && !event.ctrlKey && !event.metaKey) by(factor);
    });
    let last = null;
    let moved = 0;
    picture.addEventListener("pointerdown", (event) => {
      last = event;
      moved = 0;
    });
    picture.addEventListener("pointermove", (event) => {
      if (!last || !event.buttons) return;
      const scale = picture.viewBox.baseVal.width / picture.getBoundingClientRect().width;
      view.x += (event.clientX - last.clientX) * scale;
      view.y += (event.clientY - last.clientY) * scale;
      moved += Math.abs(event.clientX - last.clientX) + Math.abs(event.clientY - last.clientY);
      last = event;
      place();
    });
    picture.addEventListener("pointerup", () => (last = null));
    picture.addEventListener("click", (event) => moved > CLICK && event.stopPropagation(), { capture: true });
    picture.classList.toggle("zoomed", view.zoom > 1);
    const button = (name, text, factor) => make("button", { type: "button", "aria-label": say(name), title: say(name), onclick: () => by(factor) }, text);
    return make("div", { class: "zoom" }, button("zoomOut", "−", 1 / STEP), button("zoomIn", "+", STEP), make("button", { type: "button", onclick: () => by(0) }, say("zoomReset")));
  }
}

/** A plane: its frame, axes and scale, and its marks. Ghosts are points that only help with orientation. */
class Plane {
  constructor({ title, note, points, ghosts = [], shares }, { say, language, word, width, height, x, y }) {
    Object.assign(this, { say, width, height, isMeasured: Boolean(shares) });
    const all = [...points, ...ghosts];
    const ends = ["x", "y"].map((axis) => [Math.min(...all.map((point) => point[axis])), Math.max(...all.map((point) => point[axis]))]);
    this.middle = ends.map(([least, most]) => (least + most) / 2);
    const space = [width - 2 * EDGE, height - 3 * EDGE];
    this.scale = Math.min(...ends.map(([least, most], axis) => space[axis] / Math.max(most - least, 1e-9))); // one for both axes
    this.ghosts = ghosts.map((point) => ({ point, element: make("path", { d: markShape(point.kind), class: "ghost" }) }));
    this.marks = points.map((point) => {
      const name = `${nameOf(point, say)}: ${point.tokens.join(" ")}`;
      return { point, element: make("path", { d: markShape(point.kind), class: markClass(point), lang: language, role: "button", "aria-label": name }) };
    });
    this.labels = make("g", { lang: language, class: "labels", "aria-hidden": "true" });
    this.ruler = make("line", { class: "axis", x1: EDGE / 2, y1: height - 10, y2: height - 10 });
    this.length = make("text", { class: "small", y: height - 16, x: EDGE / 2 });
    const axis = (number, attributes) => shares && make("text", { class: "small soft", ...attributes }, say("component", { number, share: Math.round(100 * shares[number - 1]) }));
    const inside = make("svg", { x: 0, y: title ? TITLE : 0, width, height, role: "group", "aria-label": title ?? say("map") },
      make("rect", { width, height, class: "frame" }),
      note ? make("text", { class: "small soft", x: EDGE / 2, y: height - 12 }, note) : null,
      axis(1, { x: width - 8, y: height - 8, "text-anchor": "end" }),
      axis(2, { transform: `translate(${width - 8} 8) rotate(-90)`, "text-anchor": "end", dy: 0 }),
      this.ghosts.map(({ element }) => element), this.marks.map(({ element }) => element), this.labels,
      shares && [this.ruler, this.length]);
    this.group = make("g", { transform: `translate(${x} ${y})` }, title ? make("text", { class: "title", y: 14 }, title) : null, inside);
  }

  /** Moves everything to its place in a view. */
  place(view, isLabelled) {
    const at = (point) => [
      this.width / 2 + view.x + view.zoom * this.scale * (point.x - this.middle[0]),
      (this.height - EDGE) / 2 + view.y - view.zoom * this.scale * (point.y - this.middle[1]),
    ];
    for (const { point, element } of [...this.ghosts, ...this.marks]) {
      const [x, y] = at(point);
      element.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    }
    if (this.isMeasured) {
      const unit = roundLength(100 / (view.zoom * this.scale));
      this.ruler.setAttribute("x2", EDGE / 2 + unit * view.zoom * this.scale);
      this.length.textContent = this.say("distance", { length: unit });
    }
    this.labels.replaceChildren(...(isLabelled ? labels(this.marks.map(({ point }) => ({ point, at: at(point) })), this.width) : []));
  }
}

/** Labels with the neighbouring words, for as many marks as fit. */
function labels(marks, width) {
  const taken = [];
  return marks.flatMap(({ point: { tokens, index }, at: [x, y] }) => {
    const near = (side) => beside(tokens, index, side).split(" ").at(side < 0 ? -1 : 0);
    const text = shortened(`${near(-1)} · ${near(1)}`, LABEL);
    const long = 6.5 * text.length;
    const left = x + 10 + long > width ? x - 10 - long : x + 10;
    if (taken.some((other) => left < other.right && other.left < left + long && Math.abs(other.y - y) < LABEL_HEIGHT)) return [];
    taken.push({ left, right: left + long, y });
    return [make("text", { class: "small", x: left.toFixed(1), y: (y + 4).toFixed(1) }, text)];
  });
}

/** The largest of ..., 0.1, 0.2, 0.5, 1, 2, 5, 10, ... that is not longer. */
function roundLength(length) {
  const power = 10 ** Math.floor(Math.log10(length));
  return Number(([5, 2, 1].find((digit) => digit * power <= length) * power).toPrecision(1));
}

function nameOf(point, say) {
  if (point.isOwn) return point.sense === null ? say("yours") : say("ownSense", { sense: say.sense(point.sense) });
  return point.sense === null ? (point.source ?? say("unknownSense")) : say.sense(point.sense);
}
