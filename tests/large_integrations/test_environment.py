"""The environment of these tests differs from that of `make test` in what was added to it, not in what we depend on."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path


def pinned(file: str) -> dict[str, str]:
    lines = (Path(__file__).parents[2] / file).read_text(encoding="utf-8").splitlines()
    return dict(line.lower().split("==") for line in lines if "==" in line)


def test_what_we_depend_on_has_the_version_of_the_other_tests_and_torch_is_the_one_for_the_cpu():
    ours, theirs = pinned("constraints.txt"), pinned("constraints-integrations.txt")
    for package in ("torch", "numpy", "h5py", "tqdm", "jinja2", "filelock"):
        assert theirs[package] == ours[package]
        assert importlib.metadata.version(package).partition("+")[0] == ours[package]
    assert not [name for name in theirs if name.startswith("nvidia")]
