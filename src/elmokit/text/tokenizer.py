r"""Text -> sentences of tokens: like the Penn Treebank for English, eojeol for Korean, sensible for other languages.

The bundled models were trained on corpora with the same conventions. No visible character is dropped, added or
changed, except by these normalisations:

* The text becomes NFC. White space and control characters separate tokens. Invisible characters (soft hyphens,
  zero-width spaces, direction marks, lone surrogates) are removed, except the joiners of Arabic, Indic scripts and
  emoji; a zero-width space next to Thai, Lao, Khmer, Burmese or Tai letters separates tokens.
* Typographic quotes become `"` and `'`, and `''` becomes `"`. A dash becomes `--`, or `-` inside a word; the minus
  sign becomes `-`. An ellipsis or several periods become `...`. Ligatures such as fi and ffi become letters.
* A run of more than three equal marks (`!!!!!!`, `=======`) becomes three.

Korean text (at least one Hangul syllable or jamo per two Latin letters) keeps its quotes and dashes, and a run of one
mark is one token. A run of single jamo (ㅋㅋㅋㅋㅋ) becomes three.

Chinese and Japanese are split into Han characters and runs of kana. Thai, Lao, Khmer and Burmese are split only at
spaces, of any width. For these languages, pass the tokens of a segmenter instead of a string.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from elmokit.system.messages import printable


def tokenize(text: str) -> list[str]:
    """Tokens of a sentence or of any other text; an empty list for text without visible characters.

    Raises ValueError for anything but a string.

    >>> tokenize("I don't think it's $3.50 (5%), Mr. Fox.")
    ['I', 'do', "n't", 'think', 'it', "'s", '$', '3.50', '(', '5', '%', ')', ',', 'Mr.', 'Fox', '.']
    """
    if not isinstance(text, str):
        raise ValueError(f"the text is {printable(repr(text))}; expected a string")
    text = without_invisible(text)
    if _is_korean(text):
        return [match.group() for match in _korean_token().finditer(_KOREAN_RUN.sub(r"\1\1\1", text))]
    text = _with_plain_marks(text)
    for pattern, replacement in _spaces():
        text = pattern.sub(replacement, text)
    tokens = (match.group() for match in _token().finditer(text))
    return [_WHATEVER_LENGTH.get(token[:2], token) for token in tokens]


def split_sentences(text: str) -> list[str]:
    """Sentences of a text, unchanged. An empty line also ends a sentence; a single line end does not.

    No mark ends a sentence before a lower-case letter. A period does not end one after a title (Dr.), after the number
    of a list item, within a date, or before the number that an abbreviation announces (`Eq. 4`, `et al. (2012)`). After
    other abbreviations (Inc., U.S., J.) and German ordinals (am 3. Mai) it ends one only if the next word is one that
    often begins sentences. A semicolon after a Greek word is a question mark.
    Quotes that close a sentence, in any language, and footnote marks belong to the sentence before them.
    """
    sentences: list[str] = []
    for paragraph in _EMPTY_LINES.split(text):
        start = 0
        for match in _SENTENCE_END.finditer(paragraph):
            if _ends_sentence(paragraph, start, match):
                sentences.append(paragraph[start : match.end()].strip())
                start = match.end()
        sentences.append(paragraph[start:].strip())
    return [sentence for sentence in sentences if sentence]


PLAIN_MARKS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a\u2032\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2212", "-"),
        **dict.fromkeys("\u2013\u2014\u2015", " -- "),
        "\u2026": "...",
        **{chr(code): unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)},
    }
)
"""What the tokenizer makes of typographic marks."""
HANGUL = "가-힣\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\ud7b0-\ud7ff"
"""Syllables, single letters (ㅋ), and the jamo of archaic syllables, as the inside of a character class."""
HYPHENATION = re.compile(r"\u00ad[^\S\n]*\n[^\S\n]*")
"""A soft hyphen that breaks a word at a line end."""
_WHATEVER_LENGTH = {"..": "...", "--": "--"}

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_UNSEEN = "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
INVISIBLE = re.compile(
    f"[{_UNSEEN}]|(?<![\u0600-\u08ff\u0900-\u0dff\u2600-\u27bf\ufb50-\ufefc\ufe0f\U0001f000-\U0001faff])[\u200c\u200d]"
)
_UNSPACED = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf]"
_WORD_SPACE = re.compile(rf"(?<={_UNSPACED})\u200b|\u200b(?={_UNSPACED})")
_EN_DASH_IN_WORD = re.compile(r"(?<=\w)\u2013(?=\w)")
_MARK_RUN = re.compile(r"([!?*~=_+#])\1{3,}")
_HANGUL = re.compile(f"[{HANGUL}]")
_KOREAN_RUN = re.compile(r"([^\w\s]|[\u3131-\u318e])\1{3,}")


def without_invisible(text: str) -> str:
    """The text in NFC, without invisible characters, and with a space for control characters."""
    text = _CONTROL.sub(" ", text)
    return text if text.isascii() else unicodedata.normalize("NFC", INVISIBLE.sub("", _WORD_SPACE.sub(" ", text)))


def _with_plain_marks(text: str) -> str:
    if not text.isascii():
        text = _EN_DASH_IN_WORD.sub("-", text)
    text = text.translate(PLAIN_MARKS).replace("''", '"')
    return _MARK_RUN.sub(r"\1\1\1", unicodedata.normalize("NFC", text))  # a ligature may have carried an accent


def _is_korean(text: str) -> bool:
    """Whether a text has at least one Hangul syllable or jamo per two Latin letters."""
    if text.isascii():
        return False
    num_hangul = len(_HANGUL.findall(text))
    num_latin = sum(character.isascii() and character.isalpha() for character in text)
    return num_hangul > 0 and 2 * num_hangul >= num_latin


_WITH_MARKS = (0x300, 0x3400), (0xA000, 0xAC00), (0xFB00, 0x17000), (0x1B000, 0x1F000)
"""Where combining marks are: not among ideographs, Hangul syllables and characters for private use."""


@cache
def combining_marks() -> str:
    """Characters that belong to the one before, as the inside of a character class. To `re` they are not letters."""
    codes = [code for start, end in _WITH_MARKS for code in range(start, end)]
    marks = [code for code in codes if unicodedata.category(chr(code)).startswith("M")]
    within = set(marks)
    starts = [code for code in marks if code - 1 not in within]
    ends = [code for code in marks if code + 1 not in within]
    ranges = "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))
    return ranges + "\u200c\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef"


def _letter() -> str:
    """Pattern of a letter or digit, of a mark on one, or of an underscore that is still inside a word.

    Private-use characters are letters (of medieval Latin, or old Hangul), except in symbol fonts (U+F0xx).
    """
    return rf"[\w\ue000-\uefff\uf100-\uf8ff{combining_marks()}]"


def _symbol() -> str:
    """Pattern of any other visible character with its marks; emoji of several parts are one symbol."""
    marks = combining_marks()
    return rf"[^\w\s{marks}][{marks}]*(?:(?<=\u200d)[^\w\s{marks}][{marks}]*)*"


_TITLES = "Mr Mrs Ms Dr Prof Sen Rep Gov Gen Col Lt Capt Sgt Maj Adm Cmdr Rev Hon St Messrs Mme Mlle Mt Ft vs cf viz"
_ABBREVIATIONS = (
    "Jr Sr Inc Corp Co Cos Ltd Bros Jan Feb Aug Sept Oct Nov Dec etc Esq Ph Ave Blvd Rd Dept Univ Assn approx"
)
_BEFORE_NUMBERS = "No Nos Vol Fig Art Sec pp p"
_NUMBERED = (
    f"{_BEFORE_NUMBERS} Figs Eq Eqs Eqn Eqns Ref Refs Ch Chs Chap Tab Abb App Secs Sect Sects Def Thm Thms Lem Prop "
    "Cor Vols no nos Nr ca Ca al"
)
"""Words with a period that does not end a sentence before a number, also in brackets: `Eq. (4)`, `Kim et al. [2]`."""
_WITHIN_WORD = (
    r"(?:[-&/'\u055a-\u055f\u05f3\u05f4]|(?<=\w[lL])\u00b7(?=[lL]\w)"
    r"|(?<=[\u0591-\u05ea])\"(?=[\u05d0-\u05ea](?![\u05d0-\u05ea])))"
)
"""Marks before a letter of the same word, also in Armenian and Hebrew, Catalan `col·legi`, Hebrew acronyms (`צה"ל`)."""


@cache
def _spaces() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns of the places where spaces are put in before tokens are matched, with their replacements."""
    han = r"\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    return (
        (re.compile(rf"[{han}][{combining_marks()}]*"), r" \g<0> "),
        (re.compile(rf"[\u3041-\u309f][\u3041-\u309f\u30fc{combining_marks()}]*"), r" \g<0> "),
        (re.compile(r"(?<=[A-Za-z])(?=n't\b)|(?<=[^\W_])(?='(?:s|m|d|re|ve|ll)\b)", re.IGNORECASE), " "),
        (re.compile(r"\b(can)(not)\b", re.IGNORECASE), r"\1 \2"),
        (re.compile(r"(?<!\w)_+|_++(?!\w)"), r" \g<0> "),
    )


