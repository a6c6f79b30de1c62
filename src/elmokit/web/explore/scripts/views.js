// The six views: each takes what the page knows and fills its panel. Drawings are SVG, tables are tables.

import { drawing, foreign, make, replace, sentence, sideBySide, table } from "./dom.js";

const MAX_SHOWN_TOKENS = 48;
const NUM_NEIGHBOURS = 12;
const NUM_EXPECTED = 10;
const NUM_GROUPS = 20;

/** A heat map of all tokens: a drawing with a title in each cell; a click chooses the token of a row. */
export async function similarity({ panel, say, language, call, sentences, mixture, choose, isCurrent }) {
  const flat = sentences.flatMap((tokens, at) => tokens.map((token, index) => ({ token, sentence: at, index })));
  const shown = flat.slice(0, MAX_SHOWN_TOKENS);
  // whole sentences, as the words after the last one that is shown change the vectors of those before
  const cosines = await call("similarities", { sentences: sentences.slice(0, shown.at(-1).sentence + 1), mixture });
  if (!isCurrent()) return;
  const size = 22;
  const label = (place) => shortened(place.token, 14);
  const margin = 24 + 8 * Math.max(...shown.map((place) => label(place).length));
  const side = margin + size * shown.length + 4;
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const cells = shown.flatMap((row, y) =>
    shown.map((column, x) => {
      const value = cosines[y][x];
      return make(
        "rect",
        { x: margin + size * x, y: margin + size * y, width: size - 1, height: size - 1, fill: heat(value, isDark), class: "cell" },
        make("title", {}, `${row.token} – ${column.token}: ${value.toFixed(3)}`),
      );
    }),
  );
  const names = shown.flatMap((place, at) => {
    const named = { class: "name", onclick: () => choose(place.sentence, place.index) };
    return [
      make("text", { x: margin - 6, y: margin + size * at + 15, "text-anchor": "end", ...named }, label(place)),
      make("text", { transform: `translate(${margin + size * at + 15} ${margin - 6}) rotate(-60)`, ...named }, label(place)),
    ];
  });
  replace(
    panel,
    make("p", {}, say("similarityCaption")),
    flat.length > shown.length ? make("p", { class: "soft" }, say("tooMany", { shown: shown.length, all: flat.length })) : null,
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": say("similarity") },
      drawing(side, side, { role: "img", "aria-label": say("similarityCaption") }, make("g", { lang: language }, cells, names))),
    make("details", {}, make("summary", {}, say("asTable")),
      make("div", { class: "scroll" }, table(say("similarityCaption"), ["", ...shown.map(({ token }) => foreign(language, token))], shown.map(({ token }, y) => [foreign(language, token), ...cosines[y].slice(0, shown.length)])))),
  );
}

/** From the colour of the page to a strong one for cosines of 0 to 1; negative ones turn to another hue. */
function heat(value, isDark) {
  const strength = Math.min(1, Math.abs(value));
  const lightness = isDark ? 15 + 60 * strength : 95 - 62 * strength;
  return `hsl(${value < 0 ? 20 : 208} ${35 + 40 * strength}% ${lightness}%)`;
}

export async function contexts({ panel, say, language, call, tokens, index, mixture, among, isCurrent }) {
  const near = await call("neighbours", { tokens, index, mixture, among, number: NUM_NEIGHBOURS });
  if (!isCurrent()) return;
  const words = await call("similarWords", { token: tokens[index], number: NUM_NEIGHBOURS });
  if (!isCurrent()) return;
  const sense = await call("sense", { tokens, index });
  if (!isCurrent()) return;
  const known = near.filter((place) => place.sense !== null);
  const same = known.filter((place) => place.sense === sense);
  const word = foreign(language, tokens[index]);
  replace(
    panel,
    sideBySide([
      near.length === 0
        ? make("p", {}, say.parts("noOccurrences", { word }))
        : table(say.parts("contextsCaption", { word }), [say("cosine"), say("sentence"), say("sense")],
            near.map((place) => [place.cosine, sentence(language, place.tokens, place.index), place.sense])),
      known.length ? make("p", {}, say("sensesOf", { counts: counted(known) })) : null,
      sense !== null && known.length ? make("p", {}, say("sameSense", { share: Math.round((100 * same.length) / known.length), sense })) : null,
    ], nearestWords(words, say, language)),
  );
}

const nearestWords = (words, say, language) =>
  table(say("staticCaption"), [say("cosine"), say("word")], words.map(({ token, cosine }) => [cosine, foreign(language, token)]));

