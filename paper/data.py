"""Where data are in the folder of all data; CONTRIBUTING.md says where each set comes from."""

from __future__ import annotations

from collections.abc import Sized
from pathlib import Path
from typing import TypeVar

WHERE_DATA_ARE = "CONTRIBUTING.md (Data) says where each data set has to be, docs/tasks.md (Data) where it comes from"
Items = TypeVar("Items", bound=Sized)
GLOVE = "glove.6B.50d.100k.txt.gz"


def data_folder(data_dir: Path, name: str, *parts: str) -> Path:
    """The folder of a data set, such as `tasks/wordnet30`, or the deepest of `parts` that is in it.

    An archive may have more folders around its files than another one has. Raises FileNotFoundError without it.
    """
    folder = unpacked(data_dir / name)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: there is no such folder; {WHERE_DATA_ARE}")
    for part in parts:
        if (folder / part).is_dir():
            folder /= part
    return folder


def not_empty(path: Path, read: Items) -> Items:
    """What was read from a file. Raises ValueError if that is nothing: a number of no items is none."""
    if not read:
        raise ValueError(f"{path} has nothing that can be measured: it is empty, or was cut; get it again")
    return read


def unpacked(folder: Path) -> Path:
    """The folder of a data set; an archive that was unpacked into a folder of its own name has a second one in it."""
    inner = folder / folder.name
    return inner if inner.is_dir() else folder


def glove_file(data_dir: Path) -> Path:
    """The word vectors that the tables compare with."""
    return unpacked(data_dir / "tasks/glove") / GLOVE
