"""Words that a hyphen breaks at a line end, as in scans of books: `submi-` and `ssive` (`prepare --join-hyphens`)."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from elmokit.system.progress_bar import counted, progress_bar
from elmokit.text.sentence_lines import read_raw_documents
from elmokit.text.tokenizer import combining_marks

_NOT_SIGN = re.compile(r"\u00ac[^\S\n]*\n[^\S\n]*")  # stands for a soft hyphen; the whole word is spelt without one
_HYPHEN = "[-\u2010\u2e17]"  # the last one is used in Fraktur
_BREAK = re.compile(rf"(?<=[^\W\d_])(?:{_HYPHEN}|\u00ac)[^\S\n]*\n[^\S\n]*(?=[^\W\d_])")

Halves = tuple[str, str]


@dataclass(frozen=True)
class BrokenWords:
    """The broken words of a text. If a word also occurs in one piece, it is joined as it is spelt there."""

    joints: Mapping[Halves, str]
    """Both halves, regardless of case -> what joins them: nothing, or a hyphen (`well-known`)."""
    num_found: int = 0
    num_joined: int = 0

    def join(self, text: str) -> str:
        """The text with these words in one piece; all others stay as they are."""
        return _broken_word().sub(self._joined, text) if self.joints else text

    def _joined(self, broken: re.Match[str]) -> str:
        joint = self.joints.get(_halves(broken))
        return broken[0] if joint is None else f"{broken[1]}{joint}{broken[2]}"


def num_broken_words(text: str) -> int:
    """Number of words in a text that a hyphen breaks at a line end, or that seem so."""
    return len(_BREAK.findall(text))


def find_broken_words(paths: Iterable[str | os.PathLike[str]], *, as_text: bool = False) -> BrokenWords:
    """Read raw text files twice: to find the broken words, and to count how often each occurs in one piece.

    A word is joined if it also occurs in one piece, or broken by `¬`. It loses its hyphen if it occurs more often
    without one than with one. The memory grows with the number of different broken words.
    """
    paths = list(paths)
    broken = Counter(
        _halves(found) for text in _texts(paths, as_text=as_text) for found in _broken_word().finditer(text)
    )
    uses = {spelling: 0 for halves in broken for spelling in ("".join(halves), "-".join(halves))}
    for text in _texts(paths, as_text=as_text):
        for spelling in _word().findall(re.sub(_HYPHEN, "-", _NOT_SIGN.sub("", _key(text)))):
            if spelling in uses:
                uses[spelling] += 1
    joints: dict[Halves, str] = {}
    for halves in broken:
        whole, hyphenated = uses["".join(halves)], uses["-".join(halves)]
        if whole or hyphenated:
            joints[halves] = "" if whole > hyphenated else "-"
    return BrokenWords(joints, broken.total(), sum(broken[halves] for halves in joints))


def _halves(broken: re.Match[str]) -> Halves:
    return _key(broken[1]), _key(broken[2])


def _key(text: str) -> str:
    return unicodedata.normalize("NFC", text.casefold())


@cache
def _broken_word() -> re.Pattern[str]:
    letters = _letters()
    before = rf"(?<![^\W\d_])(?<![{combining_marks()}])"
    return re.compile(rf"{before}({letters})(?:{_HYPHEN}|\u00ac)[^\S\n]*\n[^\S\n]*({letters})")


@cache
def _word() -> re.Pattern[str]:
    return re.compile(rf"{_letters()}(?:-{_letters()})*")


def _letters() -> str:
    return rf"[^\W\d_]++(?:[{combining_marks()}]++[^\W\d_]*+)*+"


def _texts(paths: Iterable[str | os.PathLike[str]], *, as_text: bool) -> Iterator[str]:
    texts = (text for path in paths for _, text in read_raw_documents(path, as_text=as_text))
    return counted(texts, progress_bar(unit=" documents", label="hyphens", keep=False, scale=True))
