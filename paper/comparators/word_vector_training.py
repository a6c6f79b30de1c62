"""Training of word2vec and fastText vectors by gensim on the shards that a biLM reads (extra `comparators`).

Skip-gram with negative sampling (Mikolov et al., 2013); fastText adds character n-grams (Bojanowski et al., 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmokit.corpus.stream import SentenceStream
from elmokit.files.atomic import atomic_write, check_is_not_input
from elmokit.files.locks import lock
from elmokit.integrations.fasttext import MAX_NGRAM
from elmokit.runs.settings import change_settings
from elmokit.system.batches import batched
from elmokit.system.progress_bar import progress_bar
from elmokit.system.python import require
from elmokit.text.word_vectors import MAX_DIM
from paper.comparators.run_folder import check_config

MAX_SEED = (1 << 32) - 1
"""NumPy's generator, which gensim uses, takes no larger one."""
MAX_TOKENS = 10_000
"""Of a sentence that gensim reads to its end; it passes over the rest of a longer one, and says nothing."""
_PURPOSE = "training word vectors"


@dataclass(frozen=True)
class WordVectorConfig:
    """Settings of a training; the defaults are word2vec's, except for `subsample`, and `FASTTEXT` has fastText's."""

    dim: int = 100
    """Width of the vectors."""
    window: int = 5
    """Largest distance to a context word; each occurrence draws its own from 1 to this."""
    min_count: int = 5
    """Occurrences that a word needs to get a vector."""
    negatives: int = 5
    """Random words for each real pair, drawn from counts to the power of `noise_power`."""
    noise_power: float = 0.75
    """1 draws negatives like words of the text, 0 all equally often."""
    subsample: float = 1e-5
    """t: an occurrence of a word of frequency f is kept with probability sqrt(t / f) + t / f; 0 keeps all.

    1e-5 is that of the paper (section 2.3); the program's default is 1e-3."""
    learning_rate: float = 0.025
    """Of the first update; it falls to almost 0."""
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
        counts = ("dim", "window", "min_count", "negatives", "epochs", "workers", "bucket", "min_n")
        check_config(self, positive=counts)
        for name, most in (("dim", MAX_DIM), ("max_n", MAX_NGRAM), ("seed", MAX_SEED)):
            if getattr(self, name) > most:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at most {most:,}")
        if not 0 <= self.subsample < 1:  # gensim takes 1 and more for a count
            raise ValueError(f"subsample is {self.subsample}; expected at least 0 and below 1")
        if self.max_n < self.min_n:
            raise ValueError(f"max_n is {self.max_n}, which is less than min_n, {self.min_n}")


FASTTEXT = WordVectorConfig(subsample=1e-4, learning_rate=0.05, noise_power=0.5)
"""The defaults of the published fastText (`skipgram`)."""


def train_word2vec(
    files: Sequence[Path], output: Path, settings: Sequence[str] = (), *, resume: bool = False
) -> dict[str, float]:
    """Train skip-gram vectors and write them as word2vec's text file, or its binary one if the name ends in `.bin`.

    settings: fields of `WordVectorConfig` as `field=value`. Returns the number of words. Raises ValueError for wrong
    settings, shards without a sentence or a word that is frequent enough, and a missing gensim, and OSError for files
    that cannot be read or written. Nothing is written before the end, so `resume` is refused.
    """
    config = _config(WordVectorConfig(), files, output, settings, resume)
    gensim = require("gensim.models", extra="comparators", purpose=_PURPOSE)
    with lock(output), atomic_write(output) as unfinished:
        vectors = _trained(gensim.Word2Vec, files, config).wv
        vectors.save_word2vec_format(str(unfinished), binary=output.suffix == ".bin")
    return {"words": len(vectors)}


def train_fasttext(
    files: Sequence[Path], output: Path, settings: Sequence[str] = (), *, resume: bool = False
) -> dict[str, float]:
    """Train skip-gram vectors with sub-words and write fastText's own `.bin` file; otherwise as `train_word2vec`.

    The defaults of the settings are those of `FASTTEXT`.
    """
    config = _config(FASTTEXT, files, output, settings, resume)
    if output.suffix != ".bin":
        raise ValueError(f"{output} does not end in .bin; only fastText's .bin files hold sub-words")
    gensim = require("gensim.models.fasttext", extra="comparators", purpose=_PURPOSE)
    subwords = {"bucket": config.bucket, "min_n": config.min_n, "max_n": config.max_n}
    with lock(output), atomic_write(output) as unfinished:
        model = _trained(gensim.FastText, files, config, **subwords)
        gensim.save_facebook_model(model, str(unfinished))
    return {"words": len(model.wv)}


def _config(
    defaults: WordVectorConfig, files: Sequence[Path], output: Path, settings: Sequence[str], resume: bool
) -> WordVectorConfig:
    if resume:
        raise ValueError("a training of word vectors by gensim cannot be resumed; leave out --resume, or resume=True")
    check_is_not_input(output, *files)
    return change_settings({"training": defaults}, settings)["training"]


def _trained(new_model: Callable[..., Any], shards: Sequence[Path], config: WordVectorConfig, **more: int) -> Any:
    """A model of gensim, trained as by its constructor. Raises ValueError if no word is frequent enough."""
    model = new_model(
        vector_size=config.dim,
        window=config.window,
        min_count=config.min_count,
        negative=config.negatives,
        ns_exponent=config.noise_power,
        sample=config.subsample,
        alpha=config.learning_rate,
        epochs=config.epochs,
        seed=config.seed,
        workers=config.workers,
        sg=1,
        **more,
    )
    sentences = _Sentences(shards)
    model.build_vocab(sentences)
    sentences.check()
    if not model.wv.key_to_index:
        raise ValueError(f"no word occurs at least {config.min_count} times (min_count)")
    words = model.corpus_total_words
    model.train(sentences, total_examples=model.corpus_count, total_words=words, epochs=config.epochs)
    sentences.check()
    return model


class _Sentences:
    """The sentences of the shards in their order; gensim iterates once to count and once per epoch.

    A line that is longer than gensim reads, such as a whole corpus without line ends, comes in parts. A shard that can
    no longer be read ends an epoch: gensim reads in a thread, and would wait for ever for one that has raised.
    """

    def __init__(self, shards: Sequence[Path]) -> None:
        self.shards = shards
        self.error: ValueError | OSError | None = None

    def __iter__(self) -> Iterator[list[str]]:
        with progress_bar(unit="sentence", scale=True) as bar:
            try:
                for sentence in SentenceStream(self.shards, shuffle=False, num_epochs=1):
                    yield from batched(sentence, size=MAX_TOKENS)
                    bar.update()
            except (ValueError, OSError) as error:
                self.error = error

    def check(self) -> None:
        """Raise the error that has ended an epoch."""
        if self.error is not None:
            raise self.error
