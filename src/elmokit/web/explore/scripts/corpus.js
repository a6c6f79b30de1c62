// The sentences to search in: their tokens, the known senses, and all layers of all tokens in int8.

import { largest } from "./vectors.js";

export class Corpus {
  /** about: corpus.json; buffer: corpus.bin, scales (layers, tokens) in float32 and then int8 (layers, tokens, dim). */
  constructor(about, buffer) {
    Object.assign(this, { sentences: about.sentences, words: about.words, overall: { chance: about.chance, rates: about.rates }, sources: about.sources, planes: new Map(Object.entries(about.planes)), rated: about.rated, isRatedInFiles: about.rated_files, numLayers: about.num_layers, dim: about.dim });
    this.starts = [0];
    for (const tokens of this.sentences) this.starts.push(this.starts.at(-1) + tokens.length);
    this.numTokens = this.starts.at(-1);
    const numScales = this.numLayers * this.numTokens;
    if (buffer.byteLength !== numScales * (4 + this.dim)) throw new Error("the index of the corpus is damaged");
    this.scales = new Float32Array(buffer, 0, numScales);
    this.numbers = new Int8Array(buffer, 4 * numScales);
    this.sentenceOf = new Int32Array(this.numTokens);
    this.sentences.forEach((tokens, sentence) => this.sentenceOf.fill(sentence, this.starts[sentence], this.starts[sentence + 1]));
    this.isFirst = firstOccurrences(this.sentences);
    this.senses = new Map(about.senses.map(([sentence, index, sense]) => [this.starts[sentence] + index, sense]));
    this.sensesOf = new Map(); // a word in lower case -> its senses; the index of a sense gives its colour
    for (const [number, sense] of this.senses) {
      const word = this.token(number).toLowerCase();
      if (!this.sensesOf.has(word)) this.sensesOf.set(word, []);
      if (!this.sensesOf.get(word).includes(sense)) this.sensesOf.get(word).push(sense);
    }
    this.numbersOf = Map.groupBy(this.sentences.keys(), (number) => this.sentences[number].join(" "));
  }

  /** A token in its sentence. kind: the number of its colour; its sense gives the colour or, without one, its file. */
  place(number) {
    const sentence = this.sentenceOf[number];
    const senses = this.sensesOf.get(this.token(number).toLowerCase()) ?? [];
    const sense = this.senses.get(number) ?? null;
    const from = this.sourceOf(number);
    const kind = sense !== null ? senses.indexOf(sense) : from > 1 ? senses.length + from - 2 : null;
    return { index: number - this.starts[sentence], tokens: this.sentences[sentence], sense, kind, from, source: this.sources[from - 2]?.[0] ?? null };
  }

  /** The number of a token of a sentence, labelled if possible; undefined if the corpus does not have the sentence. */
  find(tokens, index) {
    const numbers = (this.numbersOf.get(tokens.join(" ")) ?? []).map((sentence) => this.starts[sentence] + index);
    return numbers.find((number) => this.senses.has(number)) ?? numbers[0];
  }

  /** The source of a token: 1 is the bundled sample, 2 the first file. */
  sourceOf(number) {
    return 2 + this.sources.findLastIndex(([, first]) => first <= this.sentenceOf[number]);
  }

  token(number) {
    return this.sentences[this.sentenceOf[number]][number - this.starts[this.sentenceOf[number]]];
  }

  /** The mixed vector of a token, up to the rounding of int8. */
  vector(number, weights) {
    const vector = new Float32Array(this.dim);
    for (let layer = 0; layer < this.numLayers; layer++) {
      const at = layer * this.numTokens + number;
      const factor = weights[layer] * this.scales[at];
      if (factor === 0) continue;
      const start = at * this.dim;
      for (let entry = 0; entry < this.dim; entry++) vector[entry] += factor * this.numbers[start + entry];
    }
    return vector;
  }

  /** Tokens with the largest cosines with a query, among the tokens that `isAllowed(number)` accepts. */
  nearest(query, weights, number, isAllowed) {
    const lengthOf = (vector) => Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
    const length = lengthOf(query) || 1;
    return largest(this.numTokens, number, (token) => {
      if (!isAllowed(token)) return -Infinity;
      const vector = this.vector(token, weights);
      let product = 0;
      let square = 0;
      for (let at = 0; at < this.dim; at++) {
        product += query[at] * vector[at];
        square += vector[at] * vector[at];
      }
      return square > 0 ? product / (length * Math.sqrt(square)) : 0;
    });
  }

  /** Numbers of all tokens that are this word, in any case. */
  occurrences(word) {
    const wanted = word.toLowerCase();
    const found = [];
    for (let number = 0; number < this.numTokens; number++) if (this.token(number).toLowerCase() === wanted) found.push(number);
    return found;
  }
}

/** At most `total` entries, shared fairly among groups and spread evenly over each, as in `planes.py`. */
export function spread(groups, total) {
  const shares = new Map();
  [...groups].sort((one, other) => one.length - other.length).forEach((group, at) => {
    shares.set(group, Math.min(group.length, Math.floor(total / (groups.length - at))));
    total -= shares.get(group);
  });
  return groups.flatMap((group) =>
    Array.from({ length: shares.get(group) }, (_, at) => group[Math.floor((at * group.length) / shares.get(group))]));
}

/** For each token, whether it is the first one of its kind. */
function firstOccurrences(sentences) {
  const seen = new Set();
  return sentences.flat().map((token) => seen.size < seen.add(token).size);
}
