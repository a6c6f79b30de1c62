// The page: text and choices in, views out. Everything slow happens in the worker.

import { field, make, replace } from "./dom.js";
import { makeSliders, showRate, showSliders } from "./mixture.js";
import { CHOICES, MAX_CHARACTERS, MAX_TOKENS, TABS, mixture, readState, sentencesOf, writeState } from "./state.js";
import { LANGUAGES, fetchWords, speaker } from "./strings.js";
import { tokenize } from "./tokenizer.js";

const find = (id) => document.getElementById(id);
const settings = JSON.parse(find("settings").textContent);
const CLOSING = /^[.,;:!?…)\]}”’»%]+$/;
const LONGEST_LINK = 2000; // characters; mail and chats do not cut a link of this length
const NARROW = "(max-width: 63.99rem)"; // one column
const MODULES = { contexts: "views", similarity: "views", characters: "views", tour: "views", map: "map", expectations: "surprisal" };
const NUM_SOURCES = 1 + settings.files.length; // the bundled sample, and the files
const HAS_FILES = settings.files.length > 0;
const HAS_SAMPLE = settings.sample !== null;
const CAN_COMPARE = settings.files.length + Number(HAS_SAMPLE) > 1;
const SHOWN_TABS = TABS.filter((name) => name !== "tour" || HAS_SAMPLE);

// --- the worker -----------------------------------------------------------------------------------------------------

const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
const waiting = new Map();
let lastCall = 0;

function call(method, argument) {
  return new Promise((resolve, reject) => {
    waiting.set(++lastCall, { resolve, reject });
    worker.postMessage({ id: lastCall, method, argument });
  });
}

worker.addEventListener("message", ({ data }) => {
  if (data.progress) return showProgress(data.progress);
  const { resolve, reject } = waiting.get(data.id);
  waiting.delete(data.id);
  if (data.error === undefined) resolve(data.result);
  else reject(new Error(data.error));
});
worker.addEventListener("error", (event) => showError(new Error(event.message)));

// --- what is known --------------------------------------------------------------------------------------------------

let about = null;
let state = null;
let sentences = [];
let lines = {}; // how many lines the text has, how many of them are read, and whether there were more
let isSoftmaxLoaded = false;
let say = null;
const arrived = new Map(); // bytes loaded of each file
let turn = 0; // number of the view requested last; older ones are not shown
let lastView = Promise.resolve(); // views are computed one after the other; outdated ones are skipped

const DEFAULTS = {
  text: settings.text, sentence: 0, index: settings.index, tab: "contexts", among: "same", number: 12, order: "cosine", source: 0, other: 0, picture: "mix", labels: 0,
  pair: 0, step: 0, language: settings.language, weights: Array.from({ length: settings.numLayers }, (_, layer) => (layer === settings.numLayers - 1 ? 1 : 0)),
};

/** isStep: whether the browser's back button undoes it. */
function change(part, { isStep = false } = {}) {
  state = { ...state, ...part };
  if (!SHOWN_TABS.includes(state.tab)) state.tab = "contexts";
  showAddress({ isStep });
  return show();
}

function showAddress({ isStep = false } = {}) {
  const address = writeState(state, DEFAULTS);
  if (isStep && address !== location.hash) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

function chosen() {
  const at = Math.min(state.sentence, sentences.length - 1);
  return at < 0 ? null : { sentenceNumber: at, tokens: sentences[at], index: Math.min(state.index, sentences[at].length - 1) };
}

/** The picture of the map, or "mix" if the site does not have the chosen one. */
function picture() {
  const isThere = { corpora: CAN_COMPARE, umap: settings.hasUmap };
  return isThere[state.picture] === false ? "mix" : state.picture;
}

/** The source to search in, and the source to compare it with. Two compared sources are different single corpora. */
function sources() {
  const sound = (number) => (number <= NUM_SOURCES && (number !== 1 || HAS_SAMPLE) ? number : 0);
  if (state.tab !== "map" || picture() !== "corpora") return { source: HAS_FILES ? sound(state.source) : 0, other: 0 };
  const source = sound(state.source) || (settings.files.length > 1 || !HAS_SAMPLE ? 2 : 1);
  const other = [sound(state.other), NUM_SOURCES, 1].find((number) => number && number !== source);
  return { source, other };
}

const nameOfSource = (number) => [say("everything"), say("sample"), ...settings.files][number];
const hasMixture = () => ["similarity", "contexts"].includes(state.tab) || (state.tab === "map" && ["mix", "corpora"].includes(picture()));

// --- the parts of the page ------------------------------------------------------------------------------------------

function showWords() {
  document.documentElement.lang = state.language;
  document.title = say("title", { model: settings.model });
  find("title").textContent = document.title;
  for (const element of document.querySelectorAll("[data-say]")) element.textContent = say(element.dataset.say);
  replace(find("tabs"), SHOWN_TABS.map((name) =>
    make("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-selected": String(name === state.tab), "aria-controls": "panel", tabindex: name === state.tab ? 0 : -1, onclick: () => change({ tab: name }, { isStep: true }) }, say(name))));
  find("panel").setAttribute("aria-labelledby", `tab-${state.tab}`);
  find("explain").textContent = say(`${state.tab}Hint`);
  find("mixture").hidden = !hasMixture();
  showChoices();
}

