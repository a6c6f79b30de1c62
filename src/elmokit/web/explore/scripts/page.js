// The page: text and choices in, views out. Everything slow happens in the worker.

import { make, replace } from "./dom.js";
import { drawingAsPng, drawingText, save, tableText } from "./save.js";
import { AMONG, PLANES, TABS, mixture, readState, sentencesOf, writeState } from "./state.js";
import { LANGUAGES, speaker } from "./strings.js";
import * as views from "./views.js";

const find = (id) => document.getElementById(id);
const settings = JSON.parse(find("settings").textContent);

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
let isSoftmaxLoaded = false;
let say = speaker(settings.language);
const arrived = new Map(); // bytes of each file that is loaded
let turn = 0; // of the view that was asked for last; an older one is not shown
let lastView = Promise.resolve(); // views are computed one after the other, and those that are out of date not at all

function defaults() {
  const weights = Array.from({ length: settings.numLayers }, (_, index) => (index === settings.numLayers - 1 ? 1 : 0));
  return { text: settings.text, sentence: 0, index: settings.index, tab: "contexts", among: "same", plane: "pca", language: settings.language, weights, gamma: 1 };
}

function change(part) {
  state = { ...state, ...part };
  showAddress();
  return show();
}

function showAddress() {
  history.replaceState(null, "", writeState(state));
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
    make("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-selected": String(name === state.tab), "aria-controls": "panel", tabindex: name === state.tab ? 0 : -1, onclick: () => change({ tab: name }) }, say(name))));
  find("panel").setAttribute("aria-labelledby", `tab-${state.tab}`);
  replace(find("among"), AMONG.map((name) => make("option", { value: name, selected: name === state.among }, say(`among${name[0].toUpperCase()}${name.slice(1)}`))));
  replace(find("plane"), PLANES.map((name) => make("option", { value: name, selected: name === state.plane }, say(name))));
  find("among-choice").hidden = state.tab !== "contexts";
  find("plane-choice").hidden = state.tab !== "map" || !settings.hasUmap;
}

function showTokens() {
  const here = chosen();
  replace(find("tokens"), sentences.map((tokens, number) =>
    make("p", { dir: "auto" }, tokens.flatMap((token, index) => {
      const isChosen = here !== null && number === here.sentenceNumber && index === here.index;
      return [make("button", { type: "button", class: "token", "aria-pressed": String(isChosen), onclick: () => change({ sentence: number, index }) }, token), " "];
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
    }));
  replace(find("weights"), layers, slider({ min: 0.1, max: 5, id: "gamma" }, (gamma) => drag({ gamma })));
}

function showMixture() {
  const { weights, gamma } = mixture(state);
  const names = [...weights.map((_, number) => say("layer", { number })), say("gamma")];
  [...find("weights").children].forEach(({ children: [name, slider, output] }, at) => {
    name.textContent = names[at];
    slider.value = [...state.weights, gamma][at];
    output.textContent = [...weights, gamma][at].toFixed(2);
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
  ].map(([name, weights]) => ({ name: say(name), weights, gamma: 1 }));
  return [...fixed, ...settings.presets.map((mix) => ({ ...mix, name: nameOfLearnt(mix) }))];
}

function nameOfLearnt({ task, place, data, runs, isFormer }) {
  const name = say("presetLearnt", { task: say(task), place: say(place), data, runs });
  return isFormer ? `${name}; ${say("presetFormer")}` : name;
}

function showPresets() {
  const current = JSON.stringify([state.weights, state.gamma]);
  replace(find("preset"), make("option", { value: "" }, "…"), presets().map((preset, at) =>
    make("option", { value: at, selected: JSON.stringify([preset.weights, preset.gamma]) === current }, preset.name)));
}

/** Shows the choices at once, and the view that they ask for when the one before it is done. */
function show() {
  const isCurrent = ((mine) => () => mine === turn)(++turn);
  say = speaker(state.language);
  keepFocus(() => {
    showWords();
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
  const shared = { panel, say, language: settings.language, call, sentences, mixture: mixture(state), among: state.among, plane: settings.hasUmap ? state.plane : "pca", isCurrent, numLayers: settings.numLayers };
  const choose = (sentence, index) => change({ sentence, index });
  try {
    await opened;
    if (!isCurrent()) return;
    if (state.tab === "tour") views.tour({ ...shared, words: about.words, overall: about.overall, visit });
    else if (here === null) replace(panel, make("p", {}, say("choose")));
    else await views[state.tab]({ ...shared, ...here, choose, isSoftmaxLoaded, loadSoftmax, softmaxBytes: settings.softmaxBytes });
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

function visit(word) {
  return setText(word.examples.join("\n"), { sentence: 0, index: word.index, tab: "map" });
}

function setText(text, part = {}) {
  find("text").value = text;
  sentences = sentencesOf(text);
  return change({ text, ...part });
}

function showSaving() {
  const table = find("panel").querySelector("table");
  const drawing = find("panel").querySelector(".scroll > svg");
  const name = `${settings.model}-${state.tab}`;
  const button = (label, act) => make("button", { type: "button", onclick: () => act().catch(showError) }, say(label));
  replace(
    find("saving"),
    table && button("exportTsv", async () => save(`${name}.tsv`, tableText(table), "text/tab-separated-values")),
    drawing && button("exportSvg", async () => save(`${name}.svg`, drawingText(drawing), "image/svg+xml")),
    drawing && button("exportPng", async () => save(`${name}.png`, await drawingAsPng(drawing))),
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
find("plane").addEventListener("change", (event) => change({ plane: event.target.value }));
find("preset").addEventListener("change", (event) => {
  const preset = presets()[event.target.value];
  if (preset) change({ weights: preset.weights, gamma: preset.gamma });
});
find("language").addEventListener("click", () => {
  change({ language: LANGUAGES[(LANGUAGES.indexOf(state.language) + 1) % LANGUAGES.length] });
  showReady();
});
find("tabs").addEventListener("keydown", (event) => {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  change({ tab: TABS[(TABS.indexOf(state.tab) + by + TABS.length) % TABS.length] });
  find(`tab-${state.tab}`).focus();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show());
addEventListener("hashchange", () => {
  state = readState(location.hash, defaults());
  setText(state.text);
});

state = readState(location.hash, defaults());
say = speaker(state.language);
makeSliders();
document.querySelector("main").removeAttribute("aria-busy");
const opened = call("about").then((found) => {
  about = found;
  showReady();
});
opened.catch(() => (find("progress").hidden = true)); // whatever is shown says why
await setText(state.text); // the words can be chosen at once; the view comes when the worker has the model
if (about) document.body.dataset.ready = "true";