@cache
def _token() -> re.Pattern[str]:
    number_or_word = rf"{_letter()}+(?:(?<=\d)[.,:](?=\d){_letter()}+)*"
    return re.compile(
        r"(?:https?://|www\.)\S*[^\s.,;:!?'\")\]}>]"
        r"|\w[\w.+-]{0,63}@[\w-]+(?:\.[\w-]+)+"
        r"|(?:[A-Za-z]\.){2,}(?:-[^\W_]+)*"
        rf"|\b(?:{'|'.join(f'{_TITLES} {_ABBREVIATIONS}'.split())})\.(?=\W|$)"
        rf"|\b(?:{'|'.join(_BEFORE_NUMBERS.split())})\.(?=\s*\d)"
        r"|\b[A-Z]\.(?=\s+[A-Z])"
        r"|(?i:n't|'(?:s|m|d|re|ve|ll))\b"
        rf"|{number_or_word}(?:{_WITHIN_WORD}(?={_letter()}){number_or_word}|\.(?:com|org|net|edu|gov|co\.uk|tv)\b)*"
        r"|\.{2,}|-{2,}|[\U0001f1e6-\U0001f1ff]{2}"
        rf"|{_symbol()}"
    )


@cache
def _korean_token() -> re.Pattern[str]:
    letter = _letter()
    return re.compile(
        rf"{letter}+(?:(?:(?<=\d)[.,:](?=\d)|(?<=[A-Za-z0-9])[-'’.&@/+](?=[A-Za-z0-9])){letter}+)*"
        rf"|(?P<mark>[^\w\s{combining_marks()}])(?P=mark)+|[\U0001f1e6-\U0001f1ff]{{2}}|{_symbol()}"
    )


