"""Training of CoVe's encoder as part of a translator (McCann et al., 2017): a folder with the encoder and its BLEU."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from elmokit.files.lines import read_lines
from elmokit.integrations.encoder import of_equal_length
from elmokit.layers.devices import seeded
from elmokit.runs.settings import change_settings
from elmokit.system.progress_bar import progress_bar
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.tokenizer import tokenize
from elmokit.text.vocabulary import UNKNOWN, Vocabulary
from elmokit.vectors.file_vector_source import WordVectorSource
from paper.comparators.run_folder import check_config, comparator_run, update
from paper.comparators.translation import Translator, bleu, new_encoder

if TYPE_CHECKING:
    from jaxtyping import Float, Int

ENCODER_FILE = "encoder.safetensors"
_IGNORED = -100  # cross_entropy's mark of a position without a target


@dataclass(frozen=True)
class CoveConfig:
    """Settings of a training; widths are the published ones, the rest is ours and has not been tuned."""

    word_vectors: str = ""
    """File of GloVe, word2vec or fastText vectors, the encoder's input, which are not trained."""
    hidden_dim: int = 300
    """Width of each direction of the encoder; the decoder is twice as wide."""
    target_dim: int = 300
    """Width of the target words' embeddings."""
    min_count: int = 2
    """Occurrences that a target word needs; rarer ones are unknown words."""
    max_size: int = 50_000
    """Largest number of target words, the most frequent ones."""
    max_tokens: int = 50
    """Pairs with more tokens on either side, or with none, are left out of the training."""
    batch_size: int = 64
    """Pairs per step, of one source length."""
    epochs: int = 10
    """Passes over the pairs."""
    learning_rate: float = 0.001
    """Adam's."""
    dropout_rate: float = 0.2
    """Rate of the dropout at all inputs and between layers."""
    clip_norm: float = 5.0
    """Largest norm of the gradient."""
    seed: int = 0
    """Seed of initial weights, order and dropout."""

    def __post_init__(self) -> None:
        counts = ("hidden_dim", "target_dim", "min_count", "max_size", "max_tokens", "batch_size", "epochs")
        check_config(self, positive=counts, rates=("dropout_rate",))


@dataclass(frozen=True)
class _Pairs:
    """Sentences and their translations."""

    source: list[list[str]]
    target: list[list[str]]

    def short(self, most: int) -> _Pairs:
        """The pairs of one to so many tokens on either side. Raises ValueError if there is none."""
        pairs = zip(self.source, self.target, strict=True)
        kept = [pair for pair in pairs if all(0 < len(sentence) <= most for sentence in pair)]
        if not kept:
            raise ValueError(f"no pair has 1 to {most} tokens on both sides (max_tokens)")
        return _Pairs([source for source, _ in kept], [target for _, target in kept])


@dataclass(frozen=True)
class _Numbers:
    """Pairs as tensors."""

    pairs: _Pairs
    words: WordVectorSource
    vocabulary: Vocabulary

    def source(self, numbers: Sequence[int]) -> Float[Tensor, "B T D"]:
        """Word vectors of sentences of one length."""
        return self.words([self.pairs.source[number] for number in numbers])[0]

    def target(self, numbers: Sequence[int]) -> Int[Tensor, "B U"]:
        """Token ids between the sentences' begin and end, then `_IGNORED`."""
        rows = [self.vocabulary.ids(self.pairs.target[number]).tolist() for number in numbers]
        longest = max(map(len, rows))
        begin, end = self.vocabulary.begin_id, self.vocabulary.end_id
        return torch.tensor([[begin, *row, end, *[_IGNORED] * (longest - len(row))] for row in rows])


