"""Warnings about the input, each given once per model: truncated tokens, and text unlike the training text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING

from elmokit.files.lines import NOT_IN_A_TOKEN
from elmokit.system.messages import printable, warn_caller
from elmokit.text.corpora.cells import TREEBANK_MARKS
from elmokit.text.plain_text import MARKER, OF_MARKERS

if TYPE_CHECKING:
    from elmokit.text.spelling import Spelling
    from elmokit.text.vocabulary import Vocabulary

NUM_FREQUENT_TOKENS = 1000
"""Number of tokens at the start of a vocabulary that show which scripts a model has read."""
NUM_TOKENS_LOOKED_AT = 1000
"""Number of tokens at the start of a text that show its script and its language."""
MIN_SHARE = 0.05
"""A script with a smaller share of the letters counts as unread: mini-ko has read few Latin words."""
BUNDLED_SCRIPTS = {"LATIN": "small-en", "HANGUL": "mini-ko"}
"""The bundled models, by the script that they have read most."""
MORE_UNKNOWN = 0.25
"""Warn if the share of unknown tokens is this much higher than in the model's own text. For small-en, German, Latin and
Portuguese text has 0.38 to 0.6, its held-out text 0.021."""
MIN_TOKENS, LEAST_BARE_TOKENS = 100, 300
"""Fewer tokens say too little about the share of unknown tokens, or may lack capitals and marks by chance."""
MARKS = frozenset(".,?!")
_MARKER = re.compile(MARKER)


@dataclass
class TextWarnings:
    """Gives each warning at most once."""

    spelling: Spelling
    vocabulary: Vocabulary | None
    name: str
    unknown_share: float | None = None
    """Share of unknown tokens in the model's own text, which is held-out text if there was some."""
    warned: set[str] = field(default_factory=set[str])
    """The checks that have already warned."""

    def check(self, sentences: Iterable[Sequence[str]]) -> None:
        """Look at sentences that are about to be encoded."""
        tokens = [token for sentence in sentences for token in sentence]
        of_vocabulary = () if self.vocabulary is None else (_script, _unknown, _decomposed, _escaped_marks, _bare_words)
        for look in (_cut, *of_vocabulary, _special_tokens, _not_single):
            if look.__name__ not in self.warned and (text := look(self, tokens)) is not None:
                self.warned.add(look.__name__)
                warn_caller(f"{text} (this warning is shown once)")

    @cached_property
    def frequent(self) -> list[str]:
        """The tokens at the start of the vocabulary."""
        return [] if self.vocabulary is None else list(self.vocabulary.tokens[:NUM_FREQUENT_TOKENS])

    @cached_property
    def letters(self) -> Counter[str]:
        """Letters that the model has read, by script."""
        return script_counts(self.frequent)


def _cut(model: TextWarnings, tokens: list[str]) -> str | None:
    number = model.spelling.num_cut(tokens)  # 48 bytes are only 16 Korean syllables
    if not number:
        return None
    what = f"are longer than the {model.spelling.limit} that this model reads; the rest of each is ignored"
    return f"{number:,} of {len(tokens):,} tokens {what}"


def _script(model: TextWarnings, tokens: list[str]) -> str | None:
    """Most letters at the start of the text are in a script that is rare in the vocabulary."""
    counts = script_counts(tokens[:NUM_TOKENS_LOOKED_AT])
    script = next(iter(counts), "")
    if 2 * counts[script] <= counts.total() or model.letters[script] >= MIN_SHARE * model.letters.total():
        return None
    bundled = BUNDLED_SCRIPTS.get(script)
    advice = (
        f"use {bundled}, which was trained on it" if bundled else "train a model on such text (docs/pretraining.md)"
    )
    shown = "Chinese characters" if script == "CJK" else script.title()
    return f"most of this text is written in {shown}, but {model.name} was trained on almost no {shown}; {advice}"


