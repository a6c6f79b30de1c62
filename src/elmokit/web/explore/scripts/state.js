// The user's choices. They are kept in the address of the page, so that a link restores them.

import { LANGUAGES } from "./strings.js";
import { tokenize } from "./tokenizer.js";

export const TABS = ["contexts", "map", "similarity", "expectations", "characters", "tour"];
export const MAX_TOKENS = 1000; // of one text; views show fewer
export const MAX_CHARACTERS = 20_000; // of one text; the address has all of it
export const CHOICES = {
  among: ["same", "any", "other"],
  number: [12, 25, 50, 100],
  order: ["cosine", "left", "right", "sense"],
  picture: ["mix", "layers", "corpora", "umap"],
};
const isNumber = (text) => /^\d{1,5}$/.test(text);
const oneOf = (choices) => ({ read: (text) => choices.find((choice) => String(choice) === text) });
const number = { read: (text) => (isNumber(text) ? Number(text) : undefined) };
const FIELDS = { // its name in the address, and how to read it; undefined means an invalid value
  text: ["t", { read: (text) => text }],
  sentence: ["s", number],
  index: ["i", number],
  tab: ["v", oneOf(TABS)],
  among: ["a", oneOf(CHOICES.among)],
  number: ["n", oneOf(CHOICES.number)],
  order: ["o", oneOf(CHOICES.order)],
  source: ["f", number], // 0 is the whole corpus, 1 the bundled sample, 2 the first file
  other: ["g", number], // the corpus to compare with
  picture: ["p", oneOf(CHOICES.picture)],
  labels: ["b", oneOf([0, 1])],
  pair: ["c", number], // the sentence to compare with, counted from 1; 0 is none
  step: ["x", number], // of the exercise; 0 is none
  language: ["l", oneOf(LANGUAGES)],
};

/** The state that an address describes; values that are missing or invalid come from `defaults`. */
export function readState(hash, defaults) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const weights = (given.get("w") ?? "").split(",").map(Number);
  const isSound = weights.length === defaults.weights.length && weights.every((weight) => weight >= 0 && weight <= 1);
  const read = Object.entries(FIELDS).map(([name, [key, { read }]]) => [name, (given.has(key) ? read(given.get(key)) : undefined) ?? defaults[name]]);
  return { ...Object.fromEntries(read), weights: isSound && weights.some((weight) => weight > 0) ? weights : defaults.weights };
}

/** The address of a state: the text, the weights, and all values that differ from `defaults`. */
export function writeState(state, defaults) {
  const names = Object.keys(FIELDS).filter((name) => name === "text" || state[name] !== defaults[name]);
  const weights = state.weights.map((weight) => Number(weight.toFixed(4))).join(",");
  return `#${new URLSearchParams([...names.map((name) => [FIELDS[name][0], state[name]]), ["w", weights]])}`;
}

/** The weights s of equation 1: the sliders' weights, scaled to a sum of 1. */
export function mixture(weights) {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** Tokens of each line of a text that has any, up to the last whole line within MAX_TOKENS in all. */
export function sentencesOf(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  const sentences = [];
  let numRead = 0;
  for (let left = MAX_TOKENS; numRead < lines.length; numRead++) {
    const tokens = tokenize(lines[numRead]);
    left -= tokens.length;
    if (left < 0) break;
    if (tokens.length) sentences.push(tokens);
  }
  return { sentences, numRead, numLines: lines.length };
}
