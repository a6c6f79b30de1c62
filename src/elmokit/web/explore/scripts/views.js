// Views of words in sentences: each takes what the page knows and fills its panel. Drawings are SVG, tables are tables.

import { beside, drawing, foreign, legend, link, make, replace, shortened, sideBySide, swatch, table } from "./dom.js";

const MAX_SHOWN_TOKENS = 48;
const NUM_WORDS = 12;
const NUM_GROUPS = 20;
const WIDE = /[\p{Script=Hangul}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;

/** A concordance: the nearest occurrences, one per line, the word in the middle. */
export async function contexts({ panel, say, language, call, tokens, index, weights, among, number, order, source, files, add, sortBy, isCurrent }) {
  const { near, sense } = await call("neighbours", { tokens, index, weights, among, source, number });
  if (!isCurrent()) return;
  const word = foreign(language, tokens[index]);
  if (!near.length) return replace(panel, make("p", {}, say.parts("noOccurrences", { word })));
  const isSame = (place) => place.tokens[place.index].toLowerCase() === tokens[index].toLowerCase();
  const places = near.map((place) => (isSame(place) ? place : { ...place, kind: null })); // colours are for senses of one word
  const known = places.filter((place) => place.sense !== null);
  const same = known.filter((place) => place.sense === sense);
  replace(
    panel,
    make("h2", {}, say.parts("contextsCaption", { word })),
    known.length ? legend(counted(known, say)) : null,
    sense !== null && known.length ? make("p", { class: "soft" }, say("sameSense", { share: Math.round((100 * same.length) / known.length), sense: say.sense(sense) })) : null,
    concordance(sorted(places, order), { say, language, order, hasFiles: files.length > 0, hasSenses: known.length > 0, add, sortBy }),
  );
}

/** How many places have which sense, the most frequent first. */
function counted(places, say) {
  const senses = [...Map.groupBy(places, (place) => place.sense)].sort(([, one], [, other]) => other.length - one.length);
  return senses.map(([sense, of]) => [swatch(of[0]), `${say.sense(sense)} ${of.length}`]);
}

/** Sorts places by cosine, by sense, or by the text left or right of the word, from the word outwards. */
function sorted(places, order) {
  const key = {
    left: ({ tokens, index }) => tokens.slice(0, index).reverse().join(" "),
    right: ({ tokens, index }) => tokens.slice(index + 1).join(" "),
    sense: ({ sense }) => sense ?? "\uffff",
  }[order];
  return key ? [...places].sort((one, other) => key(one).localeCompare(key(other))) : places;
}

function concordance(places, { say, language, order, hasFiles, hasSenses, add, sortBy }) {
  const head = (name, isWanted = true) =>
    isWanted ? make("th", { scope: "col", class: name, "aria-sort": order === name ? (name === "cosine" ? "descending" : "ascending") : false },
      make("button", { type: "button", class: "sort", onclick: () => sortBy(name) }, say(name))) : null;
  const line = (place) => {
    const { tokens, index } = place;
    const side = (name, by) => make("td", { class: name }, make("div", { class: "clip", lang: language, dir: "auto" }, make("bdi", {}, beside(tokens, index, by))));
    return make("tr", { onclick: () => add(place) },
      make("td", { class: "number" }, place.cosine.toFixed(2)),
      side("left", -1),
      make("td", { class: "key" }, make("button", { type: "button", class: "link", lang: language, "aria-label": tokens.join(" ") }, tokens[index])),
      side("right", 1),
      hasSenses ? make("td", { class: "sense" }, place.sense === null ? "" : [swatch(place), make("span", {}, say.sense(place.sense))]) : null,
      hasFiles ? make("td", { class: "file" }, place.source ?? say("sample")) : null);
  };
  const isRightToLeft = RIGHT_TO_LEFT.test(places[0].tokens[places[0].index]);
  const lines = make("table", { class: "concordance", dir: isRightToLeft ? "rtl" : false },
    make("thead", {}, make("tr", {}, head("cosine"), head("left"), make("th", { scope: "col", class: "key" }, say("word")), head("right"), head("sense", hasSenses),
      hasFiles ? make("th", { scope: "col", class: "file" }, say("file")) : null)),
    make("tbody", {}, places.map(line)));
  const widest = Math.max(...places.map(({ tokens, index }) => [...tokens[index]].reduce((sum, letter) => sum + (WIDE.test(letter) ? 1.1 : 0.65), 0)));
  lines.style.setProperty("--key", `${Math.min(12, Math.max(3, 0.95 * widest + 1.75))}rem`);
  return Object.assign(lines, { data: placesAsData(places, ["cosine"]) });
}

/** Rows to save for tokens in sentences, with the fields in `names`. */
export const placesAsData = (places, names) => [
  [...names, "token", "sense", "file", "index", "sentence"],
  ...places.map((place) => [...names.map((name) => place[name]), place.tokens[place.index], place.sense, place.source, place.index, place.tokens.join(" ")]),
];

/** A heat map of all tokens: a drawing with a title in each cell; a click chooses the token of a row. */
export async function similarity({ panel, say, language, call, sentences, sentenceNumber, index, weights, choose, isCurrent }) {
  const flat = sentences.flatMap((tokens, at) => tokens.map((token, index) => ({ token, sentence: at, index })));
  const shown = flat.slice(0, MAX_SHOWN_TOKENS);
  // Whole sentences, because words after the last shown one change the vectors of earlier words
  const cosines = await call("similarities", { sentences: sentences.slice(0, shown.at(-1).sentence + 1), weights, number: shown.length });
  if (!isCurrent()) return;
  const size = 22;
  const label = (place) => shortened(place.token, 14);
  const margin = 24 + 8 * Math.max(...shown.map((place) => label(place).length));
  const start = (at) => margin + size * at + 6 * shown[at].sentence; // a gap between sentences
  const side = start(shown.length - 1) + size + 4;
  const cell = (value, x, y, attributes, ...title) =>
    make("rect", { x, y, width: size - 1, height: size - 1, class: value < 0 ? "negative" : "positive", "fill-opacity": Math.min(1, Math.abs(value)).toFixed(3), ...attributes }, ...title);
  const chooses = (place) => ({ onclick: () => choose(place.sentence, place.index) });
  const cells = shown.flatMap((row, y) =>
    shown.map((column, x) => cell(cosines[y][x], start(x), start(y), chooses(row), make("title", {}, `${row.token} – ${column.token}: ${cosines[y][x].toFixed(3)}`))));
  const names = shown.flatMap((place, at) => {
    const isChosen = place.sentence === sentenceNumber && place.index === index;
    const named = { class: isChosen ? "name chosen" : "name", ...chooses(place) };
    return [
      make("text", { x: margin - 6, y: start(at) + 15, "text-anchor": "end", ...named }, label(place)),
      make("text", { transform: `translate(${start(at) + 15} ${margin - 6}) rotate(-60)`, ...named }, label(place)),
    ];
  });
  const scale = [-1, -0.5, 0, 0.5, 1].flatMap((value, at) => [cell(value, margin + 56 * at, side + 12), make("text", { x: margin + 26 + 56 * at, y: side + 27 }, String(value))]);
  const word = ({ token }) => foreign(language, token);
  replace(
    panel,
    make("h2", {}, say("similarityCaption")),
    flat.length > shown.length ? make("p", { class: "soft" }, say("tooMany", { shown: shown.length, all: flat.length })) : null,
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": say("similarity") },
      drawing(Math.max(side, margin + 280), side + 36, { class: "heat", role: "img", "aria-label": say("similarityCaption") },
        make("g", { lang: language }, cells, names), make("text", { x: margin - 6, y: side + 27, "text-anchor": "end" }, say("cosine")), scale)),
    make("details", {}, make("summary", {}, say("asTable")),
      make("div", { class: "scroll" }, table(say("similarityCaption"), ["", ...shown.map(word)], shown.map((place, y) => [word(place), ...cosines[y].slice(0, shown.length)])))),
  );
}

