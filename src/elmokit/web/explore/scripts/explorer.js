// Computes what the page asks for. Everything here runs in a worker, so that typing never stalls.

import { BiLM } from "./bilm.js";
import { characterIds } from "./characters.js";
import { Corpus, spread } from "./corpus.js";
import { SenseRates, share } from "./rates.js";
import { readSafetensors } from "./safetensors.js";
import { Products, cosine, cosines, mix, principalPlane, row } from "./vectors.js";

const MAX_OCCURRENCES = 300;
const MAX_REMEMBERED = 2 ** 26; // numbers, of 4 bytes each, in the layers of sentences
const CONTEXTS_AT_ONCE = 24;
const CANDIDATES = 3; // candidates from the index for each one shown; they are computed exactly as long as that can matter

export class Explorer {
  /** fetchFile(path) -> ArrayBuffer of a file of the site; `softmax` uses it too, to fetch the softmax on demand. */
  static async open(fetchFile) {
    const files = ["model/config.json", "model/model.safetensors", "corpus.json", "corpus.bin", "rates.bin"];
    const [config, weights, sentences, index, rates] = await Promise.all(files.map(fetchFile));
    const bilm = await BiLM.create(JSON.parse(text(config)).bilm, readSafetensors(weights));
    const corpus = new Corpus(JSON.parse(text(sentences)), index);
    return new Explorer(bilm, corpus, new SenseRates(corpus.rated, rates, bilm.numLayers), fetchFile);
  }

  constructor(bilm, corpus, rates, fetchFile) {
    Object.assign(this, { bilm, corpus, rates, fetchFile, dim: bilm.dim, remembered: new Map(), numRemembered: 0, expected: new Map() });
  }

  about() {
    const { corpus } = this;
    return { dim: this.dim, numSentences: corpus.sentences.length, words: corpus.words, overall: corpus.overall };
  }

  /** All layers of a sentence. They are remembered; the oldest are forgotten first. */
  layers(tokens) {
    const { remembered } = this;
    const key = tokens.join(" ");
    if (!remembered.has(key)) {
      const numbers = (layers) => layers.length * layers[0].length;
      remembered.set(key, this.bilm.read(tokens));
      this.numRemembered += numbers(remembered.get(key));
      for (const [oldest, layers] of remembered) {
        if (this.numRemembered <= MAX_REMEMBERED || oldest === key) break;
        this.numRemembered -= numbers(layers);
        remembered.delete(oldest);
      }
    }
    return remembered.get(key);
  }

  vectorAt(tokens, index, weights) {
    return mix(this.layers(tokens).map((layer) => row(layer, index, this.dim)), weights);
  }

  /** Cosines (number, number) of the first tokens of the sentences, row by row. */
  similarities({ sentences, weights, number }) {
    const places = sentences.flatMap((tokens) => tokens.map((_, index) => ({ tokens, index }))).slice(0, number);
    const vectors = places.map(({ tokens, index }) => this.vectorAt(tokens, index, weights));
    return vectors.map((one) => vectors.map((other) => cosine(one, other)));
  }

  /** Nearest contexts of a token in the corpus, with exact cosines. Contexts in the very same sentence are left out. */
  neighbours({ tokens, index, weights, number, among, source }) {
    const { corpus } = this;
    const query = this.vectorAt(tokens, index, weights);
    const word = tokens[index].toLowerCase();
    const isOwn = new Set(corpus.numbersOf.get(tokens.join(" ")));
    const isAllowed = (token) => {
      if (isOwn.has(corpus.sentenceOf[token]) || !this.isFrom(source, token)) return false;
      return among === "any" || (corpus.token(token).toLowerCase() === word) === (among === "same");
    };
    const candidates = corpus.nearest(query, weights, CANDIDATES * number, isAllowed);
    const near = exactly(candidates, number, (token) => {
      const place = corpus.place(token);
      return { ...place, cosine: cosine(query, this.vectorAt(place.tokens, place.index, weights)) };
    });
    return { near, sense: this.own(tokens, index).sense };
  }

  /** A token of the text, with its sense if the corpus knows it. */
  own(tokens, index) {
    const number = this.corpus.find(tokens, index);
    const { sense, kind } = number === undefined ? { sense: null } : this.corpus.place(number);
    return { tokens, index, sense, kind: sense === null ? null : kind, from: 0, source: null, isOwn: true };
  }

