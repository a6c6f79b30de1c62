"""Every verb that writes, as a small job with inputs of its own: what `kills`, `disks` and `pairs` attack.

A job runs in a new folder next to `inputs`, so that its files are the same bytes wherever that is.
"""

from __future__ import annotations

import json
import os
import random
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from safetensors.numpy import load_file

from attacks.stopped_child import Command, Ended, Kill

NOT_WRITING = ("inspect", "doctor", "evaluate", "neighbours", "models")
"""Verbs that only read; `tests/formats/test_published.py` cuts the downloads of `models`."""


@dataclass(frozen=True)
class Job:
    """A command of a verb that writes, and how it is continued."""

    name: str
    command: str
    """Words without spaces; the verb first."""
    resume: str = ""
    """The command that continues it, which its errors must advise by naming `--resume`."""
    before: str = ""
    """A command that makes what the job works on, run in the same folder before it."""
    old: tuple[str, ...] = ()
    """Outputs that may be there already; they are replaced as a whole."""
    stdin: str = os.devnull
    """Read as standard input."""
    grows: bool = False
    """Whether its output grows, so that what is there after a kill is not whole: a run folder."""

    @property
    def verb(self) -> str:
        return self.command.split()[0]


_SHARDS = " ".join(f"../inputs/shard-{number}.txt" for number in range(3))
_TRAINING = (
    "num_steps=12 checkpoint_every=3 log_every=1 precision=float32 dropout_rate=0.1 lstm_dim=40 batch_size=4 "
    "bptt_steps=3 evaluate_every=5 evaluate_sentences=4 warmup_steps=0 softmax=sampled num_negatives=6 "
    "reset_state=false"
)
_FINETUNING = " ".join(word for word in _TRAINING.split() if not word.startswith(("lstm_dim", "softmax", "num_neg")))
_TASK = "word_dim=8 train_word_vectors=true classifier=bilstm encoder_dim=8 max_epochs=4 patience=4 batch_size=8"
_PRETRAIN = f"pretrain {_SHARDS} --vocabulary ../inputs/vocabulary.txt --held-out ../inputs/shard-0.txt --recipe tiny"
_TRAIN = "train sentiment --data ../inputs/data --recipe cpu"


def _embed(layout: str, *, resume: bool) -> Job:
    """With `--resume` the text comes from the standard input, so that its size is not known beforehand."""
    command = f"embed {'-' if resume else '../inputs/text.txt'} -o v.{layout} --model ../inputs/bilm"
    old = (f"v.{layout}", "v.offsets.npy") if layout == "npy" else (f"v.{layout}",)
    name = f"embed {layout}{' --resume' if resume else ''}"
    stdin = "../inputs/text.txt" if resume else os.devnull
    first = f"{command} --resume" if resume else command
    return Job(name, first, resume=f"{command} --resume", old=old, stdin=stdin)


PRETRAIN = Job("pretrain", f"{_PRETRAIN} --run run --set {_TRAINING}", resume="pretrain --resume run", grows=True)
FINETUNE = Job(
    "finetune",
    f"finetune ../inputs/bilm {_SHARDS} --held-out ../inputs/shard-1.txt --run run --set {_FINETUNING}",
    resume="pretrain --resume run",
    grows=True,
)
TRAIN = Job(
    "train",
    f"{_TRAIN} --elmo both --model ../inputs/bilm --cache cache --run run --set {_TASK}",
    resume="train --resume run --cache cache",
    grows=True,
)
_EMBED = [
    *(_embed(layout, resume=resume) for layout in ("h5", "npz", "npy", "safetensors") for resume in (False, True)),
    *(_embed(layout, resume=False) for layout in ("parquet", "arrow")),  # which do not take the standard input
]
_OTHERS = [
    Job("prepare", "prepare ../inputs/raw.txt -o corpus --shard-megabytes 0.004"),
    Job("vocabulary", "vocabulary ../inputs/many.txt -o v.txt", old=("v.txt",)),
    Job("convert native", "convert ../inputs/bilm new --to native --max-file-bytes 300000"),
    Job("convert bilm_tf", "convert ../inputs/bilm new --to bilm_tf"),
    Job("demo", "demo --model ../inputs/bilm --html demo.html", old=("demo.html",)),
    Job("perplexity --json", "perplexity ../inputs/bilm ../inputs/shard-1.txt --json p.json", old=("p.json",)),
    Job("predict -o", "predict ../inputs/sentiment ../inputs/text.txt -o p.txt", old=("p.txt",)),
    Job(
        "report",
        "report ../inputs/bilm ../inputs/sentiment ../inputs/with-elmo -o docs",
        old=("docs/training.md", "docs/tasks.md"),
    ),
    Job(
        "cache clear",
        "cache clear --cache cache",
        before=f"{_TRAIN} --elmo both --model ../inputs/bilm --cache cache --run run --set {_TASK} max_epochs=1",
    ),
    Job("export", "export ../inputs/bilm -o m.onnx"),
    Job("explore", "explore -o site --model ../inputs/bilm"),
    Job("surprisal -o", "surprisal ../inputs/bilm ../inputs/shard-1.txt -o s.tsv", old=("s.tsv",)),
    Job(
        "change -o",
        "change ../inputs/text.txt ../inputs/text.txt --max-words 4 --resamples 9 --model ../inputs/bilm -o c.tsv",
        old=("c.tsv",),
    ),
    Job("explore -o", "explore -o site --model ../inputs/bilm --corpus ../inputs/shard-0.txt"),
    Job(
        "embed --tokenize",
        "embed ../inputs/raw.txt -o v.npz --tokenize --layers all --model ../inputs/bilm",
        resume="embed ../inputs/raw.txt -o v.npz --tokenize --layers all --model ../inputs/bilm --resume",
        old=("v.npz", "v.npz.tokens.txt"),
    ),
    Job(
        "embed --fasta",
        "embed ../inputs/proteins.fasta -o v.npz --fasta --model ../inputs/bilm",
        resume="embed ../inputs/proteins.fasta -o v.npz --fasta --model ../inputs/bilm --resume",
        old=("v.npz", "v.names.txt"),
    ),
]
"""`export` takes 10 seconds, the others half a second at most."""
JOBS = (
    *(PRETRAIN, _OTHERS[0], _EMBED[0], TRAIN, _OTHERS[1], _EMBED[3], FINETUNE),  # a little of everything comes first
    *(_EMBED[1], _EMBED[2], *_EMBED[4:], *_OTHERS[2:]),
)