_EMPTY_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_MARKS = (
    r".!?…\u061f\u06d4\u0964\u0965\u0589\u1362\u1367\u1368\u037e\u0700-\u0702\u07f9\u0f0d\u0f0e\u104b\u17d4\u17d5\u1803\u1809"
    r"\u1c7e\u1c7f\u05c3\uabeb\ua9c8\ua9c9\u1b5a\u1b5b\u1b5e\u1b5f"
)
"""Ends of sentences before a space: of most scripts, then of Arabic, Urdu, Indic scripts, Armenian, Ethiopic, Greek,
Syriac, N'Ko, Tibetan, Burmese, Khmer, Mongolian, Ol Chiki, Hebrew, Meitei, Javanese, Balinese."""
_ETHIOPIC_STOP = r"\u1361\u1361|(?<=[\u1200-\u135f])::"  # typed as two word separators, or two colons
_GREEK_QUESTION_MARK = r"(?<=[\u0370-\u03ff\u1f00-\u1fff][\u0370-\u03ff\u1f00-\u1fff\u0301]);"
"""Unicode has a character for it, which NFC replaces by a semicolon. A single letter may be part of a formula."""
_FOOTNOTE = r"\[[a-z\d]{1,3}\]|[¹²³⁰-⁹*†‡]"
_CLOSING = rf"(?:[\"'”’“‘»«›‹)\]}}」』{_UNSEEN}]|[^\S\n][»›](?=\s|\Z)|{_FOOTNOTE})*+"
"""Marks that close a sentence before a space, also marks that open quotes in English, and French ones with a space."""
_SENTENCE_END = re.compile(
    rf"(?<![{_MARKS}])(?P<mark>(?:[{_MARKS}]|{_GREEK_QUESTION_MARK}|{_ETHIOPIC_STOP})++)"
    rf"[{_UNSEEN}]*+(?P<closing>{_CLOSING})(?=\s)"
    rf"|[。！？｡]+(?:[」』”’）\"')]|{_FOOTNOTE})*"
)
_OPENING = rf"\"'“‘„‚«»‹›(\[{_UNSEEN}"
_LAST_WORD = re.compile(rf"[^\s{_OPENING}]*\Z")
_NEXT_WORD = re.compile(rf"\s+[{_OPENING}]*(?P<first>\S)(?P<rest>\w*)(?P<stop>\.?)")
_QUOTATIVE = re.compile(r"\s+(?:하[고며는]|하면서|이?라[고는며]|이?라면서)(?!\w)")
"""Korean for "said" after direct speech, in the same sentence."""
_LIST_NUMBER = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[IVXivx]{1,4})\Z")
_GERMAN_ORDINAL = re.compile(r"\b(?i:d(?:er|ie|as|em|en|es)|am|im|vom|zum|zur|beim)\s+\d{1,2}\Z")
_ACRONYM = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]\Z")
_NEVER_LAST = (*_TITLES.split(), "e.g", "i.e")
_OFTEN_FIRST = (
    "The A An This That These Those There Here He She It They We You I His Her Its Their My Our Your In On At By For "
    "From To With As If When While After Before Since Although Though But And Or So Yet However Then Now Some Many "
    "Most All Both Each Every No Not What Who Why How Where Which"
)


