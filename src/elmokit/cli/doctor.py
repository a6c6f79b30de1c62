"""What this installation has and lacks: versions, processor, threads, GPU, bundled models."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from elmokit.formats.names import DEFAULT_MODEL, bundled_models
from elmokit.version import __version__

CORE = ("torch", "numpy", "h5py", "tqdm", "jinja2", "filelock")
"""The packages that elmokit depends on, as in pyproject.toml."""
TORCH_AT_LEAST = (2, 10)  # older ones run code hidden in crafted weights (CVE-2026-24747)

Finding = tuple[str, str, str]
"""A line of the report: `FAIL` for what keeps elmokit from working, `note` or `ok`; the topic; and the text."""


def report() -> tuple[str, bool]:
    """The findings as text, and whether elmokit can work here."""
    findings = [*_versions()]
    if "FAIL" not in (mark for mark, _, _ in findings):  # what follows imports the packages
        findings += [*_torch(), *_models()]
    lines = [f"{mark:<5} {topic:<12} {text}" for mark, topic, text in findings]
    healthy = "FAIL" not in (mark for mark, _, _ in findings)
    lines.append("elmokit works here" if healthy else "elmokit cannot run here; see the lines marked FAIL")
    return "\n".join(lines), healthy


def _versions() -> Iterator[Finding]:
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
        yield "FAIL", "torch", "is older than 2.10, which reading weights safely needs: upgrade it"
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            _, num_bytes = torch.cuda.mem_get_info(index)
            yield "ok", "GPU", f"{torch.cuda.get_device_name(index)}, {num_bytes / 2**30:.0f} GiB"
    else:
        yield "ok", "GPU", "none that torch can use; models run on the CPU"
    yield "ok", "threads", f"{torch.get_num_threads()} of {os.cpu_count()} cores, {_environment('OMP_NUM_THREADS')}"
    is_passive = os.environ.get("OMP_WAIT_POLICY", "").lower() == "passive"
    advice = "" if is_passive else "; on a shared machine set it to passive: spinning threads slow each other"
    yield "ok" if is_passive else "note", "threads", f"{_environment('OMP_WAIT_POLICY')}{advice}"
    yield "ok", "processor", torch.backends.cpu.get_cpu_capability()


def _models() -> Iterator[Finding]:
    models = bundled_models()
    if DEFAULT_MODEL not in models:
        yield "FAIL", "models", f"the default model {DEFAULT_MODEL} is not in this installation"
    for name, folder in models.items():
        try:
            yield "ok", "models", f"{name}: {_read(folder)}"
        except (ValueError, OSError) as error:
            yield "FAIL", "models", f"{name} cannot be read: {error}"


def _read(folder: Path) -> str:
    from elmokit.elmo.elmo import Elmo

    elmo = Elmo.from_pretrained(folder, device="cpu")
    width = elmo.encode("1 2", layers="top").shape[1]
    return f"{elmo.config.num_parameters:,} parameters, {elmo.num_layers} layers of width {width}"


def _environment(name: str) -> str:
    return f"{name} is {os.environ.get(name, 'not set')}"