/** The choices of the views, by name: the tabs that show it, its options as [value, words], and its value. */
function choices() {
  const { source, other } = sources();
  const all = [...Array(NUM_SOURCES + 1).keys()].filter((number) => number !== 1 || HAS_SAMPLE).map((number) => [number, nameOfSource(number)]);
  const isPair = picture() === "corpora";
  const pictures = CHOICES.picture.filter((name) => (name !== "umap" || settings.hasUmap) && (name !== "corpora" || CAN_COMPARE));
  return {
    picture: ["map", pictures.map((name) => [name, say(name)]), picture()],
    among: ["contexts", CHOICES.among.map((name) => [name, say(`among${name[0].toUpperCase()}${name.slice(1)}`)]), state.among],
    number: ["contexts", CHOICES.number.map((number) => [number, number]), state.number],
    source: [HAS_FILES ? "contexts map" : "", state.tab === "map" && isPair ? all.slice(1) : all, source],
    other: [isPair ? "map" : "", all.slice(1).filter(([number]) => number !== source), other],
    labels: ["map", null, state.labels],
    pair: [sentences.length > 1 ? "expectations" : "", [[0, say("noPair")], ...sentences.map((tokens, at) => [at + 1, tokens.join(" "), settings.language])].filter(([at]) => at !== chosen()?.sentenceNumber + 1), state.pair],
  };
}

function makeChoices() {
  const read = (name, element) => (name === "labels" ? Number(element.checked) : Number.isNaN(Number(element.value)) ? element.value : Number(element.value));
  replace(find("choices"), Object.keys(choices()).map((name) => {
    const tag = name === "labels" ? ["input", { type: "checkbox" }] : ["select", {}];
    return field(name, make(tag[0], { ...tag[1], id: name, onchange: (event) => change({ [name]: read(name, event.target) }) }));
  }));
}

function showChoices() {
  for (const [name, [tabs, options, value]] of Object.entries(choices())) {
    find(`${name}-choice`).hidden = !tabs.split(" ").includes(state.tab);
    if (options) replace(find(name), options.map(([of, words, lang]) => make("option", { value: of, lang, selected: of === value }, words)));
    else find(name).checked = Boolean(value);
  }
  find("choices").hidden = [...find("choices").children].every((choice) => choice.hidden);
}

/** The letters of scripts; any letter if there are no scripts, or if the browser does not know a name. */
function lettersOf(scripts) {
  try {
    return new RegExp(scripts.map((name) => `\\p{Script=${name}}`).join("|") || ".", "u");
  } catch {
    return /./u;
  }
}

/** Shows notes about the text: what is not read of it, and what is unlike the text that the model has read. */
function showNotes() {
  const tokens = sentences.flat();
  const letters = tokens.join("").match(/\p{L}/gu) ?? [];
  const read = lettersOf(settings.scripts);
  const isCut = lines.numRead < lines.numLines;
  const utf8 = new TextEncoder();
  const numLong = tokens.filter((token) => utf8.encode(token).length > settings.maxBytes).length;
  const notes = [
    lines.wereMore && say("longText", { limit: MAX_CHARACTERS }),
    isCut && say(lines.numRead ? "tooManyLines" : "longLine", { shown: lines.numRead, all: lines.numLines, limit: MAX_TOKENS }),
    2 * letters.filter((letter) => !read.test(letter)).length > letters.length && say("unreadScript", { model: settings.model }),
    numLong && say("longTokens", { count: numLong, limit: settings.maxBytes }),
    writeState(state, DEFAULTS).length > LONGEST_LINK && say("longLink"),
  ];
  replace(find("notes"), notes.filter(Boolean).map((note) => make("p", {}, note)));
}

