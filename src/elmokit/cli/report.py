"""Commands that report: report on runs, doctor on this installation."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from elmokit.cli.options import Parser
from elmokit.version import __version__

CORE = ("torch", "numpy", "h5py", "tqdm", "jinja2", "filelock", "msgspec", "safetensors")
"""The packages that elmokit depends on, as in pyproject.toml."""
TORCH_AT_LEAST = (2, 10)  # older ones run code hidden in crafted weights (CVE-2026-24747)

Finding = tuple[str, str, str]
"""A line of the report: `FAIL` for what keeps elmokit from working, `note` or `ok`; the topic; and the text."""


def add_report(parser: Parser) -> None:
    runs = "folder of a run of pretrain or train, its metrics.jsonl, a runs.jsonl, or a folder of runs"
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help=runs)
    output = "output folder: training.md for pretraining, tasks.md and results.tsv for tasks (default: report)"
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, default=Path("report"), help=output)


def run_report(arguments: argparse.Namespace) -> int:
    from elmokit.report.report import write_report

    written, num_left_out = write_report(arguments.runs, arguments.output)
    print(*written, sep="\n")
    return 1 if num_left_out else 0


def add_doctor(parser: Parser) -> None:
    """`doctor` takes no arguments."""


def run_doctor(arguments: argparse.Namespace) -> int:
    findings = [*_versions()]
    if "FAIL" not in (mark for mark, _, _ in findings):  # what follows imports the packages
        findings += [*_torch(), *_models()]
    for mark, topic, text in findings:
        print(f"{mark:<5} {topic:<12} {text}")
    healthy = "FAIL" not in (mark for mark, _, _ in findings)
    print("elmokit works here" if healthy else "elmokit cannot run here; see the lines marked FAIL")
    return 0 if healthy else 1


def _versions() -> Iterator[Finding]:
    import importlib.metadata

    yield "ok", "elmokit", f"{__version__} in {Path(__file__).parents[1]}"
    yield "ok", "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    for name in CORE:
        try:
            yield "ok", name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield "FAIL", name, f"is not installed: pip install {name}"


def _torch() -> Iterator[Finding]:
    import torch

    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < TORCH_AT_LEAST:
        yield "FAIL", "torch", "is older than 2.10, the oldest version that reads weights safely: upgrade it"
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            _, num_bytes = torch.cuda.mem_get_info(index)
            yield "ok", "GPU", f"{torch.cuda.get_device_name(index)}, {num_bytes / 2**30:.0f} GiB"
    elif torch.backends.mps.is_available():
        yield "ok", "GPU", torch.backends.mps.get_name()
    else:
        yield "ok", "GPU", "none that torch can use; models run on the CPU"
    yield "ok", "threads", f"{torch.get_num_threads()} of {os.cpu_count()} cores, {_environment('OMP_NUM_THREADS')}"
    is_passive = os.environ.get("OMP_WAIT_POLICY", "").lower() == "passive"
    advice = "" if is_passive else "; on a shared machine set it to passive: spinning threads slow each other down"
    yield "ok" if is_passive else "note", "threads", f"{_environment('OMP_WAIT_POLICY')}{advice}"
    yield "ok", "processor", torch.backends.cpu.get_cpu_capability()


def _models() -> Iterator[Finding]:
    from elmokit.elmo.elmo import Elmo
    from elmokit.formats.find import DEFAULT_MODEL, bundled_models, packaged_models

    models = bundled_models() | packaged_models()
    if DEFAULT_MODEL not in models:
        yield "FAIL", "models", f"the default model {DEFAULT_MODEL} is not in this installation"
    for name, folder in models.items():
        try:
            elmo = Elmo.from_pretrained(folder, device="cpu")
            width = elmo.encode("1 2").shape[1]
            sizes = f"{elmo.config.num_parameters:,} parameters, {elmo.num_layers} layers of width {width}"
            yield "ok", "models", f"{name}: {sizes}"
        except (ValueError, OSError) as error:
            yield "FAIL", "models", f"{name} cannot be read: {error}"


def _environment(name: str) -> str:
    return f"{name} is {os.environ.get(name, 'not set')}"