  /** How often the nearest other occurrence has the same sense, with this mix of the layers; null without labels. */
  rate({ weights, word }) {
    const { rates } = this;
    if (!rates.words.length) return null;
    const measured = rates.measure(weights);
    const all = measured.flatMap(({ hits }) => hits);
    const ofWord = measured.find((of) => of.word === word.toLowerCase())?.hits ?? [];
    return {
      rate: share(all), total: all.length, numWords: measured.length, isOfFiles: this.corpus.isRatedInFiles, chance: rates.chance,
      ofWord: share(ofWord), totalOfWord: ofWord.length,
      curves: rates.curves(weights), best: rates.best(this.bilm.numLayers),
    };
  }

  /** Whether a token of the corpus is from a source: 0 is any, 1 the bundled sample, 2 the first file. */
  isFrom(source, token) {
    return source === 0 || this.corpus.sourceOf(token) === source;
  }

  /** Words of the corpus with the nearest token representations, which do not depend on context. */
  similarWords({ token, number }) {
    const { corpus, bilm } = this;
    const query = bilm.tokenEncoder.encodeToken(token);
    const layer0 = Float32Array.from({ length: this.dim }, (_, at) => query[at % query.length]); // the same in both directions
    const weights = Array.from({ length: bilm.numLayers }, (_, layer) => (layer === 0 ? 1 : 0));
    const candidates = corpus.nearest(layer0, weights, CANDIDATES * number, (at) => corpus.isFirst[at] && corpus.token(at) !== token);
    return exactly(candidates, number, (at) => {
      const word = corpus.token(at);
      return { ...corpus.place(at), token: word, cosine: cosine(query, bilm.tokenEncoder.encodeToken(word)) };
    });
  }

  /** Occurrences of a word, and the inner products of their layers. They are from the given sentences, the bundled
      sample and each file, MAX_OCCURRENCES at most. The last result is remembered, so that sliders are quick. */
  found({ word, sentences, sources }) {
    const { corpus } = this;
    const wanted = word.toLowerCase();
    const key = JSON.stringify([wanted, sources, sentences]);
    if (this.last?.key === key) return this.last;
    const own = sentences.flatMap((tokens) => tokens.flatMap((token, index) => (token.toLowerCase() === wanted ? [this.own(tokens, index)] : [])));
    const groups = [own, ...[null, ...corpus.sources].map(() => [])];
    for (const number of corpus.occurrences(word)) if (!sources || sources.includes(corpus.sourceOf(number))) groups[corpus.sourceOf(number)].push(number);
    const places = spread(groups, MAX_OCCURRENCES).map((place) => (place.isOwn ? place : { ...corpus.place(place), isOwn: false }));
    const products = Products.of(places.map(({ tokens, index }) => this.layers(tokens).map((layer) => row(layer, index, this.dim))));
    this.last = { key, places, all: groups.flat().length, products };
    return this.last;
  }

  /** Occurrences of a word in the plane of their largest variance, for each mix. All sources share one plane. */
  planes({ mixes, ...asked }) {
    const { places, all, products } = this.found(asked);
    return mixes.map((weights) => {
      const { points, shares } = principalPlane(products.mixed(weights), places.length);
      return { shares, all, points: places.map((place, at) => ({ ...place, x: points[at][0], y: points[at][1] })) };
    });
  }

  /** How far apart the occurrences in two sources are, as `elmokit change` measures it; null if either has none. */
  change({ sources, weights, ...asked }) {
    const { places, products } = this.found({ ...asked, sources });
    const parts = sources.map((source) => places.flatMap(({ from }, at) => (from === source ? [at] : [])));
    if (parts.some((part) => !part.length)) return null;
    const count = places.length;
    const inner = products.mixed(weights);
    const near = cosines(inner, count);
    const mean = (matrix, one, other) => one.reduce((sum, i) => sum + other.reduce((sum, j) => sum + matrix[i * count + j], 0), 0) / (one.length * other.length);
    const within = (part) => (part.length < 2 ? 0 : 1 - (part.length * mean(near, part, part) - 1) / (part.length - 1));
    const [first, second] = parts;
    const apd = 1 - mean(near, first, second);
    return {
      sizes: parts.map((part) => part.length),
      prt: 1 - mean(inner, first, second) / Math.sqrt(mean(inner, first, first) * mean(inner, second, second)),
      apd,
      excess: apd - (within(first) + within(second)) / 2,
    };
  }

  /** Occurrences of a word in the corpus, in the plane computed in advance; no points if there is no plane. */
  prepared({ word, source }) {
    const plane = (this.corpus.planes.get(word.toLowerCase()) ?? []).filter(([number]) => this.isFrom(source, number));
    const all = this.corpus.occurrences(word).filter((number) => this.isFrom(source, number)).length;
    return { all, shares: null, points: plane.map(([number, x, y]) => ({ ...this.corpus.place(number), isOwn: false, x, y })) };
  }

