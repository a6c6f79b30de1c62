"""Warnings about the input, each given once per model: truncated tokens, and text unlike what the model has read.

Such text is in another script, not in NFC, without capitals and marks, or has marks of the Penn Treebank, special
tokens of other models, or tokens that are empty or contain spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from elmokit.files.lines import NOT_IN_A_TOKEN
from elmokit.system.messages import printable, warn_caller
from elmokit.text.corpora.cells import TREEBANK_MARKS
from elmokit.text.plain_text import MARKER, OF_MARKERS

if TYPE_CHECKING:
    from elmokit.text.indexer import Spelling
    from elmokit.text.vocabulary import Vocabulary

NUM_FREQUENT_TOKENS = 1000
"""Number of tokens of a vocabulary that show which scripts a model has read."""
NUM_TOKENS_LOOKED_AT = 1000
"""Number of tokens that show in which script a text is written."""
MIN_SHARE = 0.05
"""A script with a smaller share of the letters of the frequent tokens counts as unread: mini-ko has read few Latin
words."""
BUNDLED_SCRIPTS = {"LATIN": "small-en", "HANGUL": "mini-ko"}
"""The bundled models, by the script that they have read most."""

MORE_UNKNOWN = 0.25
"""So much more than in the text of a model is far above it: German, Latin and Portuguese text has 0.38 to 0.6 for
small-en, and its held-out text 0.021."""
MIN_TOKENS = 100
"""Fewer tokens do not show how many are unknown."""

NUM_MOST_FREQUENT = 100
"""Number of tokens of a vocabulary that show whether a model has read capitals and marks."""
LEAST_BARE_TOKENS = 300
"""A shorter text may have neither by chance."""
MARKS = frozenset(".,?!")

_MARKER = re.compile(MARKER)
_MAX_SHOWN = 40
_NAMES = {"CJK": "Chinese characters"}


@dataclass
class TextWarnings:
    """Warns of each thing at most once."""

    spelling: Spelling
    vocabulary: Vocabulary | None
    name: str
    unknown_share: float | None = None
    """Share of the tokens of the model's own text, held out if there was some, that its vocabulary lacks."""
    warned: set[str] = field(default_factory=set[str])
    """The things that it has warned of."""

    def check(self, sentences: Sequence[Sequence[str]]) -> None:
        """Look at sentences that are about to be encoded."""
        for look in (
            self._cut_tokens,
            self._unread_script,
            self._unknown_tokens,
            self._decomposed_tokens,
            self._escaped_marks,
            self._bare_words,
            _special_tokens,
            _not_single_tokens,
        ):
            if look.__name__ not in self.warned and (text := look(sentences)) is not None:
                self.warned.add(look.__name__)
                warn_caller(f"{text} (this warning is shown once)")

    def _cut_tokens(self, sentences: Sequence[Sequence[str]]) -> str | None:
        """A limit of 48 bytes is only 16 Korean syllables."""
        num_cut = sum(map(self.spelling.num_cut, sentences))
        if not num_cut:
            return None
        return (
            f"{num_cut:,} of {sum(map(len, sentences)):,} tokens are longer than the {self.spelling.limit} that this "
            "model reads; the rest of each is ignored"
        )

    def _unread_script(self, sentences: Sequence[Sequence[str]]) -> str | None:
        """The script of most letters at the start of a text, of which the vocabulary has hardly any."""
        counts = script_counts(islice((token for tokens in sentences for token in tokens), NUM_TOKENS_LOOKED_AT))
        if self.vocabulary is None or not counts:
            return None
        script = next(iter(counts))
        read = _letters_of(tuple(islice(self.vocabulary.tokens, NUM_FREQUENT_TOKENS)))
        if 2 * counts[script] <= counts.total() or read[script] >= MIN_SHARE * read.total():
            return None
        shown = _NAMES.get(script, script.title())
        advice = "train a model on such text (docs/pretraining.md)"
        if script in BUNDLED_SCRIPTS:
            advice = f"use {BUNDLED_SCRIPTS[script]}, which was trained on it"
        return f"most of this text is written in {shown}, of which {self.name} has read almost nothing; {advice}"

    def _unknown_tokens(self, sentences: Sequence[Sequence[str]]) -> str | None:
        """Tokens that are not in the vocabulary, far more than in the text of the model: another language."""
        expected = self.unknown_share
        tokens = list(islice((token for tokens in sentences for token in tokens), NUM_TOKENS_LOOKED_AT))
        if expected is None or self.vocabulary is None or len(tokens) < MIN_TOKENS or self._unread_script(sentences):
            return None
        share = sum(token not in self.vocabulary for token in tokens) / len(tokens)
        if share <= expected + MORE_UNKNOWN:
            return None
        return (
            f"{share:.0%} of the first {len(tokens):,} tokens are not in the vocabulary of {self.name}, compared with "
            f"{expected:.0%} of its own text; if the text is in another language, use a model of that language "
            "(docs/pretraining.md)"
        )

    def _decomposed_tokens(self, sentences: Sequence[Sequence[str]]) -> str | None:
        """`tokenize` gives NFC; macOS and some corpora have NFD, whose bytes are those of other words."""
        if self.vocabulary is None:
            return None
        number = num_decomposed(token for tokens in sentences for token in tokens)
        if not number or num_decomposed(self.vocabulary.tokens[:NUM_FREQUENT_TOKENS]):
            return None
        return (
            f"{number:,} of {sum(map(len, sentences)):,} tokens are not in Unicode NFC, such as syllables in NFD, and "
            f"{self.name} has read only NFC; normalise the text with unicodedata.normalize('NFC', text)"
        )

    def _escaped_marks(self, sentences: Sequence[Sequence[str]]) -> str | None:
        """`-LRB-` of the Penn Treebank, where the vocabulary has `(`."""
        if self.vocabulary is None:
            return None
        for token in (token for tokens in sentences for token in tokens):
            mark = TREEBANK_MARKS.get(token)
            if mark is not None and mark in self.vocabulary and token not in self.vocabulary:
                return (
                    f"the text has marks as the Penn Treebank writes them, such as {token}, where {self.name} has "
                    f"read {mark}; replace them"
                )
        return None

    def _bare_words(self, sentences: Sequence[Sequence[str]]) -> str | None:
        """Text that was prepared as for word2vec, in lower case and without marks."""
        tokens = list(islice((token for tokens in sentences for token in tokens), NUM_TOKENS_LOOKED_AT))
        if self.vocabulary is None or len(tokens) < LEAST_BARE_TOKENS or _has_capitals_or_marks(tokens):
            return None
        frequent = self.vocabulary.tokens[:NUM_MOST_FREQUENT]
        if not (any(map(_is_capitalised, frequent)) and not MARKS.isdisjoint(frequent)):
            return None
        return (
            f"the text has neither capitals nor marks (. , ? !), but {self.name} has read running text, which has "
            "both; give it the text as it was written"
        )


