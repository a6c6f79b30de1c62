"""BLEU of a corpus against one reference each (Papineni et al., 2002): up to four tokens, no smoothing.

As in multi-bleu.perl: precisions are pooled over the corpus, the brevity penalty is that of the whole corpus, tokens
are compared as they are given, with case.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

MAX_NGRAM = 4


@dataclass(frozen=True)
class BleuScore:
    """Counts of a corpus."""

    matches: tuple[int, ...]
    """N-grams of each length that the reference has too, each at most as often as there."""
    totals: tuple[int, ...]
    """All n-grams of each length of the hypotheses."""
    num_tokens: int
    """Tokens of the hypotheses."""
    num_reference_tokens: int

    @property
    def brevity_penalty(self) -> float:
        """1, or `exp(1 - r / c)` if the hypotheses have fewer tokens (c) than the references (r)."""
        if self.num_tokens >= self.num_reference_tokens:
            return 1.0
        return math.exp(1 - self.num_reference_tokens / self.num_tokens) if self.num_tokens else 0.0

    @property
    def bleu(self) -> float:
        """BLEU in percent; 0 if there is no match of some length."""
        if 0 in self.matches:
            return 0.0
        logs = (math.log(match / total) for match, total in zip(self.matches, self.totals, strict=True))
        return 100 * self.brevity_penalty * math.exp(sum(logs) / MAX_NGRAM)


def score_translations(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> BleuScore:
    """Compare token lists with one reference each. Raises ValueError for different numbers of them."""
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses):,} translations for {len(references):,} references")
    matches, totals = [0] * MAX_NGRAM, [0] * MAX_NGRAM
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for length in range(1, MAX_NGRAM + 1):
            ours, theirs = _ngrams(hypothesis, length), _ngrams(reference, length)
            matches[length - 1] += (ours & theirs).total()
            totals[length - 1] += ours.total()
    return BleuScore(tuple(matches), tuple(totals), sum(map(len, hypotheses)), sum(map(len, references)))


def _ngrams(tokens: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1))
