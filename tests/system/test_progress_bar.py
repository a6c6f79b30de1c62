"""Progress bars: on a terminal, after a while, or when they are asked for; a line each minute in a log file."""

import io
import os
import re
import sys

import pytest

from elmokit.system import progress_bar as progress
from elmokit.system.progress_bar import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_a_file_and_a_terminal_without_columns_get_a_line_each_minute(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]
):
    """Some CI and `docker run -t` have a terminal of 0 columns."""
    monkeypatch.setattr(Terminal, "fileno", lambda _: 2)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((0, 0)))
    monkeypatch.setattr(sys, "stderr", log := stream())
    with progress_bar(unit=" tokens", total=4, label="reading") as bar:
        bar.update(1)
    assert log.getvalue() == ""  # it was done within a minute
    monkeypatch.setattr(progress, "DELAY", 1e-9)
    monkeypatch.setattr(progress, "LINE_EVERY", 0)
    with progress_bar(unit="epoch", total=2) as epochs, progress_bar(unit=" tokens", total=4, label="reading") as bar:
        bar.update(1)
        bar.update(2)
        epochs.update(1)
    lines = log.getvalue().splitlines()
    assert len(lines) == 3
    for line, start in zip(lines, (r"reading: +25% 1/4", r"reading: +75% 3/4", r" *50% 1/2"), strict=True):
        assert re.fullmatch(rf"{start} \[\d\d:\d\d<.*(epoch|tokens).*\]", line), line


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