/** How many places have which sense: "river 7, money 5". */
function counted(places) {
  const counts = new Map();
  for (const { sense } of places) counts.set(sense, (counts.get(sense) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one).map(([sense, count]) => `${sense} ${count}`).join(", ");
}

export async function map({ panel, say, language, call, sentences, tokens, index, mixture, plane, isCurrent }) {
  const word = tokens[index];
  const shownWord = foreign(language, word);
  const { points: found, share } =
    plane === "umap" ? { points: await call("prepared", { word }) } : await call("occurrences", { word, sentences, mixture });
  if (!isCurrent()) return;
  if (found === null) return replace(panel, make("p", {}, say.parts("noPlane", { word: shownWord })));
  const caption = (say, word) => (plane === "umap" ? say("umapCaption", { word }) : say("mapCaption", { word, share: Math.round(100 * share) }));
  const points = [...found.filter((point) => !point.isOwn), ...found.filter((point) => point.isOwn)]; // those on top
  if (points.length < 3) return replace(panel, make("p", {}, say.parts("noOccurrences", { word: shownWord })));
  const senses = [...new Set(points.map((point) => nameOf(point, say)))];
  const [width, height, edge] = [640, 420, 16];
  const scale = (values, room) => {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return (value) => edge + ((value - least) / (most - least || 1)) * (room - 2 * edge);
  };
  const x = scale(points.map((point) => point.x), width);
  const y = scale(points.map((point) => -point.y), height);
  const marks = points.map((point) =>
    make("path", { d: shape(senses.indexOf(nameOf(point, say)), x(point.x), y(-point.y)), class: `mark sense${senses.indexOf(nameOf(point, say)) % 6}${point.isOwn ? " mine" : ""}`, lang: language, tabindex: 0, role: "img", "aria-label": `${nameOf(point, say)}: ${point.tokens.join(" ")}` },
      make("title", {}, `${nameOf(point, say)}: ${point.tokens.join(" ")}`)),
  );
  replace(
    panel,
    make("p", {}, caption(say.parts, shownWord)),
    make("ul", { class: "legend" }, senses.map((name, at) =>
      make("li", {}, make("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, make("path", { d: shape(at, 8, 8), class: `mark sense${at % 6}` })), ` ${name}`))),
    make("div", { class: "scroll" }, drawing(width, height, { class: "fits", role: "group", "aria-label": caption(say, word) },
      make("rect", { width, height, rx: 6, class: "frame" }), marks)),
    make("details", {}, make("summary", {}, say("asTable")),
      table(say("map"), [say("sense"), say("sentence"), "x", "y"], points.map((point) => [nameOf(point, say), sentence(language, point.tokens, point.index), point.x, point.y]))),
  );
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
  replace(
    panel,
    surprisalBars(results, index, say, language, (at) => choose(sentenceNumber, at)),
    here.isKnown ? null : make("p", { class: "soft" }, foreign(language, here.token), `: ${say("notKnown")}`),
    table(say.parts("expectationsCaption", { word: foreign(language, tokens[index]) }), columns.flatMap((name) => [say(name), "%"]),
      here.forward.map((_, at) => columns.flatMap((name) => [foreign(language, here[name][at].token), percent(here[name][at].log)]))),
    make("details", {}, make("summary", {}, say("asTable")),
      table(say("surprisal"), [say("word"), `${say("forward")} (${say("bits")})`, `${say("backward")} (${say("bits")})`],
        results.map(({ token, forwardBits, backwardBits }) => [foreign(language, token), forwardBits, backwardBits ?? null]))),
  );
}

function surprisalBars(results, chosen, say, language, choose) {
  const [step, height] = [74, 130];
  const most = Math.max(20, ...results.map(({ forwardBits, backwardBits }) => Math.max(forwardBits, backwardBits ?? 0)));
  const bar = (bits, x, kind) =>
    bits === undefined ? null : make("rect", { x, y: height - (bits / most) * (height - 20), width: 24, height: (bits / most) * (height - 20), class: kind }, make("title", {}, `${bits.toFixed(2)} ${say("bits")}`));
  const groups = results.map(({ token, forwardBits, backwardBits }, at) =>
    make("g", { transform: `translate(${at * step + 8} 0)`, class: at === chosen ? "chosen" : false, onclick: () => choose(at) },
      bar(forwardBits, 4, "own"), bar(backwardBits, 32, "bar"),
      make("text", { x: 30, y: height + 18, "text-anchor": "middle", class: "name", lang: language }, shortened(token, 10))));
  const width = results.length * step + 16;
  const names = ["forward", "backward"].filter((name) => results[0][`${name}Bits`] !== undefined);
  const swatch = (name) => make("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, make("rect", { width: 14, height: 14, class: name === "forward" ? "own" : "bar" }));
  return make("figure", {}, make("figcaption", {}, say("surprisal")),
    make("ul", { class: "legend" }, names.map((name) => make("li", {}, swatch(name), ` ${say(name)}`))),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": say("surprisal") },
      drawing(width, height + 28, { role: "img", "aria-label": say("surprisal") }, groups)));
}

export async function characters({ panel, say, language, call, tokens, index, isCurrent }) {
  const token = tokens[index];
  const groups = await call("characters", { token, number: NUM_GROUPS });
  if (!isCurrent()) return;
  const words = await call("similarWords", { token, number: NUM_NEIGHBOURS });
  if (!isCurrent()) return;
  replace(
    panel,
    sideBySide([
      table(say.parts("charactersCaption", { word: foreign(language, token) }), [say("group"), say("filters"), say("activation")],
        groups.map((group) => [make("code", { lang: language }, group.characters), String(group.numFilters), group.activation])),
      make("p", { class: "soft" }, say("boundary")),
    ], nearestWords(words, say, language)),
  );
}

export function tour({ panel, say, language, words, overall, visit, numLayers }) {
  const percent = (rate) => `${Math.round(100 * rate)}\u00a0%`;
  const link = (word) => make("button", { type: "button", class: "link", lang: language, onclick: () => visit(word) }, word.word);
  const row = (first, senses, { chance, rates }) => [first, senses, ...[chance, ...rates].map(percent)];
  replace(
    panel,
    make("p", { class: "soft" }, say("tourHint")),
    table(say("tourCaption"), [say("word"), say("sense"), say("chance"), ...Array.from({ length: numLayers }, (_, number) => say("layer", { number }))],
      [row(say("allWords", { count: words.length }), "", overall), ...words.map((word) => row(link(word), word.senses.join(", "), word))]),
  );
}
