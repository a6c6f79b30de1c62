"""The files that a user passes as a model (a folder, a file in it, or two files) and their kinds, determined once."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from elmokit.files.json_fields import read_json_object
from elmokit.files.torch_files import looks_like_torch_file, read_torch_file
from elmokit.formats.file_kinds import ADVICE, ARCHIVES, PICKLES, FileKind, kind_of, kinds_in
from elmokit.formats.names import pair_paths, resolve_model
from elmokit.system.messages import FormatError, join_names

StrPath: TypeAlias = str | os.PathLike[str]


class ModelFiles:
    """A path or the name of a model, bundled or on the Hub, and the file of weights given with a path, if any.

    Raises the errors of `resolve_model` and `pair_paths`, and FileNotFoundError if one of two files is not there.
    """

    def __init__(self, path: StrPath, weights: StrPath | None = None) -> None:
        if weights is None:
            self.path, self.weights = resolve_model(path if isinstance(path, str) else Path(path)), None
            return
        options, given_weights = (given if isinstance(given, str) else Path(given) for given in (path, weights))
        self.path, self.weights = pair_paths(options, given_weights)
        for given in (self.path, self.weights):
            if not os.path.lexists(given):
                raise FileNotFoundError(f"{given}: there is no such file or folder")

    @property
    def is_folder(self) -> bool:
        return self.path.is_dir()

    @property
    def is_archive(self) -> bool:
        """Whether the path is a zip or tar archive, which may hold a model."""
        return self.weights is None and self.given.get(self.path) in ARCHIVES

    @property
    def folder(self) -> Path:
        """The folder, or that of the file; of two files, that of the options, which may be the second."""
        if self.is_folder:
            return self.path
        return next((path for path, kind in self.given.items() if kind is not FileKind.HDF5), self.path).parent

    @cached_property
    def given(self) -> dict[Path, FileKind]:
        """Kinds of the given files; for a folder, of all files in it."""
        if self.is_folder and self.weights is None:
            return self.in_folder
        return {path: kind_of(path) for path in (self.path, self.weights) if path is not None}

    @cached_property
    def in_folder(self) -> dict[Path, FileKind]:
        """Kinds of all files in the folder. Raises FormatError for one with too many."""
        return kinds_in(self.folder)

    @property
    def nearby(self) -> dict[Path, FileKind]:
        """Kinds of the given files and of all in the folder, one of which may be the vocabulary."""
        return self.in_folder | self.given

    def not_a_model(self) -> FormatError:
        """The refusal that says what was found instead of a model, and what to do with it."""
        if FileKind.TASK_CONFIG in self.given.values():
            reason = "is a run of `elmokit train`: the model of a task, not a biLM; open it with load_task"
            return FormatError(self.folder, reason)
        for path, kind in self.given.items():
            if kind is FileKind.BROKEN_JSON:
                read_json_object(path)  # raises an error that says what is wrong with it
            if kind in PICKLES and looks_like_torch_file(path):
                read_torch_file(path)  # raises an error that says what is wrong with it, if that is why
        if not self.given:
            folders = join_names(sorted(path.name for path in self.path.iterdir()))
            found = f"holds only folders: {folders}" if folders else "is an empty folder"
            return FormatError(self.path, f"{found}; give the folder of a model")
        if not self.is_folder:
            path, kind = next(iter(self.given.items()))
            return wrong_kind(path, kind, expected="a model")
        found = join_names(f"{path.name} ({kind.value})" for path, kind in self.given.items())
        advice = [text for text in dict.fromkeys(ADVICE.get(kind) for kind in self.given.values()) if text]
        return FormatError(self.path, "; ".join([f"holds no model that can be read: {found}", *advice]))


def wrong_kind(path: Path, kind: FileKind, *, expected: str) -> FormatError:
    """The refusal of a file of the wrong kind, with advice on what to do with it."""
    advice = f"; {ADVICE[kind]}" if kind in ADVICE else ""
    return FormatError(path, f"is {kind.value}; expected {expected}{advice}")
