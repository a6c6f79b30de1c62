// What the user has chosen, kept in the address of the page, so that a link restores it.

import { tokenize } from "./tokenizer.js";

export const TABS = ["similarity", "contexts", "map", "expectations", "characters", "tour"];
export const MAX_TOKENS = 1000; // of one text; views show fewer
export const AMONG = ["any", "same", "other"];
export const PLANES = ["pca", "umap"];

/** The state that an address describes; whatever is missing or makes no sense is as in `defaults`. */
export function readState(hash, defaults) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const weights = (given.get("w") ?? "").split(",").map(Number);
  const isSound = weights.length === defaults.weights.length && weights.every((weight) => weight >= 0 && weight <= 1);
  const oneOf = (name, choices, otherwise) => (choices.includes(given.get(name)) ? given.get(name) : otherwise);
  const number = (name, otherwise) => (/^\d{1,5}$/.test(given.get(name) ?? "") ? Number(given.get(name)) : otherwise);
  return {
    text: given.get("t") ?? defaults.text,
    sentence: number("s", defaults.sentence),
    index: number("i", defaults.index),
    tab: oneOf("v", TABS, defaults.tab),
    among: oneOf("a", AMONG, defaults.among),
    source: number("f", defaults.source),
    plane: oneOf("p", PLANES, defaults.plane),
    language: oneOf("l", ["en", "ko"], defaults.language),
    weights: isSound && weights.some((weight) => weight > 0) ? weights : defaults.weights,
  };
}

export function writeState(state) {
  return `#${new URLSearchParams({
    t: state.text,
    s: state.sentence,
    i: state.index,
    v: state.tab,
    a: state.among,
    f: state.source,
    p: state.plane,
    l: state.language,
    w: state.weights.map((weight) => Number(weight.toFixed(4))).join(","),
  })}`;
}

/** The weights s of equation 1: those of the sliders, scaled to a sum of 1. */
export function mixture(weights) {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** Tokens of each line of a text, lines without any left out: of as many whole lines as have MAX_TOKENS together. */
export function sentencesOf(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  const sentences = [];
  let numRead = 0;
  for (let room = MAX_TOKENS; numRead < lines.length; numRead++) {
    const tokens = tokenize(lines[numRead]);
    room -= tokens.length;
    if (room < 0) break;
    if (tokens.length) sentences.push(tokens);
  }
  return { sentences, numRead, numLines: lines.length };
}
