// Text -> tokens, as elmokit/text/tokenizer.py makes them. The same tests check that both give the same tokens.
//
// Python's \w, \s, \d and \b are written out, because JavaScript's match other characters.

const W = "\\p{L}\\p{N}_"; // \w, inside a character class
const S = "\\s\\x85"; // \s
const D = "\\p{Nd}"; // \d
const M = "\\p{M}\\u200c\\u200d\\u{1f3fb}-\\u{1f3ff}\\u{e0020}-\\u{e007f}\\u{e0100}-\\u{e01ef}"; // marks on the one before
const B = `(?:(?<=[${W}])(?![${W}])|(?<![${W}])(?=[${W}]))`; // \b
const LETTER = `[${W}\\ue000-\\uefff\\uf100-\\uf8ff${M}]`;
const SYMBOL = `[^${W}${S}${M}][${M}]*(?:(?<=\\u200d)[^${W}${S}${M}][${M}]*)*`;
const HAN = "\\u3005-\\u3007\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
const CLITIC = "[sS\\u017f]|[mM]|[dD]|[rR][eE]|[vV][eE]|[lL][lL]";

const TITLES = "Mr Mrs Ms Dr Prof Sen Rep Gov Gen Col Lt Capt Sgt Maj Adm Cmdr Rev Hon St Messrs Mme Mlle Mt Ft vs cf viz";
const ABBREVIATIONS =
  "Jr Sr Inc Corp Co Cos Ltd Bros Jan Feb Aug Sept Oct Nov Dec etc Esq Ph Ave Blvd Rd Dept Univ Assn approx";
const BEFORE_NUMBERS = "No Nos Vol Fig Art Sec pp p";
const anyOf = (...words) => words.join(" ").split(" ").join("|");
const pattern = (source, flags = "") => new RegExp(source, `gu${flags}`);

const CONTROL = /[\x00-\x1f\x7f-\x9f]+/g;
const INVISIBLE = pattern(
  "[\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\p{Cs}]" +
    "|(?<![\\u0600-\\u08ff\\u0900-\\u0dff\\u2600-\\u27bf\\ufb50-\\ufefc\\ufe0f\\u{1f000}-\\u{1faff}])[\\u200c\\u200d]",
);
const UNSPACED = "[\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u1950-\\u19ff\\u1a20-\\u1aaf\\ua9e0-\\ua9ff\\uaa60-\\uaadf]";
const WORD_SPACE = pattern(`(?<=${UNSPACED})\\u200b|\\u200b(?=${UNSPACED})`);
const EN_DASH_IN_WORD = pattern(`(?<=[${W}])\\u2013(?=[${W}])`);
const MARK_RUN = /([!?*~=_+#])\1{3,}/g;
const KOREAN_RUN = pattern(`([^${W}${S}]|[\\u3131-\\u318e])\\1{3,}`);
const PLAIN_MARKS = new Map([
  ...[..."\u2018\u2019\u201a\u201b\u2039\u203a\u2032\u00b4`"].map((mark) => [mark, "'"]),
  ...[..."\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"].map((mark) => [mark, '"']),
  ...[..."\u2010\u2011\u2012\u2212"].map((mark) => [mark, "-"]),
  ...[..."\u2013\u2014\u2015"].map((mark) => [mark, " -- "]),
  ["\u2026", "..."],
  ...[..."\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06"].map((mark) => [mark, mark.normalize("NFKC")]),
]);
const PLAIN_MARK = new RegExp(`[${[...PLAIN_MARKS.keys()].join("")}]`, "gu");
const WHATEVER_LENGTH = new Map([["..", "..."], ["--", "--"]]);

const SPACES = [
  [pattern(`[${HAN}][${M}]*`), " $& "],
  [pattern(`[\\u3041-\\u309f][\\u3041-\\u309f\\u30fc${M}]*`), " $& "],
  [pattern(`(?<=[A-Za-z\\u0130\\u0131\\u017f\\u212a])(?=[nN]'[tT]${B})|(?<=[\\p{L}\\p{N}])(?='(?:${CLITIC})${B})`), " "],
  [pattern(`${B}([cC][aA][nN])([nN][oO][tT])${B}`), "$1 $2"],
  [pattern(`(?<![${W}])_+|_+(?![${W}])`), " $& "],
];

const WITHIN_WORD =
  `(?:[\\-&/'\\u055a-\\u055f\\u05f3\\u05f4]|(?<=[${W}][lL])\\u00b7(?=[lL][${W}])` +
  '|(?<=[\\u0591-\\u05ea])"(?=[\\u05d0-\\u05ea](?![\\u05d0-\\u05ea])))';
const NUMBER_OR_WORD = `${LETTER}+(?:(?<=${D})[.,:](?=${D})${LETTER}+)*`;
const TOKEN = pattern(
  [
    `(?:https?://|www\\.)[^${S}]*[^${S}.,;:!?'")\\]\\}>]`,
    `[${W}][${W}.+\\-]{0,63}@[${W}\\-]+(?:\\.[${W}\\-]+)+`,
    "(?:[A-Za-z]\\.){2,}(?:-[\\p{L}\\p{N}]+)*",
    `${B}(?:${anyOf(TITLES, ABBREVIATIONS)})\\.(?=[^${W}]|$)`,
    `${B}(?:${anyOf(BEFORE_NUMBERS)})\\.(?=[${S}]*${D})`,
    `${B}[A-Z]\\.(?=[${S}]+[A-Z])`,
    `(?:[nN]'[tT]|'(?:${CLITIC}))${B}`,
    `${NUMBER_OR_WORD}(?:${WITHIN_WORD}(?=${LETTER})${NUMBER_OR_WORD}|\\.(?:com|org|net|edu|gov|co\\.uk|tv)${B})*`,
    "\\.{2,}",
    "-{2,}",
    "[\\u{1f1e6}-\\u{1f1ff}]{2}",
    SYMBOL,
  ].join("|"),
);
const KOREAN_TOKEN = pattern(
  `${LETTER}+(?:(?:(?<=${D})[.,:](?=${D})|(?<=[A-Za-z0-9])[\\-'’.&@/+](?=[A-Za-z0-9]))${LETTER}+)*` +
    `|(?<mark>[^${W}${S}${M}])\\k<mark>+|[\\u{1f1e6}-\\u{1f1ff}]{2}|${SYMBOL}`,
);

const isAscii = (text) => !/[^\x00-\x7f]/.test(text);

function isKorean(text) {
  const hangul = (text.match(/[가-힣\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\ud7b0-\ud7ff]/g) ?? []).length;
  return hangul > 0 && 2 * hangul >= (text.match(/[A-Za-z]/g) ?? []).length;
}

function withPlainMarks(text) {
  const joined = text.replace(EN_DASH_IN_WORD, "-").replace(PLAIN_MARK, (mark) => PLAIN_MARKS.get(mark));
  return joined.replaceAll("''", '"').normalize("NFC").replace(MARK_RUN, "$1$1$1");
}

/** Tokens of a text; an empty list for text without visible characters. */
export function tokenize(text) {
  text = text.replace(CONTROL, " ");
  if (!isAscii(text)) text = text.replace(WORD_SPACE, " ").replace(INVISIBLE, "").normalize("NFC");
  if (isKorean(text)) return text.replace(KOREAN_RUN, "$1$1$1").match(KOREAN_TOKEN) ?? [];
  text = withPlainMarks(text);
  for (const [place, replacement] of SPACES) text = text.replace(place, replacement);
  return (text.match(TOKEN) ?? []).map((token) => WHATEVER_LENGTH.get(token.slice(0, 2)) ?? token);
}