def _unknown(model: TextWarnings, tokens: list[str]) -> str | None:
    """Far more tokens are unknown than in the model's own text: it may be another language."""
    known, tokens = model.vocabulary, tokens[:NUM_TOKENS_LOOKED_AT]
    expected = model.unknown_share
    if expected is None or known is None or len(tokens) < MIN_TOKENS:
        return None
    share = sum(token not in known for token in tokens) / len(tokens)
    if share <= expected + MORE_UNKNOWN or _script(model, tokens) is not None:
        return None
    return (
        f"{share:.0%} of the first {len(tokens):,} tokens are not in the vocabulary of {model.name}, compared with "
        f"{expected:.0%} in text like its training text; if the text is in another language, use a model of that "
        "language (docs/pretraining.md)"
    )


def _decomposed(model: TextWarnings, tokens: list[str]) -> str | None:
    """`tokenize` gives NFC. macOS and some corpora use NFD, so the same word has other bytes."""
    found = [token for token in tokens if not unicodedata.is_normalized("NFC", token)]
    if not found or not all(unicodedata.is_normalized("NFC", token) for token in model.frequent):
        return None
    return (
        f"{len(found):,} of {len(tokens):,} tokens are not in Unicode NFC, such as syllables in NFD, but "
        f"{model.name} was trained on NFC; normalise the text with unicodedata.normalize('NFC', text)"
    )


def _escaped_marks(model: TextWarnings, tokens: list[str]) -> str | None:
    """`-LRB-` of the Penn Treebank, where the vocabulary has `(`."""
    known, written = model.vocabulary, set(TREEBANK_MARKS).intersection(tokens)
    if known is None or not written:
        return None
    for token, mark in TREEBANK_MARKS.items():
        if token in written and mark in known and token not in known:
            said = f"the text has marks of the Penn Treebank, such as {token}"
            return f"{said}, but {model.name} was trained on {mark}; replace them"
    return None


def _bare_words(model: TextWarnings, tokens: list[str]) -> str | None:
    """Text prepared as for word2vec: in lower case and without punctuation."""
    tokens, frequent = tokens[:NUM_TOKENS_LOOKED_AT], model.frequent[:100]
    if len(tokens) < LEAST_BARE_TOKENS or _has_capitals(tokens) or not MARKS.isdisjoint(tokens):
        return None
    if not _has_capitals(frequent) or MARKS.isdisjoint(frequent):
        return None
    read = f"{model.name} was trained on text with both; give it the text as it was written"
    return f"the text has neither capitals nor marks (. , ? !), but {read}"


def _has_capitals(tokens: list[str]) -> bool:
    return any(token[:1].isupper() and not token.startswith("<") for token in tokens)


def _special_tokens(model: TextWarnings, tokens: list[str]) -> str | None:
    """`<s>`, `[CLS]`, `<unk>`, which are not words to any model."""
    found = [token for token in tokens if token[:1] in ("<", "[") and _MARKER.fullmatch(token)]
    return f"{len(found):,} of {len(tokens):,} tokens, such as {found[0]}, are {OF_MARKERS}" if found else None


def _not_single(model: TextWarnings, tokens: list[str]) -> str | None:
    """No model has read empty tokens or tokens with spaces. Files have none: lines are split at spaces and tabs."""
    found = [token for token in tokens if not token or not NOT_IN_A_TOKEN.isdisjoint(token)]
    if not found:
        return None
    return (
        f"{len(found):,} of {len(tokens):,} tokens are empty or contain spaces, such as "
        f"{printable(repr(found[0]), limit=40)}; no model was trained on such tokens: give sentences as strings, or as "
        "lists with one string for each token"
    )


def script_counts(tokens: Iterable[str]) -> Counter[str]:
    """Number of letters of each script: `LATIN`, `HANGUL`, `CYRILLIC`, `CJK`, ..., the most frequent scripts first."""
    scripts: Counter[str] = Counter()
    for character, number in Counter(filter(str.isalpha, "".join(tokens))).items():
        scripts[_script_of(character)] += number
    return Counter(dict(scripts.most_common()))


@cache
def _script_of(letter: str) -> str:
    """The first word of a letter's name in Unicode: `HANGUL` of `HANGUL SYLLABLE GA`."""
    return unicodedata.name(letter, "UNNAMED").split(" ")[0].split("-")[0]
