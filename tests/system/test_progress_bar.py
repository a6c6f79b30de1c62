"""Progress bars: on a terminal, after a while, or when they are asked for; a line each minute in a log file."""

import io
import os
import re
import sys
import time

import pytest

from elmokit.system import progress_bar as progress
from elmokit.system.progress_bar import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_within_ten_seconds(stream: io.StringIO, wanted: str) -> bool:
    ends = time.monotonic() + 10
    while not re.search(wanted, stream.getvalue()) and time.monotonic() < ends:
        time.sleep(0.01)
    return re.search(wanted, stream.getvalue()) is not None


class Unsized(Terminal):
    """A terminal of 0 columns, as some CI and `docker run -t` have it."""

    def fileno(self) -> int:
        return 2


@pytest.mark.parametrize("stream", [io.StringIO, Unsized])
def test_a_file_and_a_terminal_without_columns_get_a_line_each_minute(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]
):
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((0, 0)))
    monkeypatch.setattr(sys, "stderr", log := stream())
    with progress_bar(unit=" tokens", total=4, label="reading") as bar:
        bar.update(1)
    assert log.getvalue() == ""  # it was done within a minute
    for name, seconds in (("DELAY", 0.001), ("LINE_EVERY", 0.02), ("_TICK", 0.01)):
        monkeypatch.setattr(progress, name, seconds)
    with progress_bar(unit="epoch", total=2), progress_bar(unit=" tokens", total=4, label="reading") as bar:
        bar.update(1)
        assert shown_within_ten_seconds(log, "1/4")
    for line in log.getvalue().splitlines():
        assert re.fullmatch(r"(reading: +)? *(0%|25%) (0/2|1/4) \[\d\d:\d\d<.*(epoch|tokens).*\]", line), line


def test_a_bar_that_is_asked_for_is_shown_everywhere(capsys: pytest.CaptureFixture[str]):
    with progress_bar(unit="token", total=4, done=1, label="reading", show=True) as bar:
        bar.update(3)
    shown = capsys.readouterr().err
    assert "reading:  25%" in shown and "4/4" in shown and "token/s" in shown


def test_the_seconds_are_shown_while_nothing_is_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setattr(progress, "DELAY", 0.02)
    monkeypatch.setattr(progress, "_TICK", 0.01)
    with progress_bar(unit="sentence", total=1):
        assert shown_within_ten_seconds(terminal, "0/1")
    shown = terminal.getvalue()
    time.sleep(0.05)
    assert terminal.getvalue() == shown  # nothing more after the end


def test_a_terminal_and_a_notebook_get_a_bar_unless_the_work_is_done_at_once_or_it_is_switched_off(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    for show in (None, False):
        with progress_bar(unit="token", total=2, show=show) as bar:
            assert bar.disable == (show is False)
            bar.update(2)
        assert terminal.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})())
    assert progress.shows_bars()
