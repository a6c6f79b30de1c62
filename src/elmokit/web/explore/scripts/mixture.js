// Equation 1: a slider for the weight of each layer, the mixes that tasks have learnt, and the rate of the current mix.

import { foreign, make, replace } from "./dom.js";
import { mixture } from "./state.js";

const [WIDTH, HEIGHT] = [100, 24]; // of a curve; it is as long as its slider
const percent = (rate) => (100 * rate).toFixed(1);

/** Makes the sliders once: if a slider were drawn again while the mouse drags it, the mouse would lose it. */
export function makeSliders(element, weights, { onslide, onchange }) {
  replace(element, weights.map((_, layer) =>
    make("div", { class: "slider" }, make("label", {}, make("span"),
      make("input", { type: "range", min: 0, max: 1, step: 0.01, "data-layer": layer, oninput: (event) => onslide(layer, Number(event.target.value)), onchange }),
      make("output")), make("div", { class: "curve" }))).reverse()); // the top layer on top
}

export function showSliders(element, weights, say) {
  const shares = mixture(weights);
  for (const slider of element.querySelectorAll("input")) {
    const layer = Number(slider.dataset.layer);
    slider.previousSibling.textContent = say("layer", { number: layer });
    slider.value = weights[layer];
    slider.nextSibling.textContent = shares[layer].toFixed(2);
  }
}

/** Shows the rate of the mix, a curve of rates below each slider, and the best mix. found: null without labels. */
export function showRate({ rate, sliders, found, weights, word, say, language, take }) {
  if (!found) return replace(rate);
  const all = [...found.curves.flat().filter((value) => value !== null), found.best.rate];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const y = (value) => (HEIGHT - 2) * (1 - (value - low) / Math.max(high - low, 1e-9)) + 1;
  found.curves.forEach((curve, layer) => {
    const points = curve.flatMap((value, step) => (value === null ? [] : [`${(WIDTH * step) / (curve.length - 1)} ${y(value).toFixed(1)}`]));
    const now = WIDTH * weights[layer];
    const most = Math.max(...curve);
    const peak = (WIDTH * curve.indexOf(most)) / (curve.length - 1);
    const isFlat = curve.every((value) => value === null || value === most);
    const label = say("rateCurve", { layer, rates: curve.flatMap((value) => (value === null ? [] : [percent(value)])).join(", ") });
    const picture = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
      make("line", { class: "grid", x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1 }), make("path", { class: "rates", d: `M${points.join("L")}` }),
      isFlat ? null : make("line", { class: "peak", x1: peak, x2: peak, y1: HEIGHT - 5, y2: HEIGHT }), make("line", { class: "now", x1: now, x2: now, y1: 0, y2: HEIGHT }));
    replace(sliders.querySelector(`[data-layer="${layer}"]`).closest(".slider").lastChild, picture);
  });
  const list = say(found.isOfFiles ? "ofFiles" : "ofSample");
  const best = found.best.weights.map((weight) => weight.toFixed(1)).join(" · ");
  replace(rate,
    make("p", { class: "figure" }, make("strong", {}, `${percent(found.rate)} %`), ` ${say("rate")}`),
    make("p", { class: "soft" },
      found.totalOfWord ? [say.parts("rateOfWord", { word: foreign(language, word), rate: Math.round(100 * found.ofWord), total: found.totalOfWord }), " "] .flat(): null,
      say("rateOf", { total: found.total, words: found.numWords, list, chance: Math.round(100 * found.chance) }), " ",
      say("rateCurves", { low: Math.round(100 * low), high: Math.round(100 * high) })),
    make("button", { type: "button", id: "best", onclick: () => take(found.best.weights) }, say("best", { weights: best, rate: percent(found.best.rate) })));
}