def _has_capitals_or_marks(tokens: Iterable[str]) -> bool:
    return any(token in MARKS or _is_capitalised(token) for token in tokens)


def _is_capitalised(token: str) -> bool:
    return token[:1].isupper() and not token.startswith("<")


def _special_tokens(sentences: Sequence[Sequence[str]]) -> str | None:
    """`<s>`, `[CLS]`, `<unk>`, which are not words to any model."""
    found = [token for tokens in sentences for token in tokens if token[:1] in ("<", "[") and _MARKER.fullmatch(token)]
    if not found:
        return None
    return f"{len(found):,} of {sum(map(len, sentences)):,} tokens, such as {found[0]}, are {OF_MARKERS}"


def _not_single_tokens(sentences: Sequence[Sequence[str]]) -> str | None:
    """No model has read such tokens, and no file has them: lines are split at spaces and tabs."""
    found = [token for tokens in sentences for token in tokens if not token or not NOT_IN_A_TOKEN.isdisjoint(token)]
    if not found:
        return None
    return (
        f"{len(found):,} of {sum(map(len, sentences)):,} tokens are empty or contain spaces, such as "
        f"{printable(repr(found[0]), most=_MAX_SHOWN)}; no model has read such tokens: give sentences as strings, or "
        "as lists with one string for each token"
    )


def num_decomposed(tokens: Iterable[str]) -> int:
    """Number of tokens that are not in NFC."""
    return sum(not unicodedata.is_normalized("NFC", token) for token in tokens)


def script_counts(tokens: Iterable[str]) -> Counter[str]:
    """Number of letters of each script: `LATIN`, `HANGUL`, `CYRILLIC`, `CJK`, ..., the most frequent scripts first."""
    counts = Counter(character for token in tokens for character in token if character.isalpha())
    scripts: Counter[str] = Counter()
    for character, number in counts.items():
        scripts[_script(character)] += number
    return Counter(dict(scripts.most_common()))


_letters_of = lru_cache(maxsize=16)(script_counts)  # which takes longer than to encode a sentence


@cache
def _script(letter: str) -> str:
    """The first word of a letter's name in Unicode: `HANGUL` of `HANGUL SYLLABLE GA`."""
    return unicodedata.name(letter, "UNNAMED").split(" ")[0].split("-")[0]
