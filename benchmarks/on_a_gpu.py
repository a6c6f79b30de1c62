"""On a machine with an NVIDIA GPU: the tests marked `cuda`, then the speed of training and embedding, in five minutes.

    python benchmarks/on_a_gpu.py [--output FILE]

Weights and text are random; no data is needed. Training calls `pretrain` itself, so reading, optimiser and log count.
`--device cpu --no-tests` tries out the script in a minute, with tiny models; the numbers mean nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path

import torch

from elmokit.elmo.elmo import Elmo
from elmokit.layers.devices import describe_machine, find_device
from elmokit.layers.packed.linear import Precision
from elmokit.model.bilm import BiLM
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.train import pretrain

NUM_TOKENS, MAX_TYPES = 1_000_000, 50_000
TRAINING = (
    # recipe, settings, steps, and the goal in tokens per second on one H100 or H200
    ("small-en", (), 300, 300_000),
    ("original", (), 100, 60_000),
    ("small-en", ("precision=float32",), 150, None),
    ("small-en", ("directions=separate",), 40, None),
    ("small-en", ("batch_size=1024",), 100, None),
    ("original", ("softmax=full",), 60, None),
)
EMBEDDING: tuple[tuple[str, Precision, int | None], ...] = (
    # recipe, precision, and the goal in words per second
    ("original", "float32", 60_000),
    ("original", "bfloat16", 150_000),
    ("small-en", "float32", None),
)
SECONDS = 270
"""Measurements that have not started by then are skipped."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cuda", help="cpu tries out the script")
    parser.add_argument("--output", type=Path, metavar="FILE", help="JSON with all measurements")
    parser.add_argument("--no-tests", action="store_true", help="measure only")
    arguments = parser.parse_args()
    began, rows = time.monotonic(), list[dict[str, object]]()
    device = find_device(arguments.device)
    machine = {"machine": describe_machine(device), "cuda": torch.version.cuda, "triton": version_of("triton")}
    print(machine, flush=True)
    failed = 0 if arguments.no_tests else run_tests()
    with tempfile.TemporaryDirectory() as folder:
        is_gpu = device.type == "cuda"
        size = (NUM_TOKENS, MAX_TYPES) if is_gpu else (20_000, 9_000)
        text, vocabulary = write_random_text(Path(folder), *size)
        sentences = [line.split() for line in text.read_text(encoding="utf-8").splitlines()]
        trainings = (
            partial(training_speed, name, settings, text, vocabulary, num_steps=num_steps, goal=goal)
            for name, settings, num_steps, goal in TRAINING
        )
        embeddings = (
            partial(embedding_speed, name, precision, sentences, goal=goal) for name, precision, goal in EMBEDDING
        )
        for measure in chain(trainings, embeddings):
            if time.monotonic() - began < SECONDS:
                try:
                    rows.append(measure(device=device))
                except RuntimeError as error:  # for instance too little memory; still measure the others
                    rows.append({"what": measure.args[:2], "error": str(error)})
                print(rows[-1], flush=True)
    if arguments.output:
        record = {**machine, "tests": failed, "rows": rows}
        arguments.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return failed


def run_tests() -> int:
    folders = [f"tests/{name}" for name in ("layers", "model", "elmo", "pretraining")]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "cuda", *folders]
    return subprocess.run(command, cwd=Path(__file__).parents[1], check=False).returncode


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def write_random_text(folder: Path, num_tokens: int, max_types: int) -> tuple[Path, Path]:
    """A text whose word frequencies follow Zipf's law, in sentences of 5 to 40 words, and its vocabulary."""
    source = random.Random(0)
    letters = "abcdefghijklmnop"
    words = sorted({"".join(source.choices(letters, k=source.randint(2, 12))) for _ in range(max_types)})
    drawn = source.choices(words, [1 / rank for rank in range(1, len(words) + 1)], k=num_tokens)
    text, vocabulary = folder / "text.txt", folder / "vocabulary.txt"
    with text.open("w", encoding="utf-8") as lines:
        while drawn:
            length = source.randint(5, 40)
            lines.write(" ".join(drawn[-length:]) + "\n")
            del drawn[-length:]
    vocabulary.write_text("\n".join(["<S>", "</S>", "<UNK>", *words]) + "\n", encoding="utf-8")
    return text, vocabulary


def training_speed(
    name: str,
    settings: tuple[str, ...],
    text: Path,
    vocabulary: Path,
    *,
    num_steps: int,
    goal: int | None,
    device: torch.device,
) -> dict[str, object]:
    """Tokens per second and direction, over the second half of the steps."""
    config = recipe(name, [f"num_steps={num_steps}", f"log_every={num_steps // 2}", "warmup_steps=0", *settings])
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    else:
        config = replace(config, bilm=recipe("tiny").bilm, batch_size=8, num_steps=4, log_every=2)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        pretrain([text], vocabulary_path=vocabulary, run_dir=run, config=config, device=str(device))
        last = json.loads((run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    result: dict[str, object] = {
        "what": "training",
        "recipe": name,
        "settings": settings,
        "batch_size": config.batch_size,
    }
    peak = torch.cuda.max_memory_allocated() // 1_000_000 if device.type == "cuda" else 0
    return result | {"tokens_per_second": last["tokens_per_second"], "goal": goal, "peak_megabytes": peak}


def embedding_speed(
    name: str, precision: Precision, sentences: list[list[str]], *, goal: int | None, device: torch.device
) -> dict[str, object]:
    """Words per second of `Elmo.encode`; each round reads different sentences, and the first round does not count."""
    torch.manual_seed(0)
    bilm, size = (recipe(name).bilm, len(sentences) // 4) if device.type == "cuda" else (recipe("tiny").bilm, 20)
    elmo = Elmo(BiLM(bilm), device=device, precision=precision)
    elmo.encode(sentences[:size])
    began, num_words = time.monotonic(), 0
    for number in range(1, 4):
        part = sentences[number * size : (number + 1) * size]
        elmo.encode(part)
        num_words += sum(map(len, part))
    speed = round(num_words / (time.monotonic() - began))
    return {"what": "embedding", "recipe": name, "precision": precision, "words_per_second": speed, "goal": goal}


if __name__ == "__main__":
    sys.exit(main())
