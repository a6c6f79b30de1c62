"""Held-out perplexity during a run: which weights are the best so far, and when to stop early."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from elmokit.corpus.stream import SentenceStream
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.scoring.perplexity import bilm_perplexity
from elmokit.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class HeldOutPerplexity:
    """Perplexities by the full softmax, each sentence on its own; `backward` is None for a forward model."""

    forward: float
    backward: float | None

    @property
    def mean(self) -> float:
        """Mean of the directions' perplexities."""
        return self.forward if self.backward is None else (self.forward + self.backward) / 2

    def to_json(self) -> dict[str, float | None]:
        """The perplexities and their mean by name, as metrics.jsonl has them."""
        return {"forward": self.forward, "backward": self.backward, "mean": self.mean}


@dataclass(frozen=True)
class BestSoFar:
    """The lowest mean perplexity of the evaluations, and the number of evaluations since."""

    perplexity: float | None = None
    num_evaluations_since: int = 0

    def after(self, measured: HeldOutPerplexity) -> BestSoFar:
        """The best after one more evaluation."""
        if self.perplexity is None or measured.mean < self.perplexity:
            return BestSoFar(measured.mean)
        return replace(self, num_evaluations_since=self.num_evaluations_since + 1)


def sample_sentences(paths: Sequence[Path], *, most: int) -> list[str]:
    """Choose at most `most` sentences, spread evenly over the text; 0 takes all."""
    sentences = [" ".join(tokens) for tokens in SentenceStream(paths, shuffle=False, num_epochs=1)]
    if not most or len(sentences) <= most:
        return sentences
    return [sentences[index * len(sentences) // most] for index in range(most)]


def held_out_perplexity(bilm: BiLM, softmax: Softmax, vocabulary: Vocabulary, text: Path) -> HeldOutPerplexity:
    """Perplexity of a text file, one tokenised sentence per line; the biLM is in training mode afterwards."""
    bilm.eval()
    try:
        measured = bilm_perplexity(bilm, softmax, vocabulary, [text])
    finally:
        bilm.train()
    backward = None if measured.backward is None else measured.backward.perplexity
    return HeldOutPerplexity(measured.forward.perplexity, backward)