def _ends_sentence(paragraph: str, start: int, end: re.Match[str]) -> bool:
    following = _NEXT_WORD.match(paragraph, end.end())
    if end["mark"] is None or following is None:
        return True
    if _is_lower_case(following["first"]) or following["first"] in ",;:":
        return False
    if end["closing"] and _QUOTATIVE.match(paragraph, end.end()):
        return False
    if end["mark"] != "." or end["closing"]:
        return True
    before = paragraph[max(start, end.start() - 40) : end.start()]
    found = _LAST_WORD.search(before)
    word = found.group() if found else ""
    if _LIST_NUMBER.match(before.strip()) and len(before) < 40:
        return False
    if following["first"].isdigit() and (word.isdigit() or word in _NUMBERED.split()):
        return False
    is_open = word in _ABBREVIATIONS.split() or (_ACRONYM.match(word) and word not in _NEVER_LAST)
    if is_open or _GERMAN_ORDINAL.search(before):
        return following["first"] + following["rest"] in _OFTEN_FIRST.split() and not following["stop"]
    return word not in _NEVER_LAST


def _is_lower_case(letter: str) -> bool:
    """Whether a letter is in lower case. Sentences in Georgian begin with letters that Unicode calls lower-case."""
    return letter.islower() and not "\u10d0" <= letter <= "\u10ff"
