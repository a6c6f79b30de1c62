"""Every command that writes, as a small job with separate inputs; attack.py disturbs these jobs.

A job runs in a new folder next to `inputs`, so that it writes the same bytes wherever that folder is.
"""

import os
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from child import Command, Ended, Kill
from run_contents import content_of

NOT_WRITING = ("inspect", "doctor", "evaluate", "neighbours", "models")
"""Commands that only read; `tests/formats/test_published.py` cuts the downloads of `models`."""


@dataclass(frozen=True)
class Job:
    """A command that writes, and how it is continued."""

    name: str
    command: str
    """Without `elmokit`; no word contains a space."""
    resume: str = ""
    """The command that continues it. Errors of `command` must advise it by naming `--resume`."""
    before: str = ""
    """A command that runs first in the same folder and makes what the job works on."""
    old: tuple[str, ...] = ()
    """Outputs that may be there already; they are replaced as a whole."""
    stdin: str = os.devnull
    """Read as standard input."""
    grows: bool = False
    """Whether its output is a run folder, which grows and so is incomplete after a kill."""

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


def _job(name: str, command: str, *old: str, **more: Any) -> Job:
    return Job(name, command.replace("@", "../inputs/"), old=old, **more)


def _embed(layout: str, *, resume: bool) -> Job:
    """With `--resume`, the text comes from standard input, so its size is not known beforehand."""
    command = f"embed {'-' if resume else '../inputs/text.txt'} -o v.{layout} --model ../inputs/bilm --overwrite"
    old = (f"v.{layout}", "v.offsets.npy") if layout == "npy" else (f"v.{layout}",)
    name, stdin = (f"embed {layout} --resume", "../inputs/text.txt") if resume else (f"embed {layout}", os.devnull)
    return _resumed(_job(name, f"{command} --resume" if resume else command, *old, stdin=stdin))


def _resumed(job: Job) -> Job:
    return replace(job, resume=f"{job.command.removesuffix(' --resume')} --resume")


_WITH_CACHE = f"{_TRAIN} --elmo both --model ../inputs/bilm --cache cache --run run --set {_TASK}"
_WITHOUT = f"{_TRAIN} --elmo none --run sentiment --set {_TASK}"
_FINETUNE = f"finetune ../inputs/bilm {_SHARDS} --held-out ../inputs/shard-1.txt --run run --set {_FINETUNING}"
PRETRAIN = Job("pretrain", f"{_PRETRAIN} --run run --set {_TRAINING}", resume="pretrain --resume run", grows=True)
VOCABULARY = Job("vocabulary", "vocabulary ../inputs/many.txt -o v.txt", old=("v.txt",))
FINETUNE = Job("finetune", _FINETUNE, resume="pretrain --resume run", grows=True)
TRAIN = Job("train", _WITH_CACHE, resume="train --resume run --cache cache", grows=True)
_EMBED = [
    *(_embed(layout, resume=resume) for layout in ("h5", "npz", "npy", "safetensors") for resume in (False, True)),
    *(_embed(layout, resume=False) for layout in ("parquet", "arrow")),  # these do not read standard input
]
_TOKENIZED = "embed @raw.txt -o v.npz --tokenize --layers all --model @bilm --overwrite"
_FASTA = "embed @proteins.fasta -o v.npz --fasta --model @bilm --overwrite"
_CHANGE = "change @text.txt @text.txt --max-words 4 --resamples 9 --model @bilm -o c.tsv"
_OTHERS = [
    _job("prepare", "prepare @raw.txt -o corpus --shard-megabytes 0.004"),
    VOCABULARY,
    _job("convert native", "convert @bilm new --to native --max-file-bytes 300000"),
    _job("convert bilm_tf", "convert @bilm new --to bilm_tf"),
    _job("demo", "demo --model @bilm --html demo.html"),  # it refuses a file that is not its page
    _job("perplexity --json", "perplexity @bilm @shard-1.txt --json p.json", "p.json"),
    _job("predict -o", "predict sentiment @text.txt -o p.txt", "p.txt", before=_WITHOUT),
    _job("report", "report @bilm sentiment -o docs", "docs/training.md", "docs/tasks.md", before=_WITHOUT),
    _job("cache clear", "cache clear --cache cache", before=f"{_WITH_CACHE} max_epochs=1"),
    _job("export", "export @bilm -o m.onnx"),  # takes 10 seconds, the others half a second at most
    _job("explore", "explore -o site --model @bilm --sample en"),
    _job("surprisal -o", "surprisal @bilm @shard-1.txt -o s.tsv", "s.tsv"),
    _job("change -o", _CHANGE, "c.tsv"),
    _job("explore -o", "explore -o site --model @bilm --corpus @shard-0.txt"),
    _resumed(_job("embed --tokenize", _TOKENIZED, "v.npz", "v.npz.tokens.txt")),
    _resumed(_job("embed --fasta", _FASTA, "v.npz", "v.npz.names.txt")),
]
JOBS = (
    *(PRETRAIN, _EMBED[3], _EMBED[0], TRAIN, FINETUNE, _OTHERS[0], _OTHERS[1]),  # a little of everything comes first
    *(_EMBED[1], _EMBED[2], *_EMBED[4:], *_OTHERS[2:]),
)


def make_inputs(folder: Path) -> None:
    """What the jobs read, from fixed seeds: text, labelled data and a biLM."""
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
    run_whole(f"{_PRETRAIN} --run bilm --set {_TRAINING}".replace("../inputs/", ""), folder)


def run_whole(command: str, folder: Path) -> None:
    """Run a command, which must succeed."""
    ended = Command(command.split(), folder).wait()
    if ended.code:
        raise RuntimeError(f"elmokit {command} in {folder} ended with {ended.code}: {ended.said}")


def go_on(job: Job, folder: Path, *, kill: Kill | None = None) -> Ended:
    """Run the command; if its error advises `--resume`, run the command that continues it."""
    ended = Command(job.command.split(), folder, kill=kill, stdin=job.stdin).wait()
    if ended.code == 2 and job.resume and "--resume" in ended.said:
        ended = Command(job.resume.split(), folder, kill=kill, stdin=job.stdin).wait()
    return ended


def contents(folder: Path) -> dict[str, object]:
    """All paths in a folder, hidden ones too: the bytes or the content without times of a file, None for a folder."""
    paths = sorted(folder.rglob("*"))
    return {path.relative_to(folder).as_posix(): None if path.is_dir() else content_of(path) for path in paths}
