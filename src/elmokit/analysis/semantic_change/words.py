"""Chooses the words to measure: the user's words with their forms, or all words that are frequent in both corpora."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from elmokit.files.lines import split_tokens
from elmokit.system.messages import printable
from elmokit.text.tokenizer import tokenize

Forms = dict[str, tuple[str, ...]]
"""The forms of each word, by its name. The name is the first form."""


StopWords = Literal["en"] | Collection[str]
"""Words to leave out of the most frequent words; `en` is `ENGLISH_STOP_WORDS`."""

_ENGLISH = (
    "a an the this that these those some any no every each all both either neither another other such many much more "
    "most few little less least several own same what which who whom whose when where why how there here then now "
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself "
    "we us our ours ourselves they them their theirs themselves one ones oneself thou thee thy "
    "be am is are was were been being do does did done doing have has had having will would shall should can could may "
    "might must ought need 's 're 've 'll 'd 'm n't ca wo not nor "
    "and or but if because as until while although though since unless whether than so yet "
    "of at by for with about against between among into through during before after above below to from up down in out "
    "on off over under upon within without toward towards across along around behind beside besides beyond near per "
    "via again further once just only also very too quite rather even ever never still already always perhaps "
)
ENGLISH_STOP_WORDS = frozenset(_ENGLISH.split())
"""Words of closed classes and frequent adverbs, in lower case, as the tokenizer splits them. The list is ours."""

_MAX_SHOWN = 60
_AFTER = ("", "1", "A", "A 가")
"""Text that can follow a word which is one token: `No.` before a number, `J.` before a name, `天地` in Korean."""
_AROUND = "\r\n\u00a0\u00ad\u200b\u200e\u200f\ufeff"
"""Invisible characters around lines of files and copied words."""
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)*%?|[+-]?\d*\.\d+([eE][+-]?\d+)?")


def spelling(token: str, *, ignore_case: bool) -> str:
    """The spelling by which tokens are compared: NFC, because some corpora are in NFD, or NFC in lower case."""
    token = token if token.isascii() else unicodedata.normalize("NFC", token)
    return token.lower() if ignore_case else token


def parse_words(
    lines: Iterable[str], *, ignore_case: bool = False, raw_text: bool = False, patterns: bool = False
) -> Forms:
    """Parse words, one per line: `mouse`, or a word with all forms that count as its uses: `mouse mice`.

    raw_text: spell the forms as the tokenizer spells the tokens of raw text. Blank lines are skipped.
    patterns: the forms are regular expressions, such as `linhas?`, and stay as they are.
    Raises ValueError, naming the line, for a form that an earlier line has or that the tokenizer splits, for a comment,
    a count or the number of the line among the forms, and for a line that is not a string. Also raises it for an empty
    list and for a string instead of lines.
    """
    if isinstance(lines, str):
        raise ValueError(f"the words are the string {printable(lines)!r}; expected a list of words")
    words: Forms = {}
    known: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, str):
            raise ValueError(f"line {number} of the words is {printable(repr(line))}; expected a string")
        line = unicodedata.normalize("NFC", line.strip(_AROUND))
        (_check_are_patterns if patterns else _check_are_forms)(split_tokens(line), number)
        distinct: dict[str, str] = {}
        for form in _spelt(line, number) if raw_text and not patterns else split_tokens(line):
            distinct.setdefault(spelling(form, ignore_case=ignore_case), form)
        forms = tuple(distinct.values())
        for key, form in distinct.items():
            if key in known:
                raise ValueError(
                    f"line {number} of the words repeats {printable(form)!r} from line {known[key]}; expected each "
                    "form only once"
                )
            known[key] = number
        if forms:
            words[forms[0]] = forms
    if not words:
        raise ValueError("no words were given; expected one per line, followed by its other forms, if any")
    return words


def _check_are_patterns(forms: list[str], number: int) -> None:
    for form in forms:
        try:
            re.compile(form)
        except re.error as error:
            raise ValueError(
                f"line {number} of the words: {printable(form)!r} is not a regular expression: {error}"
            ) from None


def _check_are_forms(forms: list[str], number: int) -> None:
    """Raise ValueError for a comment, a count or a line number, which would count as forms of the word."""
    if len(forms) < 2:
        return
    has_count = any(map(_NUMBER.fullmatch, forms)) and not _NUMBER.fullmatch(forms[0])
    if "#" in forms or forms[0].rstrip(".)") == str(number) or has_count:
        shown = printable(" ".join(forms), limit=_MAX_SHOWN)
        raise ValueError(
            f"line {number} of the words is {shown!r}; expected a word and its other forms, separated by spaces, "
            "without comments, counts or line numbers"
        )


def frequent_words(
    first: Mapping[str, int],
    second: Mapping[str, int],
    *,
    most: int,
    min_count: int,
    stop_words: Collection[str] = frozenset(),
) -> Forms:
    """The most frequent words of two corpora, from their counts. A word ranks by its count where it is rarer.

    Only tokens with a letter are words.
    stop_words: words to leave out, in lower case, as `stop_list` returns them.
    Raises ValueError if no word occurs `min_count` times in both.
    """
    common = {
        word: min(count, second[word])
        for word, count in first.items()
        if word in second
        and any(map(str.isalpha, word))
        and min(count, second[word]) >= min_count
        and word.lower() not in stop_words
    }
    if not common:
        others = "no word except stop words" if stop_words else "no word"
        raise ValueError(f"{others} occurs at least {min_count} times in both corpora; lower the count, or give words")
    chosen = sorted(common, key=lambda word: (-common[word], word))[:most]
    return {word: (word,) for word in chosen}


def stop_list(stop_words: StopWords) -> frozenset[str]:
    """Stop words in lower case and NFC; they match in any case. Raises ValueError for a string other than `en`."""
    if isinstance(stop_words, str):
        if stop_words != "en":
            raise ValueError(f"stop_words is {printable(repr(stop_words))}; expected 'en', or a list of words")
        return ENGLISH_STOP_WORDS
    return frozenset(spelling(word, ignore_case=True) for word in stop_words)


def count_tokens(sentences: Iterable[Iterable[str]], *, ignore_case: bool = False) -> Counter[str]:
    """How often each token occurs; the memory grows with the number of different tokens."""
    counts: Counter[str] = Counter()
    for tokens in sentences:
        counts.update(spelling(token, ignore_case=ignore_case) for token in tokens)
    return counts


def _spelt(line: str, number: int) -> list[str]:
    forms: list[str] = []
    for form in split_tokens(line):
        in_texts = [(tokenize(f"{form} {after}"), after.split()) for after in _AFTER]
        spelt = [tokens[0] for tokens, after in in_texts if tokens and tokens[1:] == after]
        if not spelt:
            raise ValueError(
                f"line {number} of the words has {printable(form)!r}, which the tokenizer splits into "
                f"{len(tokenize(form))} tokens; expected forms that are one token each"
            )
        forms.append(spelt[0])
    return forms
