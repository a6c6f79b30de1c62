"""The files of a report: figures of matplotlib as SVG, and pages that appear complete or not at all."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from elmokit.files.atomic import atomic_write, temporary_folder
from elmokit.system.optional import require

STYLE = MappingProxyType(
    {
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "elmokit",  # the same runs give the same file
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)


def new_figure(size: tuple[float, float]) -> Any:
    """A `matplotlib.figure.Figure` of that width and height in inches. Raises ValueError without matplotlib."""
    return require("matplotlib.figure", extra="plots", purpose="a figure").Figure(figsize=size, layout="constrained")


def svg(draw: Callable[[], Any], style: Mapping[str, Any] = MappingProxyType({})) -> bytes:
    """The figure that `draw` returns, as SVG; the same figure gives the same bytes.

    style: settings of matplotlib that are added to `STYLE`. Raises ValueError without matplotlib.
    """
    matplotlib = require("matplotlib", extra="plots", purpose="a figure")
    file = io.BytesIO()
    with matplotlib.rc_context({**STYLE, **style}):
        draw().savefig(file, format="svg", dpi=150, metadata={"Date": None, "Creator": "elmokit"})
    return file.getvalue()


def plain_label(name: str) -> str:
    """Escape a name for matplotlib. It reads text between dollars as mathematics and hides labels starting with `_`."""
    return ("\u200b" if name.startswith("_") else "") + name.replace("$", r"\$")


def check_folder(folder: Path) -> None:
    """Raise OSError, naming the folder, if no pages can be written into it. The folder need not exist."""
    target = folder.resolve()
    existing = next(path for path in (target, *target.parents) if path.exists())
    if not existing.is_dir():
        raise NotADirectoryError(f"{folder}: {existing} is not a folder; choose another output folder")
    with temporary_folder(existing / "page", named=folder):
        pass


def write_pages(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    """Write the contents of files by name, and return their paths. A name may contain folders."""
    for name, contents in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / name) as unfinished:
            unfinished.write_bytes(contents)
    return [folder / name for name in files]