function showTokens() {
  const here = chosen();
  const button = (token, number, index) => {
    const isChosen = here !== null && number === here.sentenceNumber && index === here.index;
    return make("button", { type: "button", class: "token", "aria-pressed": String(isChosen), onclick: () => choose(number, index) }, token);
  };
  replace(find("tokens"), sentences.map((tokens, number) =>
    make("p", { dir: "auto" }, tokens.flatMap((token, index) => {
      if (index > 0 && CLOSING.test(token)) return []; // stays with the word before it, so that no line begins with it
      let end = index + 1;
      while (end < tokens.length && CLOSING.test(tokens[end])) end++;
      const marks = tokens.slice(index + 1, end).flatMap((mark, at) => [" ", button(mark, number, index + 1 + at)]);
      return [make("span", { class: marks.length ? "together" : false }, button(token, number, index), marks), " "];
    }))));
}

function slide(layer, weight) {
  const weights = state.weights.with(layer, weight);
  if (!weights.some((value) => value > 0)) return showSliders(find("weights"), state.weights, say); // keeps the last layer with a weight
  state = { ...state, weights };
  show({ isSlide: true }); // the address changes when the slider is released: browsers limit how often it may change
}

function presets() {
  const last = settings.numLayers - 1;
  const only = (layer) => Array.from({ length: settings.numLayers }, (_, at) => (at === layer ? 1 : 0));
  const fixed = [
    ["presetTop", only(last)],
    ["presetFirst", only(Math.min(1, last))],
    ["presetToken", only(0)],
    ["presetEqual", only(0).map(() => 1)],
  ].map(([name, weights]) => ({ name: say(name), weights }));
  return [...fixed, ...settings.presets.map((mix) => ({ ...mix, name: nameOfLearnt(mix) }))];
}

const nameOfLearnt = ({ task, place, data, num_runs }) => say("presetLearnt", { task: say(task), place: say(place), data, runs: num_runs });

function showPresets() {
  const current = JSON.stringify(state.weights);
  replace(find("preset"), make("option", { value: "" }, "…"), presets().map((preset, at) =>
    make("option", { value: at, selected: JSON.stringify(preset.weights) === current }, preset.name)));
}

/** Shows the choices at once, and their view when the previous view is done. isSlide: only the weights differ. */
function show({ isSlide = false } = {}) {
  const isCurrent = ((mine) => () => mine === turn)(++turn);
  say = speaker(state.language);
  keepFocus(() => {
    if (!isSlide) {
      showWords();
      showNotes();
      showTokens();
    }
    showSliders(find("weights"), state.weights, say);
    showPresets();
  });
  const panel = find("panel");
  panel.setAttribute("aria-busy", "true");
  if (panel.dataset.tab !== state.tab) replace(panel, make("p", { class: "soft" }, say("computing"))); // instead of the view of another tab
  panel.dataset.tab = state.tab;
  lastView = lastView.then(() => isCurrent() && showView(isCurrent));
  return lastView;
}

async function showView(isCurrent) {
  const here = chosen();
  const panel = find("panel");
  const weights = mixture(state.weights);
  const page = {
    ...state, ...sources(), ...here, language: settings.language, panel, say, call, sentences, weights, picture: picture(), isCurrent, choose, add, visit, isSoftmaxLoaded, loadSoftmax, nameOfSource,
    isLabelled: Boolean(state.labels), files: settings.files, numLayers: settings.numLayers, softmaxBytes: settings.softmaxBytes,
    sortBy: (order) => change({ order }), startExercise: () => goTo(1),
  };
  try {
    const views = await import(`./${MODULES[state.tab]}.js`);
    await opened;
    if (!isCurrent()) return;
    await showSteps();
    if (state.tab === "tour") views.tour({ ...page, words: about.words, overall: about.overall });
    else if (here === null) replace(panel, make("p", {}, say("choose")));
    else await views[state.tab](page);
    if (isCurrent()) showError(null);
    if (isCurrent() && here !== null && hasMixture()) await showRateOf(here.tokens[here.index], isCurrent);
  } catch (error) {
    if (isCurrent()) showError(error);
  } finally {
    if (isCurrent()) {
      panel.removeAttribute("aria-busy");
      showSaving();
      if (find("python").open) showPython();
    }
  }
}

