"""Progress bars: on a terminal, after a while, or when they are asked for."""

import io
import sys
import time

import pytest

from elmokit.system import progress_bar as progress
from elmokit.system.progress_bar import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_file_gets_no_bar(capsys: pytest.CaptureFixture[str]):
    with progress_bar(unit="token", total=2) as bar:
        assert bar.disable
        bar.update(2)
    assert capsys.readouterr().err == ""


def test_a_bar_that_is_asked_for_is_shown_everywhere(capsys: pytest.CaptureFixture[str]):
    with progress_bar(unit="token", total=4, done=1, label="reading", show=True) as bar:
        bar.update(3)
    shown = capsys.readouterr().err
    assert "reading:  25%" in shown and "4/4" in shown and "token/s" in shown


def test_a_terminal_gets_a_bar_unless_the_work_is_done_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with progress_bar(unit="token", total=2) as bar:
        assert not bar.disable
        bar.update(2)
    assert terminal.getvalue() == ""


def test_the_seconds_are_shown_while_nothing_is_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setattr(progress, "DELAY", 0.02)
    monkeypatch.setattr(progress, "_TICK", 0.01)
    with progress_bar(unit="sentence", total=1):
        ends = time.monotonic() + 10
        while "0/1" not in terminal.getvalue() and time.monotonic() < ends:
            time.sleep(0.01)
    shown = terminal.getvalue()
    assert "0/1" in shown
    time.sleep(0.05)
    assert terminal.getvalue() == shown  # nothing more after the end


def test_a_bar_can_be_switched_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with progress_bar(unit="token", total=2, show=False) as bar:
        assert bar.disable
        bar.update(2)
    assert terminal.getvalue() == ""
