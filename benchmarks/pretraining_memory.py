"""Peak memory of `elmokit pretrain` on corpora of growing size, of resuming deep in them, and of reading all of them.

    python benchmarks/pretraining_memory.py [--gigabytes 0.1 1 4] [--steps 200] [--limit 50] [--output FILE]

The text is made up, in uncompressed shards of 200 MB that the corpora share, and is deleted at the end. For each
corpus, four processes report their peak resident memory:

    train   trains from the start, through several blocks of lines in each direction
    first   resumes that run for a few steps, with its position in the text set to the first sentence
    deep    does the same, with its position set to the last block of lines in the last shard
    read    reads one direction's stream to the end of the epoch, without training

Exits with 1 if one kind's peaks are further apart than the limit.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import itertools
import json
import os
import platform
import random
import shutil
import string
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from elmokit.cli.main import main as elmokit
from elmokit.corpus.stream import BLOCK_LINES, CorpusPosition, SentenceStream
from machine import peak_megabytes

SHARD_BYTES = 200_000_000
STEPS_AFTER_RESUMING = 5
SETTINGS = (
    *("batch_size=1024", "bptt_steps=20", "softmax=sampled", "num_negatives=64", "precision=float32"),
    *("lstm_dim=32", "projection_dim=16", "num_layers=1", "checkpoint_every=1000000", "log_every=50"),
)


@dataclass(frozen=True)
class Peak:
    """Peak resident memory of a process, and the time that its work took after the imports."""

    megabytes: float
    seconds: float
    processor_seconds: float


@dataclass(frozen=True)
class Row:
    """The measurements for one corpus."""

    gigabytes: float
    num_shards: int
    train: Peak
    first: Peak
    deep: Peak
    read: Peak

    @property
    def peaks(self) -> dict[str, Peak]:
        return {"train": self.train, "first": self.first, "deep": self.deep, "read": self.read}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[0.1, 1.0, 4.0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--limit", type=float, default=50.0, help="megabytes (default: %(default)s)")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--peak-of", nargs="+", help="used by the script itself")
    arguments = parser.parse_args()
    if arguments.peak_of:
        print(json.dumps(asdict(peak_of(*arguments.peak_of))))
        return
    needed = 1e9 * (max(arguments.gigabytes) + 1)
    if (free := shutil.disk_usage(tempfile.gettempdir()).free) < needed:
        sys.exit(f"{tempfile.gettempdir()} has {free / 1e9:.1f} GB left and this needs {needed / 1e9:.1f}; set TMPDIR")
    with tempfile.TemporaryDirectory(prefix="pretraining-memory-") as folder:
        text = Text(Path(folder))
        rows = [measure(text, gigabytes, num_steps=arguments.steps) for gigabytes in arguments.gigabytes]
    kinds = rows[0].peaks
    megabytes = {kind: [row.peaks[kind].megabytes for row in rows] for kind in kinds}
    spread = {kind: round(max(peaks) - min(peaks), 1) for kind, peaks in megabytes.items()}
    print(f"largest less smallest peak, MB: {spread}")
    if arguments.output:
        record = {
            "command": " ".join(["python", *sys.argv]),
            "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
            "torch": importlib.metadata.version("torch"),
            "settings": SETTINGS,
            "spread_megabytes": spread,
            "rows": [asdict(row) for row in rows],
        }
        arguments.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    if max(spread.values()) > arguments.limit:
        sys.exit(1)


def measure(text: Text, gigabytes: float, *, num_steps: int) -> Row:
    shards = text.shards(round(gigabytes * 1e9))
    run = text.folder / "run"
    corpus = [str(shard) for shard in shards]
    train = _peak("train", str(run), str(text.vocabulary), str(num_steps), *corpus)
    checkpoint = run / "checkpoints" / f"step-{num_steps:08d}"
    with shards[-1].open("rb") as file:
        last_block = sum(1 for _ in file) // BLOCK_LINES
    first = resume_at(CorpusPosition(), checkpoint)
    deep = resume_at(CorpusPosition(0, len(shards) - 1, last_block), checkpoint)
    shutil.rmtree(run)
    row = Row(gigabytes, len(shards), train, first, deep, read=_peak("read", *corpus))
    told = (f"{kind} {peak.megabytes:.0f} MB in {peak.seconds:.1f} s" for kind, peak in row.peaks.items())
    print(f"{gigabytes} GB in {len(shards)} shards: {', '.join(told)}", flush=True)
    return row


def resume_at(position: CorpusPosition, checkpoint: Path) -> Peak:
    """Continue from a checkpoint for a few steps, with both directions at this position."""
    path = checkpoint / "training.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    for packer in record["packers"]:
        packer["position"] = asdict(position)
    path.write_text(json.dumps(record), encoding="utf-8")
    last_step = record["step"] + STEPS_AFTER_RESUMING
    peak = _peak("resume", str(checkpoint.parents[1]), str(last_step))
    shutil.rmtree(checkpoint.with_name(f"step-{last_step:08d}"))
    return peak


def _peak(*what: str) -> Peak:
    command = [sys.executable, __file__, "--peak-of", *what]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Peak(**json.loads(done.stdout.splitlines()[-1]))


def peak_of(kind: str, *rest: str) -> Peak:
    """Do one kind of work in this process, and measure its peak."""
    for module in ("elmokit.pretraining.train", "torch._dynamo"):  # a first optimiser imports the latter
        importlib.import_module(module)
    began = time.perf_counter(), time.process_time()
    if kind == "train":
        run, vocabulary, num_steps, *shards = rest
        where = ("--vocabulary", vocabulary, "--run", run)
        settings = (*SETTINGS, f"num_steps={num_steps}")
        code = elmokit(["pretrain", *shards, *where, "--recipe", "tiny", "--set", *settings])
    elif kind == "resume":
        run, num_steps = rest
        code = elmokit(["pretrain", "--resume", run, "--set", f"num_steps={num_steps}"])
    else:
        paths = [Path(shard) for shard in rest]
        code = 0 if sum(1 for _ in SentenceStream(paths, num_epochs=1)) else 1
    if code:
        sys.exit(code)
    return Peak(
        megabytes=round(peak_megabytes(), 1),
        seconds=round(time.perf_counter() - began[0], 1),
        processor_seconds=round(time.process_time() - began[1], 1),
    )


class Text:
    """Shards of made-up lines, written when first asked for, and one vocabulary for all of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.randomness = random.Random(0)
        words = list(dict.fromkeys(self._word() for _ in range(20_000)))
        self.vocabulary = folder / "vocabulary.txt"
        self.vocabulary.write_text("\n".join(["<S>", "</S>", "<UNK>", *words, ""]), encoding="utf-8")
        zipf = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(words))))
        lengths = [self.randomness.randint(5, 35) for _ in range(100_000)]
        self.lines = [" ".join(self.randomness.choices(words, cum_weights=zipf, k=length)) + "\n" for length in lengths]
        """Each shard repeats these lines in another order: new lines would take longer than everything else."""

    def shards(self, num_bytes: int) -> list[Path]:
        """The first shards, up to a total size; a corpus may end with a smaller shard, under a separate name."""
        whole, remainder = divmod(num_bytes, SHARD_BYTES)
        return [self._shard(SHARD_BYTES, number) for number in range(whole)] + (
            [self._shard(remainder, whole)] if remainder else []
        )

    def _shard(self, num_bytes: int, number: int) -> Path:
        path = self.folder / f"shard-{number:03d}-{num_bytes}.txt"
        if not path.exists():
            with path.open("w", encoding="utf-8") as file:
                while file.tell() < num_bytes:
                    file.write("".join(self.randomness.choices(self.lines, k=10_000)))
        return path

    def _word(self) -> str:
        return "".join(self.randomness.choices(string.ascii_lowercase, k=self.randomness.randint(2, 9)))


if __name__ == "__main__":
    main()
