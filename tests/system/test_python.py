from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from elmokit.system.python import give_back_freed_memory, require, warn_caller


def test_a_module_that_is_there_is_imported():
    assert require("json.decoder", extra="x", purpose="a test").JSONDecoder is json.JSONDecoder


def test_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ValueError, match=r"^reading documents needs spacy: pip install 'elmokit\[spacy\]'$"):
        require("spacy.tokens", extra="spacy", purpose="reading documents")


def test_the_error_names_the_package_when_the_module_is_not_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "json.tool", None)
    with pytest.raises(ValueError, match="^drawing needs jsontool: "):
        require("json.tool", package="jsontool", extra="x", purpose="drawing")


def test_a_warning_names_the_line_that_called_the_package():
    line = test_a_warning_names_the_line_that_called_the_package.__code__.co_firstlineno
    with pytest.warns(UserWarning, match="the text is short") as given:
        warn_caller("the text is short")
    assert (given[0].filename, given[0].lineno) == (__file__, line + 3)


def test_a_warning_of_a_module_names_the_line_that_called_the_module():
    module = nn.Module()
    module.forward = warn_caller
    line = test_a_warning_of_a_module_names_the_line_that_called_the_module.__code__.co_firstlineno
    with pytest.warns(UserWarning, match="the text is short") as given:
        module("the text is short")
    assert (given[0].filename, given[0].lineno) == (__file__, line + 5)


SCRIPT = """
from pathlib import Path
from elmokit.system.python import give_back_freed_memory

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
from elmokit.system.python import keep_freed_memory

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
