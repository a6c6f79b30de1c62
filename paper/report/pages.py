"""Runs and results -> the page of results, and pages of single tables."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from elmokit.report.pages import check_folder, write_pages
from paper.all_reproductions import find_reproduction
from paper.report.reproduction_page import reproduction_page
from paper.report.results_report import results_files
from paper.reproduction import Request, paths_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def write_results(paths: Sequence[Path], folder: Path) -> list[Path]:
    """Write `results.md` and its figures from runs of tasks and `results.jsonl` files, or folders of them.

    Returns the paths of what was written. Raises the errors of `check_folder`, and ValueError for what cannot be read.
    """
    check_folder(folder)
    command = shlex.join(["python", "-m", "paper", "page", *map(str, paths), "-o", str(folder)])
    return write_pages(results_files(paths, command=command), folder)


def write_reproduction(name: str, paths: Sequence[Path], folder: Path, *, request: Request) -> Path:
    """Write a table of a paper with our rows, `table1.md`; returns its path.

    paths: what it is made from; if there are none, `request` says what is computed first.
    Raises ValueError for an unknown name, the errors of `check_folder`, and what the table's functions raise; then no
    page is written.
    """
    reproduction = find_reproduction(name)
    check_folder(folder)
    found = paths_of(reproduction, paths, request)
    command = shlex.join(["python", "-m", "paper", name, *map(str, found), "-o", str(folder)])
    rows, details = reproduction.measure(found), reproduction.details(found) if reproduction.details else ()
    if not rows and not any(table.rows for table in details):
        raise ValueError(f"{name}: {', '.join(map(str, found))} have no {reproduction.reads}")
    page = reproduction_page(reproduction, rows, details, command=command)
    return write_pages({f"{name}.md": page.encode()}, folder)[0]
