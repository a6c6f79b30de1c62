"""On a machine with an NVIDIA GPU: the tests marked `cuda`, then the speed of training and embedding, in five minutes.

    python experiments/gpu_check.py [--output FILE]

Weights and text are random; no data is needed. Training is `pretrain` itself, with reading, optimiser and log.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from elmokit import Elmo
from elmokit.layers.devices import describe_machine, find_device
from elmokit.model.bilm import BiLM
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.train import pretrain

NUM_TOKENS = 1_000_000
MAX_TYPES = 50_000
TRAINING = (
    # recipe, settings, steps
    ("small-en", (), 300),
    ("small-en", ("precision=float32",), 150),
    ("small-en", ("directions=separate",), 40),
    ("small-en", ("batch_size=1024",), 100),
    ("original", (), 100),
    ("original", ("softmax=full",), 60),
)
EMBEDDING = (("small-en", "float32"), ("original", "float32"), ("original", "bfloat16"))
SECONDS = 270
"""What is not begun by then is left out."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cuda", help="cpu tries out the script; its numbers mean nothing")
    parser.add_argument("--output", type=Path, metavar="FILE", help="JSON with all measurements")
    parser.add_argument("--no-tests", action="store_true", help="measure only")
    arguments = parser.parse_args()
    began, rows = time.monotonic(), list[dict[str, object]]()
    device = find_device(arguments.device)
    failed = 0 if arguments.no_tests else run_tests()
    with tempfile.TemporaryDirectory() as folder:
        text, vocabulary = write_random_text(Path(folder))
        for name, settings, num_steps in TRAINING:
            if time.monotonic() - began < SECONDS:
                steps = num_steps if device.type == "cuda" else 2
                rows.append(training_speed(name, settings, text, vocabulary, num_steps=steps, device=arguments.device))
                print(rows[-1], flush=True)
        sentences = [line.split() for line in text.read_text(encoding="utf-8").splitlines()]
        for name, precision in EMBEDDING:
            if time.monotonic() - began < SECONDS:
                size = len(sentences) // 4 if device.type == "cuda" else 20
                rows.append(embedding_speed(name, precision, sentences, size=size, device=arguments.device))
                print(rows[-1], flush=True)
    if arguments.output:
        record = {"machine": describe_machine(device), "tests": failed, "rows": rows}
        arguments.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return failed


def run_tests() -> int:
    tests = Path(__file__).parents[1] / "tests"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "cuda",
        tests / "layers",
        tests / "pretraining",
        tests / "elmo",
    ]
    return subprocess.run(command, cwd=tests.parent, check=False).returncode


def write_random_text(folder: Path) -> tuple[Path, Path]:
    """A text whose word frequencies follow Zipf's law, in sentences of 5 to 40 words, and its vocabulary."""
    source = random.Random(0)
    letters = "abcdefghijklmnop"
    words = sorted({"".join(source.choices(letters, k=source.randint(2, 12))) for _ in range(MAX_TYPES)})
    drawn = source.choices(words, [1 / rank for rank in range(1, len(words) + 1)], k=NUM_TOKENS)
    text, vocabulary = folder / "text.txt", folder / "vocabulary.txt"
    with text.open("w", encoding="utf-8") as lines:
        while drawn:
            length = source.randint(5, 40)
            lines.write(" ".join(drawn[-length:]) + "\n")
            del drawn[-length:]
    vocabulary.write_text("\n".join(["<S>", "</S>", "<UNK>", *words]) + "\n", encoding="utf-8")
    return text, vocabulary


def training_speed(
    name: str, settings: tuple[str, ...], text: Path, vocabulary: Path, *, num_steps: int, device: str
) -> dict[str, object]:
    """Tokens per second, per direction, of the second half of the steps."""
    config = recipe(
        name, [f"num_steps={num_steps}", f"log_every={max(1, num_steps // 2)}", "warmup_steps=0", *settings]
    )
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        pretrain([text], vocabulary_path=vocabulary, run_dir=run, config=config, device=device)
        last = json.loads((run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    result = {"what": "training", "recipe": name, "settings": settings, "batch_size": config.batch_size}
    return result | {"tokens_per_second": last["tokens_per_second"], "peak_megabytes": peak_megabytes(device)}


def embedding_speed(
    name: str, precision: str, sentences: list[list[str]], *, size: int, device: str
) -> dict[str, object]:
    """Words per second of `Elmo.encode`; each round reads other sentences, and the first one is not counted."""
    torch.manual_seed(0)
    elmo = Elmo(BiLM(recipe(name).bilm), device=device, precision=precision)  # type: ignore[arg-type]
    elmo.encode(sentences[:size])
    began, num_words = time.monotonic(), 0
    for number in range(1, 4):
        part = sentences[number * size : (number + 1) * size]
        elmo.encode(part)
        num_words += sum(map(len, part))
    speed = round(num_words / (time.monotonic() - began))
    return {"what": "embedding", "recipe": name, "precision": precision, "words_per_second": speed}


def peak_megabytes(device: str) -> int:
    return 0 if device == "cpu" else torch.cuda.max_memory_allocated() // 1_000_000


if __name__ == "__main__":
    sys.exit(main())