async function showRateOf(word, isCurrent) {
  const { weights } = state;
  const found = await call("rate", { weights, word });
  if (!isCurrent()) return;
  keepFocus(() =>
    showRate({ rate: find("rate"), sliders: find("weights"), found, weights, word, say, language: settings.language, take: (weights) => change({ weights }, { isStep: true }) }));
}

/** Separate from the view, so that users can look at other views while the softmax is loading. */
async function loadSoftmax() {
  try {
    await call("loadSoftmax");
    isSoftmaxLoaded = true;
    if (state.tab === "expectations") show();
  } catch (error) {
    showError(error);
  }
}

/** Keeps the keyboard focus on an element that is drawn again. */
function keepFocus(draw) {
  const focused = document.activeElement;
  const key = focused && (focused.id || (focused.className === "token" && "token"));
  draw();
  if (!key || document.contains(focused)) return;
  const again = find(key) ?? document.querySelector(".token[aria-pressed=true]");
  again?.focus();
}

function choose(sentence, index) {
  return change({ sentence, index }, { isStep: true });
}

/** Chooses a token of a sentence. A new sentence is added to the text, at the front if the end would not be read. */
function add({ tokens, index }) {
  const text = tokens.join(" ");
  const at = sentences.findIndex((sentence) => sentence.join(" ") === text);
  if (at >= 0) return choose(at, index);
  const read = tokenize(text);
  if (read.length > MAX_TOKENS) return replace(find("notes"), make("p", {}, say("longLine", { limit: MAX_TOKENS })));
  const isFull = lines.numRead < lines.numLines || sentences.flat().length + read.length > MAX_TOKENS;
  // The tokenization of "W." depends on the text after it, so count the tokens from the word on, not those before it
  const part = { sentence: isFull ? 0 : sentences.length, index: read.join(" ") === text ? index : read.length - tokenize(tokens.slice(index).join(" ")).length };
  if (state.tab === "expectations") part.pair = chosen().sentenceNumber + (isFull ? 2 : 1); // compares the sentence before and after replacing a word
  return setText((isFull ? [text, state.text] : [state.text.trimEnd(), text]).join("\n"), part, { isStep: true });
}

function visit(word) {
  return setText(word.examples.join("\n"), { sentence: 0, index: word.index, tab: "map" }, { isStep: true });
}

function setText(text, part = {}, step = {}) {
  const wereMore = text.length > MAX_CHARACTERS;
  text = text.slice(0, MAX_CHARACTERS);
  find("text").value = text;
  ({ sentences, ...lines } = { ...sentencesOf(text), wereMore });
  return change({ text, ...part }, step);
}

// --- the exercise, Python and files, all fetched on demand -----------------------------------------------------------

async function showSteps() {
  const element = find("exercise");
  if ((!state.step && element.hidden) || !HAS_SAMPLE) return;
  const { NUM_STEPS, showExercise } = await import("./exercise.js");
  const { tokens, index } = chosen() ?? { tokens: [""], index: 0 };
  showExercise(element, { step: Math.min(state.step, NUM_STEPS), say, word: make("span", { lang: settings.language }, tokens[index]), language: state.language, overall: about.overall, goTo });
}

async function goTo(step) {
  if (!step) return change({ step }, { isStep: true });
  const { viewOf } = await import("./exercise.js");
  await setText(settings.text, { sentence: 0, index: settings.index, ...viewOf(step, settings.numLayers) }, { isStep: true });
  find("next")?.focus();
}

async function showPython() {
  const here = chosen();
  const { asPython } = await import("./python.js");
  const list = settings.sample;
  const shown = here && asPython({ state: { ...state, ...sources(), picture: picture() }, sentences, ...here, weights: mixture(state.weights), settings: { ...settings, model: settings.given, list } });
  find("python").querySelector("code").textContent = (shown ?? []).join("\n");
}

