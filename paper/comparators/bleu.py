"""BLEU of a corpus against one reference each (Papineni et al., 2002): up to four tokens, no smoothing.

As in multi-bleu.perl: precisions are pooled over the corpus, the brevity penalty is that of the whole corpus, tokens
are compared as they are given, with case.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

MAX_NGRAM = 4


def bleu(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """BLEU in percent of token lists with one reference each; 0 if there is no match of some length."""
    matches, totals = [0] * MAX_NGRAM, [0] * MAX_NGRAM
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for index in range(MAX_NGRAM):
            ours, theirs = _ngrams(hypothesis, index + 1), _ngrams(reference, index + 1)
            matches[index] += (ours & theirs).total()  # each at most as often as in the reference
            totals[index] += ours.total()
    if 0 in matches:
        return 0.0
    shortfall = min(0.0, 1 - sum(map(len, references)) / sum(map(len, hypotheses)))
    precisions = (math.log(match / total) for match, total in zip(matches, totals, strict=True))
    return 100 * math.exp(shortfall + sum(precisions) / MAX_NGRAM)


def _ngrams(tokens: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1))
