// What the language models expect, and how surprising the words of one sentence, or of two compared sentences, are.

import { drawing, foreign, legend, link, make, replace, shortened, table } from "./dom.js";

const NUM_EXPECTED = 10;
const STEP = 68; // pixels of a word
const HEIGHT = 132; // of the bars
const BAR = 24;
const BELOW = 36; // space for the words
const DIRECTIONS = ["forward", "backward"];

export async function expectations(page) {
  const { panel, say, call, sentences, tokens, pair, sentenceNumber, softmaxBytes, isSoftmaxLoaded, loadSoftmax, isCurrent } = page;
  if (!softmaxBytes) return replace(panel, make("p", {}, say("noSoftmax")));
  if (!isSoftmaxLoaded) {
    const size = (softmaxBytes / 1e6).toFixed(1);
    return replace(panel, make("button", { type: "button", class: "main", onclick: loadSoftmax }, say("loadSoftmax", { size })));
  }
  const read = (tokens) => call("expectations", { tokens, number: NUM_EXPECTED });
  const own = await read(tokens);
  if (!isCurrent()) return;
  const other = sentences[pair - 1];
  if (!other || pair - 1 === sentenceNumber) return replace(panel, ofOne(page, own));
  const compared = await read(other);
  if (isCurrent()) replace(panel, ofTwo(page, own.results, compared.results));
}

function ofOne({ say, language, tokens, index, sentenceNumber, choose, add }, { results, isRanked }) {
  const here = results[index];
  const columns = [...DIRECTIONS, "both"].filter((name) => here[name]);
  const percent = (log) => `${(100 * Math.exp(log)).toFixed(1)}\u00a0%`;
  const put = (token) => add({ tokens: tokens.with(index, token), index });
  const word = (token) => (token === "<UNK>" ? say("anyOther") : token.startsWith("<") ? token : link(() => put(token), foreign(language, token)));
  const rows = (cells) => here.forward.map((_, at) => columns.flatMap((name) => (here[name][at] ? cells(here[name][at]) : ["", ""])));
  const bits = results.map(({ token, forwardBits, backwardBits }) => [foreign(language, token), forwardBits, backwardBits ?? null]);
  return [
    bars({ title: say("surprisal"), say, language, columns: results.map((result) => ({ ...result, words: [result.token] })), chosen: index, choose: (at) => choose(sentenceNumber, at) }),
    here.isKnown ? null : make("p", { class: "soft" }, foreign(language, here.token), `: ${say("notKnown")}`),
    table(say.parts("expectationsCaption", { word: foreign(language, tokens[index]) }), columns.flatMap((name) => [say(name), "%"]),
      rows(({ token, log }) => [word(token), percent(log)]),
      [columns.flatMap((name) => [say(name), "p"]), ...rows(({ token, log }) => [token, Math.exp(log)])]),
    here.both ? make("p", { class: isRanked ? "soft" : "note" }, say(isRanked ? "bothHint" : "notRanked")) : null,
    make("details", {}, make("summary", {}, say("asTable")),
      table(say("surprisal"), [say("word"), ...DIRECTIONS.map((name) => `${say(name)} (${say("bits")})`)], bits)),
  ];
}

function ofTwo({ say, language, sentenceNumber, pair, choose }, first, second) {
  const columns = aligned(first.map(({ token }) => token), second.map(({ token }) => token)).map(([one, other]) => {
    const [before, after] = [first[one], second[other]];
    const difference = (name) => (before && after && before[name] !== undefined ? after[name] - before[name] : undefined);
    return {
      words: before?.token === after?.token ? [before.token] : [before?.token ?? "", after?.token ?? ""],
      forwardBits: difference("forwardBits"), backwardBits: difference("backwardBits"), before, after,
      act: () => (after ? choose(pair - 1, other) : choose(sentenceNumber, one)),
    };
  });
  const sum = (name) => [first, second].map((results) => results.reduce((sum, result) => sum + (result[name] ?? 0), 0)).reduce((one, other) => other - one);
  const signed = (value) => (value > 0 ? "+" : "") + value.toFixed(1);
  const word = (result) => (result ? foreign(language, result.token) : "");
  const names = DIRECTIONS.flatMap((name) => [say("first"), say("second")].map((which) => `${say(name)}, ${which}`));
  return [
    bars({ title: say("pairCaption"), say, language, columns, choose: (at) => columns[at].act(), isDifference: true }),
    make("p", {}, say("pairSum", { forward: signed(sum("forwardBits")), backward: signed(sum("backwardBits")) })),
    make("p", { class: "soft" }, say("pairHint")),
    make("details", {}, make("summary", {}, say("asTable")),
      table(say("pairCaption"), [say("first"), say("second"), ...names],
        columns.map(({ before, after }) => [word(before), word(after), ...DIRECTIONS.flatMap((name) => [before?.[`${name}Bits`] ?? null, after?.[`${name}Bits`] ?? null])]))),
  ];
}