function showSaving() {
  const panel = find("panel");
  const drawing = panel.querySelector(".scroll > svg");
  const name = `${settings.model}-${state.tab}`;
  const button = (label, act) =>
    make("button", { type: "button", class: "save", onclick: async () => act(await import("./save.js")).catch(showError) }, say(label));
  for (const old of panel.querySelectorAll(".save")) old.remove();
  [...panel.querySelectorAll("table")].forEach((table, at) =>
    table.after(button("exportTsv", async ({ save, tableText }) => save(`${name}${at ? `-${at + 1}` : ""}.tsv`, tableText(table), "text/tab-separated-values"))));
  const legend = [...panel.querySelectorAll(".legend li")].map((entry) => [entry.querySelector("svg"), entry.textContent.trim()]);
  const layers = hasMixture() ? `, ${say("mixture")}: ${mixture(state.weights).map((weight) => weight.toFixed(2)).join(", ")}` : "";
  const onPaper = (saving) => saving.onPaper(drawing, { legend, source: `elmokit, ${settings.model}${layers}` });
  replace(
    find("saving"),
    drawing && button("exportSvg", async (saving) => saving.save(`${name}.svg`, saving.drawingText(onPaper(saving)), "image/svg+xml")),
    drawing && button("exportPng", async (saving) => saving.save(`${name}.png`, await saving.drawingAsPng(onPaper(saving)))),
  );
}

function showProgress({ path, received, total }) {
  arrived.set(path, { received, total });
  const sum = (name) => [...arrived.values()].reduce((sum, file) => sum + file[name], 0);
  const share = sum("total") ? sum("received") / sum("total") : 0;
  if (say) find("status").textContent = say("loading", { share: Math.round(100 * share) });
  find("progress").hidden = false;
  find("progress").value = share;
  if (about && share === 1) showReady();
}

function showReady() {
  if (about === null) return;
  find("status").textContent = say("ready", { layers: settings.numLayers, dim: about.dim, sentences: about.numSentences });
  find("progress").hidden = true;
}

function showError(error) {
  find("error").textContent = error === null ? "" : say("failed", { error: error.message });
}

// --- what the user does ---------------------------------------------------------------------------------------------

let typing = null;
find("text").maxLength = MAX_CHARACTERS + 1; // so that the browser does not lay out more, and the page knows that there was more
find("text").addEventListener("input", (event) => {
  clearTimeout(typing);
  typing = setTimeout(() => setText(event.target.value), 200);
});
find("preset").addEventListener("change", (event) => {
  const preset = presets()[event.target.value];
  if (preset) change({ weights: preset.weights });
});
find("language").addEventListener("click", async () => {
  const language = LANGUAGES[(LANGUAGES.indexOf(state.language) + 1) % LANGUAGES.length];
  await fetchWords(language);
  change({ language });
  showReady();
});
find("tabs").addEventListener("keydown", (event) => {
  const at = SHOWN_TABS.indexOf(state.tab);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  change({ tab: SHOWN_TABS.at(to % SHOWN_TABS.length) }, { isStep: true });
  find(`tab-${state.tab}`).focus();
});
find("panel").addEventListener("unfolded", showSaving);
find("python").addEventListener("toggle", () => {
  find("python").querySelector("code").textContent = ""; // it was the code of another view
  if (find("python").open) showPython();
});
addEventListener("hashchange", async () => {
  const next = readState(location.hash, DEFAULTS);
  await fetchWords(next.language);
  state = next;
  setText(state.text);
  showReady();
});

state = readState(location.hash, DEFAULTS);
const opened = call("about").then((found) => {
  about = found;
  if (say) showReady();
});
opened.catch(() => { // the view shows the error
  find("progress").hidden = true;
  find("status").textContent = "";
});
await fetchWords(state.language);
say = speaker(state.language);
makeSliders(find("weights"), state.weights, { onslide: slide, onchange: () => showAddress() });
makeChoices();
find("mixture").open = !matchMedia(NARROW).matches;
document.querySelector("main").removeAttribute("aria-busy");
const shown = setText(state.text); // words can be chosen at once; the view appears when the worker has the model
showReady();
await shown;
if (about) document.body.dataset.ready = "true";
