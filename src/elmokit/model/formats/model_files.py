"""The files that a user calls a model: a folder, a file in it, or two files; what kinds they are is asked once."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from elmokit.model.formats.file_kinds import ADVICE, FileKind, kind_of
from elmokit.system.json_fields import read_json_object
from elmokit.system.untrusted import FormatError

StrPath: TypeAlias = str | os.PathLike[str]

MAX_FILES = 1000
"""Files of a folder that are looked at."""
_MAX_LISTED = 8


class ModelFiles:
    """A path, and the file of weights given with it, if any.

    Raises FileNotFoundError if nothing is there.
    """

    def __init__(self, path: StrPath, weights: StrPath | None = None) -> None:
        for each in (path, weights):
            if each is not None and not os.path.lexists(each):
                raise FileNotFoundError(f"{os.fspath(each)}: there is no such file or folder")
        self.path = Path(path)
        self.weights = None if weights is None else Path(weights)

    @property
    def is_folder(self) -> bool:
        return self.path.is_dir()

    @property
    def folder(self) -> Path:
        """The folder itself, or the one in which the file is."""
        return self.path if self.is_folder else self.path.parent

    @cached_property
    def given(self) -> dict[Path, FileKind]:
        """Kinds of the files that were named; of a folder, of all its files."""
        if self.is_folder and self.weights is None:
            return self.beside
        return {path: kind_of(path) for path in (self.path, self.weights) if path is not None}

    @cached_property
    def beside(self) -> dict[Path, FileKind]:
        """Kinds of all files in the folder. FormatError for a folder of more files than any model has."""
        files = sorted(path for path in self.folder.iterdir() if not path.is_dir())
        if len(files) > MAX_FILES:
            raise FormatError(
                self.folder, f"holds {len(files)} files; no model does: give the model's files themselves"
            )
        return {path: kind_of(path) for path in files}

    def not_a_model(self) -> FormatError:
        """What was found instead of a model, and what to do with it."""
        for path, kind in self.given.items():
            if kind is FileKind.BROKEN_JSON:
                read_json_object(path)  # says what is wrong with it
        if not self.given:
            return FormatError(self.path, "is a folder without files; expected a model")
        if not self.is_folder:
            path, kind = next(iter(self.given.items()))
            return wrong_kind(path, kind, expected="a model")
        listed = [f"{path.name} ({kind.value})" for path, kind in list(self.given.items())[:_MAX_LISTED]]
        more = ["..."] if len(self.given) > _MAX_LISTED else []
        advice = [text for text in dict.fromkeys(ADVICE.get(kind) for kind in self.given.values()) if text]
        return FormatError(
            self.path, "; ".join([f"holds no model that can be read: {', '.join(listed + more)}", *advice])
        )


def wrong_kind(path: Path, kind: FileKind, *, expected: str) -> FormatError:
    """The refusal of a file that is something else, with what to do with such a file."""
    advice = f"; {ADVICE[kind]}" if kind in ADVICE else ""
    return FormatError(path, f"is {kind.value}; expected {expected}{advice}")
