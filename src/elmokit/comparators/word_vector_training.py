"""Training of word2vec and fastText vectors by gensim on the shards that a biLM reads (extra `comparators`).

Skip-gram with negative sampling (Mikolov et al., 2013); fastText adds character n-grams (Bojanowski et al., 2017).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from elmokit.corpus.stream import SentenceStream
from elmokit.runs.settings import change_settings
from elmokit.system.extras import require
from elmokit.system.files import atomic_write
from elmokit.system.locks import lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_PURPOSE = "training word vectors"


@dataclass(frozen=True)
class WordVectorConfig:
    """Settings of a training; the defaults are those of the published word2vec and fastText, except for `dim`."""

    dim: int = 100
    """Width of the vectors."""
    window: int = 5
    """Largest distance to a context word; each occurrence draws its own from 1 to this."""
    min_count: int = 5
    """Occurrences that a word needs to get a vector."""
    negatives: int = 5
    """Random words for each real pair, drawn from counts to the power of 0.75."""
    subsample: float = 1e-5
    """t: an occurrence of a word of frequency f is dropped with probability 1 - sqrt(t / f)."""
    epochs: int = 5
    """Passes over the shards."""
    seed: int = 1
    """Seed of the initial vectors and of all draws."""
    workers: int = 1
    """Threads. With more than one, the order of the updates, and so the vectors, differ from run to run."""
    bucket: int = 2_000_000
    """Rows that fastText's n-grams share."""
    min_n: int = 3
    """Characters of fastText's shortest n-gram, the marks of the word's ends included."""
    max_n: int = 6
    """Characters of its longest."""

    def __post_init__(self) -> None:
        for name in ("dim", "window", "min_count", "negatives", "epochs", "workers", "bucket", "min_n"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.max_n < self.min_n:
            raise ValueError(f"max_n is {self.max_n}, which is less than min_n, {self.min_n}")


def train_word2vec(shards: Sequence[Path], output: Path, settings: Sequence[str] = ()) -> dict[str, float]:
    """Train skip-gram vectors and write them as word2vec's text file, or its binary one if the name ends in `.bin`.

    settings: fields of `WordVectorConfig` as `field=value`. Returns the number of words. Raises ValueError for wrong
    settings, shards without a sentence and a missing gensim, and OSError for files that cannot be read or written.
    """
    config = _config(settings)
    models = require("gensim.models", extra="comparators", purpose=_PURPOSE)
    with lock(output), atomic_write(output) as unfinished:
        model = models.Word2Vec(_Sentences(shards), **_arguments(config))
        model.wv.save_word2vec_format(str(unfinished), binary=output.suffix == ".bin")
    return {"words": len(model.wv)}


def train_fasttext(shards: Sequence[Path], output: Path, settings: Sequence[str] = ()) -> dict[str, float]:
    """Train skip-gram vectors with sub-words and write fastText's own `.bin` file; otherwise as `train_word2vec`."""
    config = _config(settings)
    if output.suffix != ".bin":
        raise ValueError(f"{output} does not end in .bin; only fastText's .bin files hold sub-words")
    fasttext = require("gensim.models.fasttext", extra="comparators", purpose=_PURPOSE)
    subwords = {"bucket": config.bucket, "min_n": config.min_n, "max_n": config.max_n}
    with lock(output), atomic_write(output) as unfinished:
        model = fasttext.FastText(_Sentences(shards), **_arguments(config), **subwords)
        fasttext.save_facebook_model(model, str(unfinished))
    return {"words": len(model.wv)}


def _config(settings: Sequence[str]) -> WordVectorConfig:
    return change_settings({"training": WordVectorConfig()}, settings)["training"]


def _arguments(config: WordVectorConfig) -> dict[str, Any]:
    """The settings that both kinds have, in gensim's words."""
    same = {name: value for name, value in asdict(config).items() if name in ("window", "min_count", "epochs", "seed")}
    return {
        **same,
        "vector_size": config.dim,
        "negative": config.negatives,
        "sample": config.subsample,
        "workers": config.workers,
        "sg": 1,
        "ns_exponent": 0.75,
    }


class _Sentences:
    """The sentences of the shards in their order; gensim iterates once to count and once per epoch."""

    def __init__(self, shards: Sequence[Path]) -> None:
        self.shards = shards

    def __iter__(self) -> Iterator[list[str]]:
        return iter(SentenceStream(self.shards, shuffle=False, num_epochs=1))
