// A worked exercise: five questions, each with the view that answers it, and an explanation of what it shows.

import { make, replace } from "./dom.js";

const VIEWS = [
  { tab: "contexts", layer: "top" },
  { tab: "contexts", layer: "token" },
  { tab: "contexts", layer: "top" },
  { tab: "map", layer: "top", picture: "mix" },
  { tab: "expectations", layer: "top" },
];

/** What the page shows at a step, counted from 1. */
export function viewOf(step, numLayers) {
  const { layer, ...view } = VIEWS[step - 1];
  const number = layer === "top" ? numLayers - 1 : 0;
  return { ...view, step, among: "same", order: "cosine", source: 0, pair: 0, weights: Array.from({ length: numLayers }, (_, at) => (at === number ? 1 : 0)) };
}

/** Shows a step; goTo(step) shows another one, and goTo(0) ends the exercise. The same step is not drawn again. */
export function showExercise(element, { step, say, word, language, overall, goTo }) {
  const key = `${step} ${language}`;
  if (element.dataset.key === key || (step && !overall)) return;
  element.dataset.key = key;
  element.hidden = !step;
  if (!step) return replace(element);
  const percent = (rate) => Math.round(100 * rate);
  const rates = { top: percent(overall?.rates.at(-1)), chance: percent(overall?.chance), zero: percent(overall?.rates[0]), rates: overall?.rates.slice(1).map(percent).join(", ") };
  const isLast = step === VIEWS.length;
  replace(element,
    make("p", { class: "soft" }, say("exercise", { step, all: VIEWS.length })),
    make("p", { class: "question" }, say.parts(`step${step}`, { word })),
    make("details", {}, make("summary", {}, say("answer")), make("p", {}, say(`answer${step}`, rates))),
    make("p", {}, make("button", { type: "button", class: "main", id: "next", onclick: () => goTo(isLast ? 0 : step + 1) }, say(isLast ? "finish" : "next"))));
}

export const NUM_STEPS = VIEWS.length;