/** What the filters found in a word, and the nearest words by their characters; a click on a word adds its sentence. */
export async function characters({ panel, say, language, call, tokens, index, add, isCurrent }) {
  const token = tokens[index];
  const groups = await call("characters", { token, number: NUM_GROUPS });
  if (!isCurrent()) return;
  const words = await call("similarWords", { token, number: NUM_WORDS });
  if (!isCurrent()) return;
  replace(
    panel,
    sideBySide(
      table(say.parts("charactersCaption", { word: foreign(language, token) }), [say("group"), say("filters"), say("activation")],
        groups.map((group) => [make("code", { lang: language }, group.characters), String(group.numFilters), group.activation])),
      table(say("staticCaption"), [say("cosine"), say("word")], words.map((word) => [word.cosine, link(() => add(word), foreign(language, word.token))]))),
  );
}

/** The exercise, and every word of the list with its rates. */
export function tour({ panel, say, language, words, overall, visit, startExercise, numLayers }) {
  const percent = (rate) => `${Math.round(100 * rate)}\u00a0%`;
  const row = (first, senses, { chance, rates }, shown = percent) => [first, senses, ...[chance, ...rates].map(shown)];
  const columns = [say("word"), say("sense"), say("chance"), ...Array.from({ length: numLayers }, (_, number) => say("layer", { number }))];
  const all = say("allWords", { count: words.length });
  replace(
    panel,
    make("p", {}, make("button", { type: "button", class: "main", onclick: startExercise }, say("start"))),
    table(say("tourCaption"), columns,
      [row(all, "", overall), ...words.map((word) => row(link(() => visit(word), foreign(language, word.word)), legend(word.senses.map((sense, kind) => [swatch({ kind }), say.sense(sense)])), word))],
      [columns, row(all, "", overall, Number), ...words.map((word) => row(word.word, word.senses.join(", "), word, Number))]),
  );
}