  /** For each token, what each direction and both together expect in its place, and its surprisal in bits. */
  async expectations({ tokens, number }) {
    const key = tokens.join(" ");
    if (this.expected.has(key)) return this.expected.get(key);
    const [{ softmax, isRanked }, { together }] = await Promise.all([this.softmax(), import("./softmax.js")]);
    const width = this.dim / this.bilm.lstms.length;
    const top = this.bilm.readBounded(tokens).at(-1);
    const contexts = (direction) =>
      tokens.map((_, index) => top.slice(...[0, 1].map((end) => (index + 2 * direction) * this.dim + (direction + end) * width)));
    const [forward, backward] = this.bilm.lstms.map((_, direction) => contexts(direction));
    const results = [];
    for (let first = 0; first < tokens.length; first += CONTEXTS_AT_ONCE) {
      const group = (of) => softmax.logProbabilities(of.slice(first, first + CONTEXTS_AT_ONCE));
      const backwardLogs = backward && group(backward);
      for (const [at, logs] of group(forward).entries()) {
        const token = tokens[first + at];
        const expected = (name, of) => ({ [name]: softmax.top(of, number), [`${name}Bits`]: -of[softmax.id(token)] / Math.LN2 });
        results.push({
          token,
          isKnown: softmax.knows(token),
          ...expected("forward", logs),
          ...(backward && expected("backward", backwardLogs[at])),
          ...(backward && { both: softmax.top(together(logs, backwardLogs[at], (id) => softmax.isWord(id), isRanked), number) }),
        });
      }
    }
    if (this.expected.size >= 2) this.expected.delete(this.expected.keys().next().value); // keeps a pair of sentences
    this.expected.set(key, { results, isRanked });
    return this.expected.get(key);
  }

  /** The groups of characters that the filters found in a word: number of filters, and sum of their activations. */
  characters({ token, number }) {
    const { config, tokenEncoder } = this.bilm;
    const ids = characterIds(token, config.max_characters_per_token);
    const { values, positions } = tokenEncoder.filters(token);
    const groups = new Map();
    let first = 0;
    for (const [width, count] of config.filters) {
      for (let filter = first; filter < first + count; filter++) {
        if (values[filter] <= 0) continue;
        const shown = spelled(ids.slice(positions[filter], positions[filter] + width));
        const group = groups.get(shown) ?? { characters: shown, width, numFilters: 0, activation: 0 };
        group.numFilters += 1;
        group.activation += values[filter];
        groups.set(shown, group);
      }
      first += count;
    }
    groups.delete(""); // only padding
    return [...groups.values()].sort((one, other) => other.activation - one.activation).slice(0, number);
  }

  /** Fetches the softmax, which `expectations` needs. */
  async loadSoftmax() {
    await this.softmax();
  }

  async softmax() {
    this.openSoftmax ??= (async () => {
      const { Softmax, isByFrequency } = await import("./softmax.js");
      const files = JSON.parse(text(await this.fetchFile("softmax.json")));
      if (!files.length) throw new Error("this model has no softmax, so it cannot say what it expects");
      const parts = [];
      for (const file of files) parts.push(readSafetensors(await this.fetchFile(`model/${file}`)));
      const vocabulary = text(await this.fetchFile("model/vocabulary.txt")).replace(/\n$/, "").split("\n");
      return { softmax: new Softmax(parts, vocabulary, this.bilm.memory), isRanked: isByFrequency(vocabulary, this.corpus.sentences.flat()) };
    })();
    this.openSoftmax.catch(() => (this.openSoftmax = null));
    return this.openSoftmax;
  }
}

/** The best candidates by exact(token). They come best first by the index; the search stops when no other can win. */
function exactly(candidates, number, exact) {
  let best = [];
  let error = 0;
  for (const { index, value } of candidates) {
    if (best.length === number && value + 2 * error < best.at(-1).cosine) break;
    const found = exact(index);
    error = Math.max(error, Math.abs(found.cosine - value));
    best = [...best, found].sort((one, other) => other.cosine - one.cosine).slice(0, number);
  }
  return best;
}

const text = (buffer) => new TextDecoder().decode(buffer);

/** Ids of characters as text. ^ and $ are the word's boundaries; bytes of incomplete characters are hexadecimal. */
function spelled(ids) {
  let shown = "";
  let bytes = [];
  const flush = () => {
    const decoded = new TextDecoder().decode(new Uint8Array(bytes));
    shown += decoded.includes("\ufffd") ? bytes.map((byte) => `\\x${byte.toString(16)}`).join("") : decoded;
    bytes = [];
  };
  for (const id of ids) {
    if (id <= 256) bytes.push(id - 1);
    else {
      flush();
      shown += { 257: "<S>", 258: "</S>", 259: "^", 260: "$" }[id] ?? "";
    }
  }
  flush();
  return shown;
}
