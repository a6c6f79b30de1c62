"""The environment of these tests differs from that of `make test` in what was added to it, not in what we depend on."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def pinned(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return dict(line.lower().split("==") for line in lines if "==" in line)


@pytest.mark.parametrize("package", ["torch", "numpy", "h5py", "tqdm", "jinja2", "filelock"])
def test_what_we_depend_on_has_the_version_of_the_other_tests(package: str):
    version = pinned("constraints.txt")[package]
    assert pinned("constraints-doors.txt")[package] == version
    assert importlib.metadata.version(package).partition("+")[0] == version


def test_torch_is_the_one_for_the_cpu():
    assert not [name for name in pinned("constraints-doors.txt") if name.startswith("nvidia")]
