// The six views: each takes what the page knows and fills its panel. Drawings are SVG, tables are tables.

import { drawing, foreign, link, make, replace, sentence, sideBySide, table } from "./dom.js";

const MAX_SHOWN_TOKENS = 48;
const NUM_NEIGHBOURS = 12;
const NUM_EXPECTED = 10;
const NUM_GROUPS = 20;
const WORDS_PER_ROW = 14; // of the surprisals

/** A heat map of all tokens: a drawing with a title in each cell; a click chooses the token of a row. */
export async function similarity({ panel, say, language, call, sentences, weights, choose, isCurrent }) {
  const flat = sentences.flatMap((tokens, at) => tokens.map((token, index) => ({ token, sentence: at, index })));
  const shown = flat.slice(0, MAX_SHOWN_TOKENS);
  // whole sentences, as the words after the last one that is shown change the vectors of those before
  const cosines = await call("similarities", { sentences: sentences.slice(0, shown.at(-1).sentence + 1), weights });
  if (!isCurrent()) return;
  const size = 22;
  const label = (place) => shortened(place.token, 14);
  const margin = 24 + 8 * Math.max(...shown.map((place) => label(place).length));
  const start = (at) => margin + size * at + 6 * shown[at].sentence; // a gap between sentences
  const side = start(shown.length - 1) + size + 4;
  const cell = (value, x, y, ...title) =>
    make("rect", { x, y, width: size - 1, height: size - 1, class: value < 0 ? "negative" : "positive", "fill-opacity": Math.min(1, Math.abs(value)).toFixed(3) }, ...title);
  const cells = shown.flatMap((row, y) =>
    shown.map((column, x) => cell(cosines[y][x], start(x), start(y), make("title", {}, `${row.token} – ${column.token}: ${cosines[y][x].toFixed(3)}`))));
  const names = shown.flatMap((place, at) => {
    const named = { class: "name", onclick: () => choose(place.sentence, place.index) };
    return [
      make("text", { x: margin - 6, y: start(at) + 15, "text-anchor": "end", ...named }, label(place)),
      make("text", { transform: `translate(${start(at) + 15} ${margin - 6}) rotate(-60)`, ...named }, label(place)),
    ];
  });
  const scale = [-1, -0.5, 0, 0.5, 1].flatMap((value, at) => [cell(value, 4 + 62 * at, side + 8), make("text", { x: 30 + 62 * at, y: side + 23 }, String(value))]);
  const word = ({ token }) => foreign(language, token);
  replace(
    panel,
    make("p", {}, say("similarityCaption")),
    flat.length > shown.length ? make("p", { class: "soft" }, say("tooMany", { shown: shown.length, all: flat.length })) : null,
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": say("similarity") },
      drawing(Math.max(side, 320), side + 36, { role: "img", "aria-label": say("similarityCaption") }, make("g", { lang: language }, cells, names), scale)),
    make("details", {}, make("summary", {}, say("asTable")),
      make("div", { class: "scroll" }, table(say("similarityCaption"), ["", ...shown.map(word)], shown.map((place, y) => [word(place), ...cosines[y].slice(0, shown.length)])))),
  );
}

export async function contexts({ panel, say, language, call, tokens, index, weights, among, source, files, add, isCurrent }) {
  const near = await call("neighbours", { tokens, index, weights, among, source, number: NUM_NEIGHBOURS });
  if (!isCurrent()) return;
  const words = await call("similarWords", { token: tokens[index], number: NUM_NEIGHBOURS });
  if (!isCurrent()) return;
  const sense = await call("sense", { tokens, index });
  if (!isCurrent()) return;
  const known = near.filter((place) => place.sense !== null);
  const same = known.filter((place) => place.sense === sense);
  const word = foreign(language, tokens[index]);
  const columns = (values) => values.filter((_, at) => at < 2 || (at === 2 ? files.length : known.length));
  replace(
    panel,
    sideBySide([
      near.length === 0
        ? make("p", {}, say.parts("noOccurrences", { word }))
        : table(say.parts("contextsCaption", { word }), columns([say("cosine"), say("sentence"), say("file"), say("sense")]),
            near.map((place) => columns([place.cosine, link(() => add(place), sentence(language, place.tokens, place.index)), place.source ?? say("sample"), place.sense])),
            placesAsData(near, ["cosine"])),
      known.length ? make("p", {}, say("sensesOf", { counts: counted(known) })) : null,
      sense !== null && known.length ? make("p", {}, say("sameSense", { share: Math.round((100 * same.length) / known.length), sense })) : null,
    ], nearestWords(words, say, language)),
  );
}

/** Tokens in sentences as rows to be saved, with the numbers that are named. */
const placesAsData = (places, names) => [
  [...names, "token", "sense", "file", "index", "sentence"],
  ...places.map((place) => [...names.map((name) => place[name]), place.tokens[place.index], place.sense, place.source, place.index, place.tokens.join(" ")]),
];

const nearestWords = (words, say, language) =>
  table(say("staticCaption"), [say("cosine"), say("word")], words.map(({ token, cosine }) => [cosine, foreign(language, token)]));