def verbs_not_attacked() -> set[str]:
    """Verbs of the command line that are neither in `JOBS` nor in `NOT_WRITING`."""
    from elmokit.cli.main import VERBS

    return {name for name, _, _ in VERBS} - {job.verb for job in JOBS} - set(NOT_WRITING)


def make_inputs(folder: Path) -> None:
    """What the jobs read, from fixed seeds: text, a biLM, labelled data and a run of `train`."""
    folder.mkdir()
    randomness = random.Random(0)
    words = [f"word{number}" for number in range(40)]

    def sentence(most: int = 8) -> str:
        return " ".join(randomness.choices(words, k=randomness.randint(1, most)))

    for number in range(3):
        (folder / f"shard-{number}.txt").write_text("".join(f"{sentence()}\n" for _ in range(9)))
    many = (" ".join(f"token{randomness.randrange(9999)}" for _ in range(9)) for _ in range(500))
    (folder / "many.txt").write_text("".join(f"{line}\n" for line in many))
    (folder / "text.txt").write_text("".join(f"{sentence(2)}\n" for _ in range(1200)))  # three blocks of `embed`
    documents = (" ".join(f"{sentence(9).capitalize()} and so on ." for _ in range(4)) for _ in range(40))
    (folder / "raw.txt").write_text("\n\n".join(documents) + "\n")
    (folder / "proteins.fasta").write_text("".join(f">P{number}\nMKVLAA\n" for number in range(200)))
    (folder / "vocabulary.txt").write_text("\n".join(["<S>", "</S>", "<UNK>", *words, ""]))
    (folder / "data").mkdir()
    for name, number in (("train", 40), ("dev", 16), ("test", 16)):
        texts = [sentence() for _ in range(number)]
        lines = [f"{text}\t{int(text.rpartition('word')[2]) % 2}\n" for text in texts]
        (folder / "data" / f"{name}.tsv").write_text("text\tlabel\n" + "".join(lines))
    bilm = f"{_PRETRAIN} --run bilm --set {_TRAINING}".replace("../inputs/", "")
    without = f"{_TRAIN} --elmo none --run sentiment --set {_TASK}".replace("../inputs/", "")
    with_elmo = f"{_TRAIN} --elmo both --model bilm --no-cache --run with-elmo --set {_TASK}".replace("../inputs/", "")
    without_dropout = with_elmo.replace("with-elmo", "without-dropout") + " elmo.dropout_rate=0"
    for command in (bilm, without, with_elmo, without_dropout):
        ended = Command(command.split(), folder).wait()
        if ended.code:
            raise RuntimeError(f"elmokit {command}\n{ended.said}")


def go_on(job: Job, folder: Path, *, kill: Kill | None = None) -> Ended:
    """Run the command, or what continues it if its error advises that."""
    ended = Command(job.command.split(), folder, kill=kill, stdin=job.stdin).wait()
    if ended.code == 2 and job.resume and "--resume" in ended.said:
        ended = Command(job.resume.split(), folder, kill=kill, stdin=job.stdin).wait()
    return ended


def contents(folder: Path) -> dict[str, object]:
    """Everything in a folder by name, hidden or not: the bytes of a file, or what is in it without times; or None."""
    return {path.relative_to(folder).as_posix(): _content(path) for path in sorted(folder.rglob("*"))}


def _content(path: Path) -> object:
    if path.is_dir():
        return None
    if path.name in ("metrics.jsonl", "training.json"):
        with suppress(ValueError):  # torn
            return [_without_times(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.name == "checkpoint.safetensors":  # its header has times
        return {name: array.tobytes() for name, array in load_file(path).items()}
    return path.read_bytes()


def _without_times(record: dict[str, object]) -> dict[str, object]:
    """Without the checksum either, which is of the times too."""
    return {key: value for key, value in record.items() if "second" not in key and key != "checksum"}
