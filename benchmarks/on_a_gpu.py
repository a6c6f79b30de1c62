"""All that has not been run on a GPU yet, the most valuable part first; each part ends in minutes and can be resumed.

    python benchmarks/on_a_gpu.py --output results tests speed
    python benchmarks/on_a_gpu.py --output results --language en --recipe mini-flat --steps 150000 train
    python benchmarks/on_a_gpu.py --output results --tasks named-entities sentiment -- tasks

`tests` runs the test suite, which uses the GPU wherever a user's call would. `speed` measures training and embedding of
each size in bfloat16, with random weights and random text. `train` pretrains a model: a second call resumes it from its
run folder (`--runs`), and every call leaves weights in float16 with an int8 softmax, in files of at most `--megabytes`
(`cat NAME.part-* > NAME` joins those that were cut). `tasks` trains the `paper` recipes, with and without ELMo. Data is
read from `--data`, laid out as CONTRIBUTING.md says. The exit code is 1 if a command failed; running out of minutes is
no failure.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from device_speed import SIZES, Speed, embedding_speed, training_speed, write_random_text

ROOT = Path(__file__).resolve().parents[1]
SAVING_SECONDS = 30
"""What a run that is told to stop gets for its last checkpoint."""
TASK_FOLDERS = {
    "named-entities": "tasks/conll2003",
    "sentiment": "tasks/sst",
    "semantic-roles": "tasks/srl_ewt_propbank",
    "entailment": "tasks/snli",
    "coreference": "tasks/coref_ontogum",
    "question-answering": "tasks/squad_v1.1",
}
"""The folder of each task's data, the cheapest task first."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the parts that the command line names; 1 if one of their commands failed."""
    arguments = _parser().parse_args(argv)
    arguments.output.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + arguments.minutes * 60
    codes = [
        {"tests": _tests, "speed": _speed, "train": _train, "tasks": _tasks}[part](arguments, deadline)
        for part in arguments.parts
    ]
    return int(any(codes))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="+", choices=("tests", "speed", "train", "tasks"), metavar="PART")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder of all that is to be kept")
    parser.add_argument(
        "--runs", type=Path, default=ROOT / "runs", metavar="DIR", help="folder of runs (default: runs)"
    )
    parser.add_argument("--data", type=Path, default=ROOT / ".data", metavar="DIR", help="data (default: .data)")
    parser.add_argument("--device", metavar="DEVICE", help="as in elmokit (default: the GPU if there is one)")
    parser.add_argument("--minutes", type=float, default=9.0, metavar="M", help="stop after M minutes (default: 9)")
    parser.add_argument("--megabytes", type=float, default=15.0, metavar="N", help="largest file (default: 15)")
    parser.add_argument("--tests", nargs="+", default=["tests"], metavar="PATH", help="tests to run (default: all)")
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), metavar="RECIPE", help="sizes for speed")
    parser.add_argument("--tokens", type=int, default=200_000, metavar="N", help="tokens of the text for speed")
    parser.add_argument("--language", choices=("en", "ko"), default="en", help="text to pretrain on (default: en)")
    parser.add_argument("--recipe", default="mini-flat", metavar="NAME", help="recipe to pretrain (default: mini-flat)")
    parser.add_argument("--steps", type=int, default=100_000, metavar="N", help="steps to pretrain (default: 100000)")
    parser.add_argument("--set", nargs="+", default=[], metavar="FIELD=VALUE", help="settings of the pretraining run")
    parser.add_argument("--tasks", nargs="+", default=list(TASK_FOLDERS), choices=TASK_FOLDERS, metavar="TASK")
    parser.add_argument("--task-recipe", default="paper", metavar="NAME", help="recipe of the tasks (default: paper)")
    parser.add_argument("--task-set", nargs="+", default=[], metavar="FIELD=VALUE", help="settings of the tasks")
    return parser


