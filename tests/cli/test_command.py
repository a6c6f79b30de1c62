"""The command: interrupted while it still imports and reads its arguments, and with streams and names of any kind."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from elmokit.__main__ import command
from elmokit.cli.main import main

INTERRUPTED_AT = """
import runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            signal.raise_signal(signal.SIGINT)

module = sys.argv.pop(1)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started without it
sys.meta_path.insert(0, Interrupt())
runpy.run_module("elmokit", run_name="__main__")
"""


@pytest.mark.parametrize("module", ["elmokit.cli.main", "elmokit.cli.tasks", "elmokit.tasks.task"])
def test_an_interrupt_in_the_first_moments_is_one_line(module: str):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_AT, module, "train"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "elmokit: interrupted\n")


def test_a_current_folder_that_is_gone_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert command() == 2
    said = "elmokit: error: the current folder: No such file or directory; change to another one\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize(
    ("name", "encoding", "errors"),
    [
        (b"\xff.txt", "utf-8", "strict"),  # as with most people's locale: printed as it is
        *(("눈œ.txt".encode(), "ascii", errors) for errors in ("surrogateescape", "strict")),
        *(("눈œ.txt".encode(), encoding, "strict") for encoding in ("cp1252", "cp949")),
    ],
)
def test_what_the_encoding_of_the_output_does_not_have_is_escaped(
    name: bytes, encoding: str, errors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "shard").write_text("one two\n")
    output = bytes(tmp_path) + b"/" + name
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "argv", ["elmokit", "vocabulary", str(tmp_path / "shard"), "-o", os.fsdecode(output)])
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding=encoding, errors=errors))
    expected = output if encoding == "utf-8" else output.decode().encode(encoding, "backslashreplace")
    assert command() == 0
    assert expected in printed.getvalue()


def test_standard_output_that_cannot_be_written_is_named(
    tiny_bilms: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
):
    with Path("/dev/full").open("w") as full, redirect_stdout(full):
        assert main(["inspect", str(tiny_bilms[0])]) == 2
    assert capsys.readouterr().err.endswith("elmokit: error: standard output: No space left on device\n")
