// The page: text and choices in, views out. Everything slow happens in the worker.

import { make, replace } from "./dom.js";
import { drawingAsPng, drawingText, onPaper, save, tableText } from "./save.js";
import { AMONG, MAX_TOKENS, PLANES, TABS, mixture, readState, sentencesOf, writeState } from "./state.js";
import { LANGUAGES, speaker } from "./strings.js";
import { tokenize } from "./tokenizer.js";
import * as views from "./views.js";

const find = (id) => document.getElementById(id);
const settings = JSON.parse(find("settings").textContent);
const LONGEST_LINK = 2000; // characters that mail and chats do not cut
const WITH_MIXTURE = ["similarity", "contexts", "map"];
const WITH_SOURCE = ["contexts", "map"];

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
let lines = {}; // of the text: how many there are, and how many of them are read
let isSoftmaxLoaded = false;
let say = speaker(settings.language);
const arrived = new Map(); // bytes of each file that is loaded
let turn = 0; // of the view that was asked for last; an older one is not shown
let lastView = Promise.resolve(); // views are computed one after the other, and those that are out of date not at all

function defaults() {
  const weights = Array.from({ length: settings.numLayers }, (_, index) => (index === settings.numLayers - 1 ? 1 : 0));
  return { text: settings.text, sentence: 0, index: settings.index, tab: "contexts", among: "same", source: 0, plane: "pca", language: settings.language, weights };
}

/** isStep: whether the button "back" of the browser undoes it. */
function change(part, { isStep = false } = {}) {
  state = { ...state, ...part };
  showAddress({ isStep });
  return show();
}

function showAddress({ isStep = false } = {}) {
  const address = writeState(state);
  if (isStep && address !== location.hash) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

function chosen() {
  const at = Math.min(state.sentence, sentences.length - 1);
  return at < 0 ? null : { sentenceNumber: at, tokens: sentences[at], index: Math.min(state.index, sentences[at].length - 1) };
}

// --- the parts of the page ------------------------------------------------------------------------------------------

function showWords() {
  document.documentElement.lang = state.language;
  document.title = say("title", { model: settings.model });
  find("title").textContent = document.title;
  for (const element of document.querySelectorAll("[data-say]")) element.textContent = say(element.dataset.say);
  replace(find("tabs"), TABS.map((name) =>
    make("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-selected": String(name === state.tab), "aria-controls": "panel", tabindex: name === state.tab ? 0 : -1, onclick: () => change({ tab: name }, { isStep: true }) }, say(name))));
  find("panel").setAttribute("aria-labelledby", `tab-${state.tab}`);
  replace(find("among"), AMONG.map((name) => make("option", { value: name, selected: name === state.among }, say(`among${name[0].toUpperCase()}${name.slice(1)}`))));
  replace(find("plane"), PLANES.map((name) => make("option", { value: name, selected: name === state.plane }, say(name))));
  replace(find("source"), [say("everything"), say("sample"), ...settings.files].map((name, at) => make("option", { value: at, selected: at === state.source }, name)));
  find("explain").textContent = say(`${state.tab}Hint`);
  find("mixture").hidden = !WITH_MIXTURE.includes(state.tab) || plane() === "umap";
  find("among-choice").hidden = state.tab !== "contexts";
  find("source-choice").hidden = !WITH_SOURCE.includes(state.tab) || !settings.files.length;
  find("plane-choice").hidden = state.tab !== "map" || !settings.hasUmap;
}

const plane = () => (state.tab === "map" && settings.hasUmap ? state.plane : "pca");

/** What the user should know of the text: what is not read of it, and what the model has not read the like of. */
function showNotes() {
  const tokens = sentences.flat();
  const letters = tokens.join("").match(/\p{L}/gu) ?? [];
  const read = new RegExp(settings.scripts.map((name) => `\\p{Script=${name}}`).join("|") || ".", "u");
  const isCut = lines.numRead < lines.numLines;
  const utf8 = new TextEncoder();
  const numLong = tokens.filter((token) => utf8.encode(token).length > settings.maxBytes).length;
  const notes = [
    isCut && say(lines.numRead ? "tooManyLines" : "longLine", { shown: lines.numRead, all: lines.numLines, limit: MAX_TOKENS }),
    2 * letters.filter((letter) => !read.test(letter)).length > letters.length && say("unreadScript", { model: settings.model }),
    numLong && say("longTokens", { count: numLong, limit: settings.maxBytes }),
    writeState(state).length > LONGEST_LINK && say("longLink"),
  ];
  replace(find("notes"), notes.filter(Boolean).map((note) => make("p", {}, note)));
}