/** Aligns two lists with the fewest changes: pairs of indices, undefined where a list has no element. */
export function aligned(one, other) {
  const costs = Array.from({ length: one.length + 1 }, (_, i) => Array.from({ length: other.length + 1 }, (_, j) => i + j));
  const change = (i, j) => costs[i - 1][j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1);
  for (let i = 1; i <= one.length; i++) {
    for (let j = 1; j <= other.length; j++) costs[i][j] = Math.min(change(i, j), costs[i - 1][j] + 1, costs[i][j - 1] + 1);
  }
  const pairs = [];
  for (let [i, j] = [one.length, other.length]; i || j; ) {
    if (i && j && costs[i][j] === change(i, j)) pairs.unshift([--i, --j]);
    else if (i && costs[i][j] === costs[i - 1][j] + 1) pairs.unshift([--i, undefined]);
    else pairs.unshift([undefined, --j]);
  }
  return pairs;
}

/** A pair of bars for each word, or for each pair of words: the bits of both directions, on one scale. */
function bars({ title, say, language, columns, chosen, choose, isDifference = false }) {
  const values = columns.flatMap(({ forwardBits, backwardBits }) => [forwardBits ?? 0, backwardBits ?? 0]);
  const most = Math.max(isDifference ? 2 : 10, ...values);
  const least = Math.min(isDifference ? -2 : 0, ...values);
  const y = (bits) => 14 + ((most - bits) / (most - least)) * (HEIGHT - (isDifference ? 28 : 14));
  const perRow = Math.min(columns.length, Math.max(4, Math.floor((document.getElementById("panel").clientWidth - 40) / STEP)));
  const rows = Math.ceil(columns.length / perRow);
  const left = 36;
  const [width, rowHeight] = [left + perRow * STEP, HEIGHT + BELOW];
  const bar = (bits, x, kind) => bits === undefined ? [] : [
    make("rect", { x, y: Math.min(y(bits), y(0)), width: BAR, height: Math.abs(y(bits) - y(0)), class: kind }, make("title", {}, `${bits.toFixed(2)} ${say("bits")}`)),
    make("text", { x: x + BAR / 2, y: bits < 0 ? y(bits) + 11 : y(bits) - 3, "text-anchor": "middle", class: "small" }, isDifference && Math.abs(bits) < 0.05 ? "" : bits.toFixed(1).replace("-", "−")),
  ];
  const ticks = [most, 0, least].filter((tick, at, all) => all.indexOf(tick) === at).map((tick) => tick === 0 ? 0 : Math.trunc(tick));
  const axis = (row) => ticks.map((tick) => make("g", { transform: `translate(0 ${row * rowHeight})` },
    make("line", { class: tick ? "grid" : "axis", x1: left, x2: width, y1: y(tick), y2: y(tick) }),
    make("text", { class: "small soft", x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, `${tick}`)));
  const groups = columns.map(({ words, forwardBits, backwardBits }, at) =>
    make("g", { transform: `translate(${left + (at % perRow) * STEP} ${Math.floor(at / perRow) * rowHeight})`, class: `word${at === chosen ? " chosen" : ""}`, onclick: () => choose(at) },
      bar(forwardBits, 9, "forward"), bar(backwardBits, 9 + BAR + 2, "backward"),
      words.map((word, line) => make("text", { x: STEP / 2, y: HEIGHT + 14 + 15 * line, "text-anchor": "middle", class: "name", lang: language }, shortened(word, 9)))));
  const swatch = (name) => make("svg", { viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": "true" }, make("rect", { width: 12, height: 12, y: 1, class: name }));
  const names = DIRECTIONS.filter((name) => columns.some((column) => column[`${name}Bits`] !== undefined));
  return make("figure", {}, make("h2", {}, title), legend(names.map((name) => [swatch(name), say(name)])),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title },
      drawing(width, rows * rowHeight, { role: "img", "aria-label": title }, Array.from({ length: rows }, (_, row) => axis(row)).flat(), groups)));
}
