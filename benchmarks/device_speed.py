"""Speed of training and embedding on one device, with random weights and random text; no data needed.

python benchmarks/device_speed.py [--sizes original mini small medium] [--device cuda] [--output FILE]
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import torch

from elmokit import Elmo
from elmokit.corpus.batches import Packer, packed_batches
from elmokit.corpus.stream import SentenceStream
from elmokit.layers.devices import describe_machine, find_device
from elmokit.layers.packed.linear import Precision
from elmokit.model.bilm import BiLM
from elmokit.pretraining.before_training import resolved
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.gradients import LossAndGradients, draw
from elmokit.pretraining.optimizers import new_optimizer
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.train import new_softmax
from elmokit.text.vocabulary import Vocabulary

SIZES = ("original", "mini", "small", "medium")
GROWTH = (1, 4, 16)
"""Multiples of the recipe's batch: a GPU needs larger ones than two cores do."""
ROUNDS = 5
MAX_TYPES = 50_000
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16")
VOCABULARY = "vocabulary.txt"
TEXT = "text.txt"


@dataclass(frozen=True)
class Speed:
    """One measurement. The time is the median over the rounds."""

    what: str
    """training or embedding."""
    size: str
    precision: str
    batch_size: int
    """Streams of a training batch; sentences of one call of `encode`."""
    tokens_per_second: float
    peak_megabytes: int
    """Memory on the device; 0 on a CPU."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), metavar="RECIPE")
    parser.add_argument("--device", help="as in elmokit (default: the GPU if there is one)")
    parser.add_argument("--tokens", type=int, default=200_000, help="tokens of the text (default: 200,000)")
    parser.add_argument("--output", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    rows: list[Speed] = []
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        write_random_text(text, num_tokens=arguments.tokens)
        for size in arguments.sizes:
            for measure in (training_speed, embedding_speed):
                rows += measure(size, text, device=arguments.device)
                print(rows[-1], flush=True)
    if arguments.output:
        record = {"machine": describe_machine(find_device(arguments.device)), "rows": [asdict(row) for row in rows]}
        arguments.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def write_random_text(folder: Path, *, num_tokens: int, seed: int = 0) -> None:
    """A text whose word frequencies follow Zipf's law, in sentences of 5 to 40 words, and its vocabulary."""
    source = random.Random(seed)
    words = sorted(
        {
            "".join(source.choices("abcdefghijklmnop", k=source.randint(2, 12)))
            for _ in range(min(MAX_TYPES, num_tokens))
        }
    )
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    drawn = source.choices(words, weights, k=num_tokens)
    lines: list[str] = []
    position = 0
    while position < len(drawn):
        length = source.randint(5, 40)
        lines.append(" ".join(drawn[position : position + length]))
        position += length
    folder.mkdir(parents=True)
    (folder / VOCABULARY).write_text("\n".join(["<S>", "</S>", "<UNK>", *words]) + "\n", encoding="utf-8")
    (folder / TEXT).write_text("\n".join(lines) + "\n", encoding="utf-8")


def training_speed(
    size: str, text: Path, *, device: str | None = None, growth: Sequence[int] = GROWTH, rounds: int = ROUNDS
) -> list[Speed]:
    """Tokens per second of optimisation steps, batches made beforehand, for growing batches until memory runs out."""
    on_device = find_device(device)
    vocabulary = Vocabulary.read(text / VOCABULARY)
    rows: list[Speed] = []
    for factor in growth:
        config = replace(recipe(size), batch_size=recipe(size).batch_size * factor)
        config = resolved(config, num_tokens=len(vocabulary), device=on_device)
        _forget_peak(on_device)
        try:
            seconds = _median_seconds(_training_step(config, text, vocabulary, on_device), on_device, rounds=rounds)
        except torch.cuda.OutOfMemoryError:
            break
        speed = round(config.batch_size * config.bptt_steps / seconds, 1)
        peak = _peak_megabytes(on_device)
        rows.append(Speed("training", size, config.precision, config.batch_size, speed, peak))
    return rows


def _training_step(
    config: PretrainingConfig, text: Path, vocabulary: Vocabulary, device: torch.device
) -> Callable[[int], None]:
    """A function of the step's number that makes one optimisation step of a new model."""
    packers = [
        Packer(
            SentenceStream([text / TEXT], purpose=purpose),
            vocabulary,
            rows=[[]] * config.batch_size,
            bptt_steps=config.bptt_steps,
            backward=purpose == "backward",
        )
        for purpose in ("forward", "backward")
    ]
    torch.manual_seed(0)
    bilm = BiLM(config.bilm).to(device)
    source = packed_batches(packers, spelling=bilm.spelling)
    batches = [next(source) for _ in range(2)]
    softmax = new_softmax(len(vocabulary), config).to(device)
    maker = LossAndGradients(bilm, softmax, config, device=device)
    optimizer = new_optimizer(config, bilm, softmax)

    def step(number: int) -> None:
        batch = batches[number % len(batches)]
        maker.backward(draw(batch, config, num_tokens=len(vocabulary), number=number), None)
        optimizer.step()

    return step


def embedding_speed(
    size: str, text: Path, *, device: str | None = None, num_sentences: int = 2048, rounds: int = ROUNDS
) -> list[Speed]:
    """Words per second of `Elmo.encode` in float32 and bfloat16; every round reads other sentences."""
    on_device = find_device(device)
    sentences = [line.split() for line in (text / TEXT).read_text(encoding="utf-8").splitlines()]
    share = min(num_sentences, len(sentences) // (rounds + 1))
    torch.manual_seed(0)
    bilm = BiLM(recipe(size).bilm)
    rows: list[Speed] = []
    for precision in PRECISIONS:
        elmo = Elmo(bilm, device=on_device, precision=precision)
        parts = [sentences[number * share : (number + 1) * share] for number in range(rounds + 1)]
        _forget_peak(on_device)
        seconds = _median_seconds(partial(_encode, elmo, parts), on_device, rounds=rounds)
        speed = round(sum(map(len, itertools.chain(*parts))) / len(parts) / seconds, 1)
        rows.append(Speed("embedding", size, precision, share, speed, _peak_megabytes(on_device)))
    return rows


def _encode(elmo: Elmo, parts: Sequence[Sequence[Sequence[str]]], number: int) -> None:
    elmo.encode(parts[number])


def _median_seconds(step: Callable[[int], None], device: torch.device, *, rounds: int) -> float:
    """Median over the rounds, the first call (number 0) apart."""
    step(0)
    times: list[float] = []
    for number in range(1, rounds + 1):
        _wait(device)
        began = time.perf_counter()
        step(number)
        _wait(device)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _forget_peak(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def _peak_megabytes(device: torch.device) -> int:
    return torch.cuda.max_memory_allocated(device) // 1_000_000 if device.type == "cuda" else 0


if __name__ == "__main__":
    main()
