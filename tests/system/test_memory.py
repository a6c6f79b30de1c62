"""Tests that freed memory is given back, or kept."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from elmokit.system.memory import give_back_freed_memory

SCRIPT = """
from pathlib import Path
from elmokit.system.memory import give_back_freed_memory

def resident():
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) // 1024

blocks = [bytearray(b"x" * 50_000) for _ in range(2_000)]  # 100 MB in pieces that the allocator keeps
kept = blocks[::100]
del blocks
before = resident()
give_back_freed_memory()
print(before - resident())
"""

FAULTS = """
import resource
from elmokit.system.memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        block = bytearray(b"x") * 5_000_000
        del block
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

fetched = faults()
keep_freed_memory()
faults()
print(fetched, faults())
"""
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the allocator is that of Linux")


@on_linux
def test_what_is_kept_is_not_fetched_again(forks: Any, tmp_path: Path):
    done = forks.run_script(FAULTS, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    fetched, kept = map(int, done.stdout.split())
    assert kept * 10 < fetched


@on_linux
def test_what_was_freed_between_other_things_leaves_the_process(forks: Any, tmp_path: Path):
    done = forks.run_script(SCRIPT, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(re.findall(r"-?\d+", done.stdout)[-1]) > 50


def test_it_may_be_called_at_any_time():
    give_back_freed_memory()
    give_back_freed_memory()
