"""Results of a sense study as words and shades, for the page, the picture and the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elmokit.analysis.polysemes import senses_of, words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elmokit.analysis.sense_study import SenseStudy

_NUMERALS = {2: "two", 3: "three"}


def extent(study: SenseStudy) -> str:
    """The size of the study in words: `24 words of two senses`."""
    words = words_of(study.occurrences)
    numbers = sorted({len(senses_of(word, study.occurrences)) for word in words})
    return f"{len(words)} words of {' or '.join(_NUMERALS.get(number, str(number)) for number in numbers)} senses"


def nearest_share(study: SenseStudy, word: str) -> str:
    """The share of a word's occurrences whose nearest one, by the top layer, has the same sense: `15/16`."""
    rate = study.top.nearest_rate(study.members(word))
    return f"{round(rate.correct, 1):g}/{rate.total}"


def shades(cosines: NDArray[np.float64], *, number: int) -> list[list[int]]:
    """Each cosine (N,N) as a shade from 0 to number - 1; the range is that of the cosines of different occurrences."""
    others = cosines[~np.eye(len(cosines), dtype=bool)]
    spread = max(float(others.max() - others.min()), 1e-6)
    levels = np.floor((cosines - others.min()) / spread * number)
    return np.clip(levels, 0, number - 1).astype(np.int64).tolist()