function showTokens() {
  const here = chosen();
  replace(find("tokens"), sentences.map((tokens, number) =>
    make("p", { dir: "auto" }, tokens.flatMap((token, index) => {
      const isChosen = here !== null && number === here.sentenceNumber && index === here.index;
      return [make("button", { type: "button", class: "token", "aria-pressed": String(isChosen), onclick: () => choose(number, index) }, token), " "];
    }))));
}

/** The sliders are made once: the mouse would lose one that is drawn anew while it drags it. */
function makeSliders() {
  const drag = (part) => {
    state = { ...state, ...part };
    show(); // the address changes when the slider is let go: browsers limit how often it may
  };
  const slider = (attributes, set) =>
    make("label", {}, make("span"),
      make("input", { type: "range", step: 0.01, ...attributes, oninput: (event) => set(Number(event.target.value)), onchange: showAddress }),
      make("output"));
  const layers = state.weights.map((_, layer) =>
    slider({ min: 0, max: 1, "data-layer": layer }, (weight) => {
      const weights = state.weights.map((old, at) => (at === layer ? weight : old));
      if (weights.some((value) => value > 0)) drag({ weights });
      else showMixture(); // the only layer is not taken away
    }));
  replace(find("weights"), layers);
}

function showMixture() {
  const weights = mixture(state.weights);
  [...find("weights").children].forEach(({ children: [name, slider, output] }, number) => {
    name.textContent = say("layer", { number });
    slider.value = state.weights[number];
    output.textContent = weights[number].toFixed(2);
  });
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

function nameOfLearnt({ task, place, data, runs, isFormer }) {
  const name = say("presetLearnt", { task: say(task), place: say(place), data, runs });
  return isFormer ? `${name}; ${say("presetFormer")}` : name;
}

function showPresets() {
  const current = JSON.stringify(state.weights);
  replace(find("preset"), make("option", { value: "" }, "…"), presets().map((preset, at) =>
    make("option", { value: at, selected: JSON.stringify(preset.weights) === current }, preset.name)));
}

/** Shows the choices at once, and the view that they ask for when the one before it is done. */
function show() {
  const isCurrent = ((mine) => () => mine === turn)(++turn);
  say = speaker(state.language);
  keepFocus(() => {
    showWords();
    showNotes();
    showTokens();
    showMixture();
    showPresets();
  });
  find("panel").setAttribute("aria-busy", "true");
  lastView = lastView.then(() => isCurrent() && showView(isCurrent));
  return lastView;
}

async function showView(isCurrent) {
  const here = chosen();
  const panel = find("panel");
  const shared = { panel, say, language: settings.language, call, sentences, weights: mixture(state.weights), among: state.among, source: Math.min(state.source, settings.files.length && settings.files.length + 1), files: settings.files, plane: plane(), isCurrent, numLayers: settings.numLayers };
  try {
    await opened;
    if (!isCurrent()) return;
    if (state.tab === "tour") views.tour({ ...shared, words: about.words, overall: about.overall, visit });
    else if (here === null) replace(panel, make("p", {}, say("choose")));
    else await views[state.tab]({ ...shared, ...here, choose, add, isSoftmaxLoaded, loadSoftmax, softmaxBytes: settings.softmaxBytes });
    if (isCurrent()) showError(null);
  } catch (error) {
    if (isCurrent()) showError(error);
  } finally {
    if (isCurrent()) {
      panel.removeAttribute("aria-busy");
      showSaving();
    }
  }
}

/** Not a part of a view, so that others can be looked at while the softmax is loading. */
async function loadSoftmax() {
  try {
    await call("loadSoftmax");
    isSoftmaxLoaded = true;
    if (state.tab === "expectations") show();
  } catch (error) {
    showError(error);
  }
}

/** What is drawn anew keeps the focus of the keyboard. */
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

/** Chooses a token of a sentence, which is added to the text if it is not there. */
function add({ tokens, index }) {
  const text = tokens.join(" ");
  const at = sentences.findIndex((sentence) => sentence.join(" ") === text);
  if (at >= 0) return choose(at, index);
  const part = { sentence: sentences.length, index: tokenize(tokens.slice(0, index).join(" ")).length };
  return setText(`${state.text.trimEnd()}\n${text}`, part, { isStep: true });
}

function visit(word) {
  return setText(word.examples.join("\n"), { sentence: 0, index: word.index, tab: "map" }, { isStep: true });
}

function setText(text, part = {}, step = {}) {
  find("text").value = text;
  ({ sentences, ...lines } = sentencesOf(text));
  return change({ text, ...part }, step);
}

function showSaving() {
  const panel = find("panel");
  const drawing = panel.querySelector(".scroll > svg");
  const name = `${settings.model}-${state.tab}`;
  const button = (label, act) => make("button", { type: "button", class: "save", onclick: () => act().catch(showError) }, say(label));
  for (const old of panel.querySelectorAll(".save")) old.remove();
  [...panel.querySelectorAll("table")].forEach((table, at) =>
    table.after(button("exportTsv", async () => save(`${name}${at ? `-${at + 1}` : ""}.tsv`, tableText(table), "text/tab-separated-values"))));
  const legend = [...panel.querySelectorAll(".legend li")].map((entry) => [entry.querySelector("svg"), entry.textContent.trim()]);
  const layers = WITH_MIXTURE.includes(state.tab) && plane() === "pca" ? `, ${say("mixture")}: ${mixture(state.weights).map((weight) => weight.toFixed(2)).join(", ")}` : "";
  const picture = () => onPaper(drawing, { legend, source: `elmokit, ${settings.model}${layers}` });
  replace(
    find("saving"),
    drawing && button("exportSvg", async () => save(`${name}.svg`, drawingText(picture()), "image/svg+xml")),
    drawing && button("exportPng", async () => save(`${name}.png`, await drawingAsPng(picture()))),
  );
}

function showProgress({ path, received, total }) {
  arrived.set(path, { received, total });
  const sum = (name) => [...arrived.values()].reduce((sum, file) => sum + file[name], 0);
  const share = sum("total") ? sum("received") / sum("total") : 0;
  find("status").textContent = say("loading", { share: Math.round(100 * share) });
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
find("text").addEventListener("input", (event) => {
  clearTimeout(typing);
  typing = setTimeout(() => setText(event.target.value), 200);
});
find("among").addEventListener("change", (event) => change({ among: event.target.value }));
find("source").addEventListener("change", (event) => change({ source: Number(event.target.value) }));
find("plane").addEventListener("change", (event) => change({ plane: event.target.value }));
find("preset").addEventListener("change", (event) => {
  const preset = presets()[event.target.value];
  if (preset) change({ weights: preset.weights });
});
find("language").addEventListener("click", () => {
  change({ language: LANGUAGES[(LANGUAGES.indexOf(state.language) + 1) % LANGUAGES.length] });
  showReady();
});
find("tabs").addEventListener("keydown", (event) => {
  const at = TABS.indexOf(state.tab);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  change({ tab: TABS.at(to % TABS.length) }, { isStep: true });
  find(`tab-${state.tab}`).focus();
});
addEventListener("hashchange", () => {
  state = readState(location.hash, defaults());
  setText(state.text);
  showReady();
});

state = readState(location.hash, defaults());
say = speaker(state.language);
makeSliders();
find("mixture").open = !matchMedia("(max-width: 30rem)").matches;
document.querySelector("main").removeAttribute("aria-busy");
const opened = call("about").then((found) => {
  about = found;
  showReady();
});
opened.catch(() => { // whatever is shown says why
  find("progress").hidden = true;
  find("status").textContent = "";
});
await setText(state.text); // the words can be chosen at once; the view comes when the worker has the model
if (about) document.body.dataset.ready = "true";