def _tests(arguments: argparse.Namespace, deadline: float) -> int:
    """The test suite, with its report in `tests.xml`."""
    workers = max(1, (os.cpu_count() or 1) // 2)
    report = arguments.output.resolve() / "tests.xml"
    options = ["--numprocesses", str(workers), "--quiet", f"--junit-xml={report}"]
    return _run(["-m", "pytest", *options, *arguments.tests], deadline=deadline, log=arguments.output / "tests.log")


def _speed(arguments: argparse.Namespace, deadline: float) -> int:
    """`speed.json`: tokens per second of training and embedding, written after each size."""
    text = arguments.runs / "speed-text"
    if not text.exists():
        write_random_text(text, num_tokens=arguments.tokens)
    rows: list[Speed] = []
    for size in arguments.sizes:
        for measure in (training_speed, embedding_speed):
            if time.monotonic() > deadline:
                break
            rows += measure(size, text, device=arguments.device)
            record = {"machine": _machine(), "torch": torch.__version__, "rows": [asdict(row) for row in rows]}
            _write(arguments.output / "speed.json", record)
            print(rows[-1], flush=True)
    return 0


def _train(arguments: argparse.Namespace, deadline: float) -> int:
    """Start or resume one pretraining run; leave its weights, settings and log in the output folder."""
    name = f"{arguments.recipe}-{arguments.language}"
    run = arguments.runs / name
    if (run / "config.json").exists():
        given = ["--resume", str(run)]
    else:
        text = arguments.data / arguments.language
        shards = sorted(map(str, text.glob("train-*"))) or [str(text / "train-*")]
        settings = [f"num_steps={arguments.steps}", *arguments.set]
        given = [*shards, "--vocabulary", str(_existing(text, "vocab.txt")), "--run", str(run)]
        given += ["--recipe", arguments.recipe, "--held-out", str(_existing(text, "heldout.txt")), "--set", *settings]
    device = ["--device", arguments.device] if arguments.device else []
    command = ["-m", "elmokit", "pretrain", *given, *device]
    code = _run(command, deadline=deadline - SAVING_SECONDS, log=arguments.output / f"{name}.log")
    if not (run / "model.safetensors").exists():
        return code or 1
    max_bytes = int(arguments.megabytes * 1e6)
    return _carry_away(run, arguments.output / name, max_bytes=max_bytes, log=arguments.output / f"{name}.log") or code


def _carry_away(run: Path, target: Path, *, max_bytes: int, log: Path) -> int:
    """The newest weights of a run, halved and cut so that no file is larger than `max_bytes`."""
    shutil.rmtree(target, ignore_errors=True)
    types = ["--dtype", "float16", "--softmax-dtype", "int8"]
    code = _run(["-m", "elmokit", "convert", str(run), str(target), *types], deadline=time.monotonic() + 120, log=log)
    if code or not target.is_dir():
        return code or 1
    shutil.copy(run / "metrics.jsonl", target)
    shutil.copy(run / "config.json", target / "run.json")
    for path in sorted(target.iterdir()):
        if path.stat().st_size > max_bytes:
            cut(path, max_bytes=max_bytes)
    return 0


def cut(path: Path, *, max_bytes: int) -> None:
    """Replace a file by `NAME.part-00`, `NAME.part-01`, ... of at most so many bytes."""
    content = path.read_bytes()
    for number, start in enumerate(range(0, len(content), max_bytes)):
        path.with_name(f"{path.name}.part-{number:02d}").write_bytes(content[start : start + max_bytes])
    path.unlink()


def _tasks(arguments: argparse.Namespace, deadline: float) -> int:
    """Each task without ELMo and with it; finished runs are left alone, others resumed."""
    codes: list[int] = []
    for task in arguments.tasks:
        for elmo in ("none", "both"):
            if time.monotonic() > deadline - SAVING_SECONDS:
                return int(any(codes))
            name = f"{task}-{arguments.task_recipe}-{elmo}"
            run = arguments.runs / name
            if (run / "config.json").exists():
                given = ["--resume", str(run)]
            else:
                given = [task, "--data", str(arguments.data / TASK_FOLDERS[task]), "--run", str(run), "--elmo", elmo]
                given += ["--recipe", arguments.task_recipe]
                given += ["--set", *arguments.task_set] if arguments.task_set else []
            given += ["--device", arguments.device] if arguments.device else []
            log = arguments.output / f"{name}.log"
            codes.append(_run(["-m", "elmokit", "train", *given], deadline=deadline - SAVING_SECONDS, log=log))
            for kept in ("config.json", "metrics.jsonl"):
                if (run / kept).exists():
                    shutil.copy(run / kept, arguments.output / f"{name}.{kept}")
    return int(any(codes))


def _run(command: Sequence[str], *, deadline: float, log: Path | None = None) -> int:
    """Run Python with these arguments until it ends, or until the deadline, when it is told to save; the exit code.

    0 if the time ran out.
    """
    with (log or Path(os.devnull)).open("a", encoding="utf-8") as output:
        process = subprocess.Popen([sys.executable, *command], stdout=output, stderr=subprocess.STDOUT, cwd=ROOT)
        try:
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(SAVING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            code = 0
    print(f"{' '.join(command[:4])} ...: {'exit code ' + str(code) if code else 'done'}", flush=True)
    return code


def _existing(folder: Path, name: str) -> Path:
    """The file of this name, or the compressed one."""
    return folder / name if (folder / name).exists() else folder / f"{name}.xz"


def _machine() -> str:
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{os.cpu_count()} cores, no GPU"


def _write(path: Path, record: dict[str, object]) -> None:
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
