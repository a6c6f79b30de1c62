// How often the nearest other occurrence of a word has the same sense, as elmokit/analysis/polysemy.py measures it.

import { Products, cosines, pairs } from "./vectors.js";

const TIE = 1e-6; // cosines that differ by at most this count as equal
const MAX_MIXES = 100; // tried to find the best one
const CURVE_STEPS = 10;

export class SenseRates {
  /** rated: words with the senses of their occurrences; buffer: rates.bin, the inner products of each. */
  constructor(rated, buffer, numLayers) {
    let start = 0;
    this.words = rated.map(([word, senses]) => {
      const size = senses.length ** 2;
      const products = pairs(numLayers).map((_, pair) => new Float32Array(buffer, 4 * (start + pair * size), size));
      start += products.length * size;
      return { word, senses, products: new Products(senses.length, products) };
    });
    this.chance = share(this.words.flatMap((word) => hits(word.senses, () => 1)));
  }

  /** Hits of each occurrence of each word: 1 if the nearest other one has the same sense, else 0; fractions for ties. */
  measure(weights) {
    return this.words.map(({ word, senses, products }) => {
      const count = senses.length;
      const near = cosines(products.mixed(weights), count);
      return { word, hits: hits(senses, (one, other) => near[one * count + other]) };
    });
  }

  rate(weights) {
    return share(this.measure(weights).flatMap(({ hits }) => hits));
  }

  /** The rates when one slider moves from 0 to 1 and the others stay; null where all would be 0. */
  curves(weights) {
    return weights.map((_, layer) =>
      Array.from({ length: CURVE_STEPS + 1 }, (_, step) => {
        const moved = weights.with(layer, step / CURVE_STEPS);
        return moved.some((weight) => weight > 0) ? this.rate(moved) : null;
      }));
  }

  /** The best mix with weights in even steps. */
  best(numLayers) {
    this.found ??= evenMixes(numLayers).map((weights) => ({ weights, rate: this.rate(weights) }))
      .reduce((best, mix) => (mix.rate > best.rate + TIE ? mix : best));
    return this.found;
  }
}

/** For each occurrence that shares its sense with another: the share of its nearest ones that have this sense. */
function hits(senses, nearness) {
  const found = [];
  for (let one = 0; one < senses.length; one++) {
    let most = -Infinity;
    let hasSame = false;
    for (let other = 0; other < senses.length; other++) {
      if (other === one) continue;
      most = Math.max(most, nearness(one, other));
      hasSame ||= senses[other] === senses[one];
    }
    if (!hasSame) continue;
    let [numNearest, numSame] = [0, 0];
    for (let other = 0; other < senses.length; other++) {
      if (other === one || nearness(one, other) < most - TIE) continue;
      numNearest++;
      if (senses[other] === senses[one]) numSame++;
    }
    found.push(numSame / numNearest);
  }
  return found;
}

export const share = (hits) => (hits.length ? hits.reduce((sum, hit) => sum + hit, 0) / hits.length : null);

/** Weights with a sum of 1 in even steps, as fine as MAX_MIXES allows. */
function evenMixes(numLayers) {
  const mixes = (layers, rest) =>
    layers === 1 ? [[rest]] : Array.from({ length: rest + 1 }, (_, first) => mixes(layers - 1, rest - first).map((others) => [first, ...others])).flat();
  let steps = 1;
  while (steps < 10 && mixes(numLayers, steps + 1).length <= MAX_MIXES) steps++;
  return mixes(numLayers, steps).map((weights) => weights.map((weight) => weight / steps));
}
