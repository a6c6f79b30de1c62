// Tokens -> character ids, as in elmokit/text/characters.py: UTF-8 bytes between word boundaries, all shifted by one.

export const BEGIN_SENTENCE = "<S>";
export const END_SENTENCE = "</S>";
const BOUNDARIES = new Map([[BEGIN_SENTENCE, 256], [END_SENTENCE, 257]]);
const BEGIN_WORD = 258;
const END_WORD = 259;
const PADDING = 260;
const SHIFT = 1; // a row of zeros is the padding token

/** The ids of a token up to the end of the word, without padding. */
export function characterIds(token, maxCharacters) {
  const bytes = BOUNDARIES.has(token) ? [BOUNDARIES.get(token)] : [...encode(token)].slice(0, maxCharacters - 2);
  return [BEGIN_WORD, ...bytes, END_WORD].map((id) => id + SHIFT);
}

export const PADDING_ID = PADDING + SHIFT;

/** The UTF-8 bytes of a token, without lone surrogates, which UTF-8 cannot encode. */
function encode(token) {
  return new TextEncoder().encode(token.replace(/\p{Surrogate}/gu, ""));
}