/** How many places have which sense: "river 7, money 5". */
function counted(places) {
  const counts = new Map();
  for (const { sense } of places) counts.set(sense, (counts.get(sense) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one).map(([sense, count]) => `${sense} ${count}`).join(", ");
}

export async function map({ panel, say, language, call, sentences, tokens, index, weights, plane, source, add, isCurrent }) {
  const word = tokens[index];
  const shownWord = foreign(language, word);
  const { points: found, share, all } = await call(plane === "umap" ? "prepared" : "occurrences", { word, sentences, weights, source });
  if (!isCurrent()) return;
  if (plane === "umap" && !found.length) return replace(panel, make("p", {}, say.parts("noPlane", { word: shownWord })));
  const points = [...found.filter((point) => !point.isOwn), ...found.filter((point) => point.isOwn)]; // those on top
  if (points.length < 3) return replace(panel, make("p", {}, say.parts("noOccurrences", { word: shownWord })));
  const name = plane === "umap" ? "umapCaption" : share === null ? "sameCaption" : "mapCaption";
  const caption = (say, word) => say(name, { word, shown: points.length, all, share: Math.round(100 * share) });
  const senses = [...new Set(points.map((point) => nameOf(point, say)))];
  const [width, height, edge] = [640, 420, 16];
  const [x, y] = inTheMiddle([points.map((point) => point.x), points.map((point) => -point.y)], [width, height], edge);
  const below = make("p", { class: "below", role: "status" });
  const choose = (chosen) => {
    marks.forEach((mark, at) => mark.setAttribute("tabindex", at === chosen ? 0 : -1)); // one stop of the keyboard
    const point = points[chosen];
    replace(below, `${nameOf(point, say)}: `, link(() => add(point), sentence(language, point.tokens, point.index)));
  };
  const move = (event, at) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") add(points[at]);
    if (!by) return;
    event.preventDefault();
    marks.at((at + by) % marks.length).focus();
  };
  const marks = points.map((point, at) => {
    const kind = senses.indexOf(nameOf(point, say));
    const name = `${nameOf(point, say)}: ${point.tokens.join(" ")}`;
    return make("path", { d: shape(kind, x[at], y[at]), class: `mark sense${kind % 6}${point.isOwn ? " mine" : ""}`, lang: language, tabindex: at ? -1 : 0, role: "button", "aria-label": name, onfocus: () => choose(at), onclick: () => choose(at), onkeydown: (event) => move(event, at) },
      make("title", {}, name));
  });
  replace(
    panel,
    make("p", {}, caption(say.parts, shownWord), name === "sameCaption" && !weights.slice(1).some((weight) => weight > 0) ? ` ${say("layerZero")}` : null),
    make("ul", { class: "legend" }, senses.map((name, at) =>
      make("li", {}, make("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, make("path", { d: shape(at, 8, 8), class: `mark sense${at % 6}` })), ` ${name}`))),
    make("div", { class: "scroll" }, drawing(width, height, { class: "fits", role: "group", "aria-label": caption(say, word) },
      make("rect", { width, height, rx: 6, class: "frame" }), marks)),
    below,
    make("details", {}, make("summary", {}, say("asTable")),
      table(say("map"), [say("sense"), say("sentence"), "x", "y"], points.map((point) => [nameOf(point, say), sentence(language, point.tokens, point.index), point.x, point.y]),
        placesAsData(points, ["x", "y"]))),
  );
}

/** Values of both axes as places in the middle of a room, on one scale, so that distances can be compared. */
function inTheMiddle(axes, room, edge) {
  const ends = axes.map((values) => [Math.min(...values), Math.max(...values)]);
  const scale = Math.min(...ends.map(([least, most], axis) => (room[axis] - 2 * edge) / Math.max(most - least, 1e-9)));
  return axes.map((values, axis) => values.map((value) => room[axis] / 2 + (value - (ends[axis][0] + ends[axis][1]) / 2) * scale));
}

/** A token of at most so many characters, the last of which stands for those that are left out. */
function shortened(token, most) {
  const characters = [...token];
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : token;
}

const nameOf = (point, say) => point.sense ?? (point.isOwn ? say("yours") : (point.source ?? say("unknownSense")));

/** Marks that differ in shape as well as in colour. */
function shape(kind, x, y) {
  const at = `M${x.toFixed(1)} ${y.toFixed(1)}`;
  return [
    `${at}m-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z`,
    `${at}m0 -6.5l6.5 6.5l-6.5 6.5l-6.5 -6.5z`,
    `${at}m-5 -5h10v10h-10z`,
    `${at}m0 -6.5l6 11h-12z`,
    `${at}m0 6.5l6 -11h-12z`,
    `${at}m-6 -1.5h4.5v-4.5h3v4.5h4.5v3h-4.5v4.5h-3v-4.5h-4.5z`,
  ][kind % 6];
}

export async function expectations({ panel, say, language, call, tokens, index, softmaxBytes, isSoftmaxLoaded, loadSoftmax, choose, sentenceNumber, isCurrent }) {
  if (!softmaxBytes) return replace(panel, make("p", {}, say("noSoftmax")));
  if (!isSoftmaxLoaded) {
    const size = (softmaxBytes / 1e6).toFixed(1);
    return replace(panel, make("button", { type: "button", onclick: loadSoftmax }, say("loadSoftmax", { size })));
  }
  const results = await call("expectations", { tokens, number: NUM_EXPECTED });
  if (!isCurrent()) return;
  const here = results[index];
  const columns = ["forward", "backward", "both"].filter((name) => here[name]);
  const percent = (log) => `${(100 * Math.exp(log)).toFixed(1)}\u00a0%`;
  const word = (token) => (token === "<UNK>" ? say("anyOther") : foreign(language, token));
  const rows = (cells) => here.forward.map((_, at) => columns.flatMap((name) => (here[name][at] ? cells(here[name][at]) : ["", ""])));
  const bits = results.map(({ token, forwardBits, backwardBits }) => [foreign(language, token), forwardBits, backwardBits ?? null]);
  replace(
    panel,
    surprisalBars(results, index, say, language, (at) => choose(sentenceNumber, at)),
    here.isKnown ? null : make("p", { class: "soft" }, foreign(language, here.token), `: ${say("notKnown")}`),
    table(say.parts("expectationsCaption", { word: foreign(language, tokens[index]) }), columns.flatMap((name) => [say(name), "%"]),
      rows(({ token, log }) => [word(token), percent(log)]),
      [columns.flatMap((name) => [say(name), "p"]), ...rows(({ token, log }) => [token, Math.exp(log)])]),
    make("details", {}, make("summary", {}, say("asTable")),
      table(say("surprisal"), [say("word"), `${say("forward")} (${say("bits")})`, `${say("backward")} (${say("bits")})`], bits)),
  );
}

function surprisalBars(results, chosen, say, language, choose) {
  const [step, height] = [68, 130];
  const most = Math.max(20, ...results.map(({ forwardBits, backwardBits }) => Math.max(forwardBits, backwardBits ?? 0)));
  const bar = (bits, x, kind) => {
    const top = height - (bits / most) * (height - 20);
    return bits === undefined ? [] : [
      make("rect", { x, y: top, width: 24, height: height - top, class: kind }, make("title", {}, `${bits.toFixed(2)} ${say("bits")}`)),
      make("text", { x: x + 12, y: top - 3, "text-anchor": "middle", class: "small" }, bits.toFixed(1)),
    ];
  };
  const groups = results.map(({ token, forwardBits, backwardBits }, at) =>
    make("g", { transform: `translate(${(at % WORDS_PER_ROW) * step + 4} ${Math.floor(at / WORDS_PER_ROW) * (height + 36)})`, class: at === chosen ? "chosen" : false, onclick: () => choose(at) },
      bar(forwardBits, 4, "own"), bar(backwardBits, 32, "bar"),
      make("text", { x: 30, y: height + 18, "text-anchor": "middle", class: "name", lang: language }, shortened(token, 9))));
  const width = Math.min(results.length, WORDS_PER_ROW) * step + 8;
  const names = ["forward", "backward"].filter((name) => results[0][`${name}Bits`] !== undefined);
  const swatch = (name) => make("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, make("rect", { width: 14, height: 14, class: name === "forward" ? "own" : "bar" }));
  return make("figure", {}, make("figcaption", {}, say("surprisal")),
    make("ul", { class: "legend" }, names.map((name) => make("li", {}, swatch(name), ` ${say(name)}`))),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": say("surprisal") },
      drawing(width, Math.ceil(results.length / WORDS_PER_ROW) * (height + 36), { role: "img", "aria-label": say("surprisal") }, groups)));
}

export async function characters({ panel, say, language, call, tokens, index, isCurrent }) {
  const token = tokens[index];
  const groups = await call("characters", { token, number: NUM_GROUPS });
  if (!isCurrent()) return;
  const words = await call("similarWords", { token, number: NUM_NEIGHBOURS });
  if (!isCurrent()) return;
  replace(
    panel,
    sideBySide(
      table(say.parts("charactersCaption", { word: foreign(language, token) }), [say("group"), say("filters"), say("activation")],
        groups.map((group) => [make("code", { lang: language }, group.characters), String(group.numFilters), group.activation])),
      nearestWords(words, say, language)),
  );
}

export function tour({ panel, say, language, words, overall, visit, numLayers }) {
  const percent = (rate) => `${Math.round(100 * rate)}\u00a0%`;
  const row = (first, senses, { chance, rates }, shown = percent) => [first, senses, ...[chance, ...rates].map(shown)];
  const columns = [say("word"), say("sense"), say("chance"), ...Array.from({ length: numLayers }, (_, number) => say("layer", { number }))];
  const all = say("allWords", { count: words.length });
  replace(
    panel,
    table(say("tourCaption"), columns,
      [row(all, "", overall), ...words.map((word) => row(link(() => visit(word), foreign(language, word.word)), word.senses.join(", "), word))],
      [columns, row(all, "", overall, Number), ...words.map((word) => row(word.word, word.senses.join(", "), word, Number))]),
  );
}
