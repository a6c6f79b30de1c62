// The softmax over the vocabulary: what the forward and the backward language model expect at each place.

import { largest } from "./vectors.js";

const ROWS_AT_ONCE = 2048;
const RANK_OFFSET = 2.7; // Zipf's law as corrected by Mandelbrot: a word's share is proportional to 1 / (rank + 2.7)
const MIN_WORDS = 20; // frequent words, and rare words, needed to tell the order of a vocabulary
const SORTED_SHARE = 0.65; // 0.5 without any order; 0.89 in mini-en and 0.80 in mini-ko, on the sample

export class Softmax {
  /** parts: tensors of each file, in order; vocabulary: the tokens in the order of the rows. */
  constructor(parts, vocabulary, memory) {
    Object.assign(this, { parts, vocabulary, memory });
    this.ids = new Map(vocabulary.map((token, id) => [token, id]));
    this.specials = new Set(["<S>", "</S>", "<UNK>"].map((token) => this.ids.get(token)));
    const numRows = parts.reduce((sum, part) => sum + part.get("softmax.bias").shape[0], 0);
    if (numRows !== vocabulary.length) throw new Error(`the softmax has ${numRows} rows for ${vocabulary.length} tokens`);
  }

  id(token) {
    return this.ids.get(token) ?? this.ids.get("<UNK>");
  }

  knows(token) {
    return this.ids.has(token);
  }

  /** Whether a row is a word, not a boundary or `<UNK>` (all words outside the vocabulary). */
  isWord(id) {
    return !this.specials.has(id);
  }

  /** Log probabilities (natural) of all tokens after each context. */
  logProbabilities(contexts) {
    return this.logits(contexts).map(normalised);
  }

  logits(contexts) {
    const { memory } = this;
    const dim = contexts[0].length;
    const mark = memory.mark();
    const x = memory.reserve(contexts.length * dim);
    contexts.forEach((context, index) => memory.view(x, contexts.length * dim).set(context, index * dim));
    const y = memory.reserve(contexts.length * ROWS_AT_ONCE);
    const all = contexts.map(() => new Float32Array(this.vocabulary.length));
    let first = 0;
    for (const part of this.parts) {
      const weight = part.get("softmax.weight").values;
      const bias = part.get("softmax.bias").values;
      const scale = part.get("softmax.weight_scale")?.values;
      for (let start = 0; start < bias.length; start += ROWS_AT_ONCE) {
        const rows = Math.min(ROWS_AT_ONCE, bias.length - start);
        const block = memory.mark();
        const matrix = memory.matrix(widened(weight.subarray(start * dim, (start + rows) * dim), scale?.subarray(start), dim), rows, dim);
        const view = memory.view(y, contexts.length * rows);
        for (let index = 0; index < contexts.length; index++) view.set(bias.subarray(start, start + rows), index * rows);
        memory.multiply(matrix, x, y, contexts.length);
        const products = memory.view(y, contexts.length * rows);
        all.forEach((logits, index) => logits.set(products.subarray(index * rows, (index + 1) * rows), first + start));
        memory.release(block);
      }
      first += bias.length;
    }
    memory.release(mark);
    return all;
  }

  /** The likeliest tokens: { token, log }. */
  top(logs, number) {
    return largest(logs.length, number, (id) => logs[id]).map(({ index, value }) => ({ token: this.vocabulary[index], log: value }));
  }
}

function widened(weight, scale, dim) {
  const values = Float32Array.from(weight);
  if (scale) for (let at = 0; at < values.length; at++) values[at] *= scale[Math.floor(at / dim)];
  return values;
}

/** Log probabilities of both directions together, p(w | left) p(w | right) / p(w). Both contain the frequency of the
    word, and dividing by p(w) counts it once. p(w) comes from the rank if the vocabulary is sorted by frequency; in
    others, the frequency counts twice. */
export function together(forward, backward, isWord, isRanked) {
  const rarity = (id) => (isRanked ? Math.log(id + RANK_OFFSET) : 0);
  return normalised(forward.map((log, id) => (isWord(id) ? log + backward[id] + rarity(id) : -Infinity)));
}

/** Whether a vocabulary is sorted by frequency, judged by a text. If so, words that the text repeats usually have
    smaller ranks than words that it has once. False if there are too few words of either kind. */
export function isByFrequency(vocabulary, tokens) {
  const counts = new Map();
  for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
  const ranks = (isWanted) => vocabulary.flatMap((token, id) => (isWanted(counts.get(token) ?? 0) ? [id] : []));
  const [often, once] = [ranks((count) => count >= 3), ranks((count) => count === 1)]; // both in ascending order
  if (often.length < MIN_WORDS || once.length < MIN_WORDS) return false;
  let before = 0; // how many of `once` have a smaller rank
  let earlier = 0;
  for (const rank of often) {
    while (before < once.length && once[before] < rank) before++;
    earlier += once.length - before;
  }
  return earlier / (often.length * once.length) > SORTED_SHARE;
}

function normalised(logits) {
  let most = -Infinity;
  for (const value of logits) if (value > most) most = value;
  let sum = 0;
  for (const value of logits) sum += Math.exp(value - most);
  const logSum = most + Math.log(sum);
  return logits.map((value) => value - logSum);
}