def train_cove(
    files: Sequence[Path], output: Path, settings: Sequence[str] = (), *, resume: bool = False
) -> dict[str, float]:
    """Train a translator and write the folder of its encoder: `encoder.safetensors`, config.json, metrics.jsonl.

    The encoder is written after each epoch, and a checkpoint from which an interrupted training continues: it ends
    with the weights of one that was not interrupted.

    files: the source and the target text, one sentence per line, which is tokenised; then, if there are four, the pair
        of texts on which BLEU is measured (the tokens of `tokenize`, greedy search).
    settings: fields of `CoveConfig` as `field=value`; `word_vectors` must be among them.
    resume: continue the run in `output`, which has the same files and settings.
    Returns the last epoch's loss (nats per target token) and BLEU; nothing if only the model was left to write. Raises
    ValueError for wrong settings and texts of different lengths, OSError for files that cannot be read or written, and
    DivergenceError, a ValueError.
    """
    config = change_settings({"training": CoveConfig()}, settings)["training"]
    if not config.word_vectors:
        raise ValueError(
            "the encoder reads word vectors: give their file with --set word_vectors=FILE, or "
            "settings=['word_vectors=FILE']"
        )
    if len(files) not in (2, 4):
        raise ValueError(f"{len(files)} files were given; expected SOURCE TARGET, or SOURCE TARGET and a test pair")
    training = _read_pairs(files[0], files[1]).short(config.max_tokens)
    test = _read_pairs(files[2], files[3]) if files[2:] else None
    words = WordVectorSource(config.word_vectors)
    words.add(chain(training.source, test.source if test else ()))
    vocabulary = _target_vocabulary(training.target, config)
    opened = comparator_run(output, "cove", config, files=files, resume=resume, result=ENCODER_FILE)
    with opened as run, seeded(config.seed):
        model = Translator(
            new_encoder(input_dim=words.dim, hidden_dim=config.hidden_dim, dropout_rate=config.dropout_rate),
            vocabulary,
            target_dim=config.target_dim,
            dropout_rate=config.dropout_rate,
        )
        optimizer = torch.optim.Adam(model.parameters(), config.learning_rate)
        first = run.load(model, optimizer, "epochs")
        run.keep_log(lambda record: record.integer("epoch") < first)
        measured: dict[str, float] = {}
        for epoch in range(first, config.epochs):
            measured["loss"] = _train_epoch(model, optimizer, _Numbers(training, words, vocabulary), config, epoch)
            if test:
                measured["bleu"] = _bleu(model.eval(), _Numbers(test, words, vocabulary), config)
            run.log(epoch=epoch, **measured)
            run.save(model, optimizer, {"epochs": epoch + 1}, model.encoder)
        run.finish(model.encoder)
    return measured


def _read_pairs(source: Path, target: Path) -> _Pairs:
    texts = [[tokenize(line) for line in read_lines(path)] for path in (source, target)]
    if len(texts[0]) != len(texts[1]) or not texts[0]:
        raise ValueError(
            f"{source} has {len(texts[0]):,} lines and {target} {len(texts[1]):,}; expected a translation of each line"
        )
    return _Pairs(*texts)


def _target_vocabulary(target: Iterable[Sequence[str]], config: CoveConfig) -> Vocabulary:
    """The most frequent words of the translations. Raises ValueError if none is frequent enough."""
    counts = Counter(chain.from_iterable(target))
    specials = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)
    enough = [token for token, count in counts.items() if count >= config.min_count and token not in specials]
    if not enough:
        raise ValueError(f"no word of the translations occurs at least {config.min_count} times (min_count)")
    kept = sorted(enough, key=lambda token: (-counts[token], token))[: config.max_size]
    return Vocabulary([*specials, *sorted(kept)])


def _train_epoch(
    model: Translator, optimizer: torch.optim.Optimizer, texts: _Numbers, config: CoveConfig, epoch: int
) -> float:
    """The mean loss per target token of an epoch, whose draws depend on no other epoch."""
    torch.default_generator.manual_seed(random.Random(f"{config.seed}/{epoch}/dropout").getrandbits(63))
    model.train()
    batches = _shuffled_batches(texts.pairs.source, config, epoch=epoch)
    total, num_tokens = 0.0, 0
    with progress_bar(unit="batch", total=len(batches), label=f"epoch {epoch}") as bar:
        for numbers in batches:
            target = texts.target(numbers)
            logits = model(texts.source(numbers), target[:, :-1].clamp(min=0)).flatten(0, 1)
            loss = functional.cross_entropy(logits, target[:, 1:].flatten(), ignore_index=_IGNORED)
            count = int((target[:, 1:] != _IGNORED).sum())
            total += count * update(loss, model, optimizer, clip_norm=config.clip_norm, where=f"epoch {epoch}")
            num_tokens += count
            bar.update()
    return total / num_tokens


def _shuffled_batches(source: Sequence[Sequence[str]], config: CoveConfig, *, epoch: int) -> list[list[int]]:
    """Numbers of sentences of one length, in an order of this epoch."""
    generator = random.Random(f"{config.seed}/{epoch}")
    order = list(range(len(source)))
    generator.shuffle(order)
    groups = of_equal_length([source[number] for number in order], most=config.batch_size)
    generator.shuffle(groups)
    return [[order[index] for index in group] for group in groups]


def _bleu(model: Translator, texts: _Numbers, config: CoveConfig) -> float:
    hypotheses: list[list[str]] = [[] for _ in texts.pairs.source]
    for numbers in of_equal_length(texts.pairs.source, most=config.batch_size):
        translations = model.translate(texts.source(numbers), max_tokens=2 * config.max_tokens)
        for number, ids in zip(numbers, translations, strict=True):
            hypotheses[number] = [texts.vocabulary.tokens[token_id] for token_id in ids]
    return bleu(hypotheses, texts.pairs.target)
