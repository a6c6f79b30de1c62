"""The command as a process of its own, interrupted while it is still importing and reading its arguments."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPTED_AT = """
import runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started without it
sys.meta_path.insert(0, Interrupt())
runpy.run_module("elmokit", run_name="__main__")
"""


@pytest.mark.parametrize("module", ["elmokit.cli.main", "elmokit.cli.tasks", "elmokit.tasks.all_tasks"])
def test_an_interrupt_in_the_first_moments_is_one_line(module: str):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_AT, module], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "elmokit: interrupted\n")


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "elmokit", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("elmokit ")


def test_a_name_that_is_not_utf_8_is_printed_as_it_is(tmp_path: Path):
    (tmp_path / "shard").write_text("one two\n")
    output = bytes(tmp_path) + b"/\xff.txt"
    command = [sys.executable, "-m", "elmokit", "vocabulary", tmp_path / "shard", "-o", output]
    environment = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}  # as with most people's locale
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, b"") and output in done.stdout


def test_a_current_folder_that_is_gone_is_said(tmp_path: Path):
    line = f"mkdir gone; cd gone; rmdir ../gone; {sys.executable} -m elmokit inspect mini-en"
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = "elmokit: error: the current folder: No such file or directory; change to another one\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize("encoding", ["ascii:surrogateescape", "ascii:strict", "cp1252:strict", "cp949:strict"])
def test_what_the_encoding_of_the_output_does_not_have_is_escaped(tmp_path: Path, encoding: str):
    (tmp_path / "shard").write_text("one two\n")
    output = tmp_path / "눈œ.txt"
    command = [sys.executable, "-m", "elmokit", "vocabulary", tmp_path / "shard", "-o", output]
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    codec, _, _ = encoding.partition(":")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "눈œ.txt".encode(codec, errors="backslashreplace") in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        ("inspect mini-en >&-", 0, ""),
        ("inspect none >&-", 2, "elmokit: error: no model 'none'"),
        ("inspect mini-en 2>&-", 0, ""),
        ("inspect none 2>&-", 2, ""),
        ("vocabulary - -o OUT <&-", 2, "elmokit: error: the shards contain no sentence: standard input"),
    ],
)
def test_closed_streams_are_empty_or_lead_nowhere(arguments: str, code: int, error: str, tmp_path: Path):
    line = f"{sys.executable} -m elmokit {arguments}".replace("OUT", str(tmp_path / "out.txt"))
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.startswith(error) and done.stderr.count("\n") == bool(error)
    assert not done.stdout or "mini-en" in done.stdout
