"""The files that a user passes as a model of another format, with their kinds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from elmokit.files.json import read_json
from elmokit.files.lines import BYTE_ORDER_MARK, read_chunks
from elmokit.files.torch_files import looks_like_torch_file, read_torch_file
from elmokit.formats.file_kinds import ADVICE, PICKLES, FileKind, kind_of, kinds_in
from elmokit.formats.inspection import SEVERAL_VOCABULARIES
from elmokit.formats.native import read_vocabulary
from elmokit.system.messages import FormatError, join_names, leads_out
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.spelling import DictionarySpelling
from elmokit.text.vocabulary import UNKNOWN

if TYPE_CHECKING:
    from elmokit.files.torch_files import TorchFile
    from elmokit.formats.inspection import StoredMix
    from elmokit.model.config import BiLMConfig
    from elmokit.model.weights import Weights
    from elmokit.text.vocabulary import Vocabulary


_HEAD_BYTES = 1 << 20


class IncompleteError(FormatError):
    """The files are not a model, or only a part of one. A failed download may be in place of the missing part."""


@dataclass(frozen=True)
class Imported:
    """A model of another format, and facts about its files."""

    weights: Weights
    files: list[Path]
    dtypes: list[str]
    risks: list[str]
    mixes: list[StoredMix] = field(default_factory=list["StoredMix"])


class Sources:
    """A folder, a file in one, or two files."""

    def __init__(self, path: Path, weights: Path | None = None) -> None:
        self.path = path
        self.weights = weights
        self.is_folder: Final = weights is None and path.is_dir()
        self.torch_file: Final = cache(read_torch_file)  # so that each is read once

    @property
    def folder(self) -> Path:
        """The given folder, or the folder of the given file. With two files, the folder of the options."""
        if self.is_folder:
            return self.path
        return next((path for path, kind in self.given.items() if kind is not FileKind.HDF5), self.path).parent

    @cached_property
    def given(self) -> dict[Path, FileKind]:
        """Kinds of the given files; for a folder, of all files in it."""
        if self.is_folder:
            return self.in_folder
        return {path: kind_of(path) for path in (self.path, self.weights) if path is not None}

    @cached_property
    def in_folder(self) -> dict[Path, FileKind]:
        """Kinds of all files in the folder. Raises FormatError if there are too many."""
        return kinds_in(self.folder)

    @property
    def nearby(self) -> dict[Path, FileKind]:
        """Kinds of the given files and of all files in the folder. The vocabulary may be one of them."""
        return self.in_folder | self.given

    def torch_files(self, *, must_be_readable: bool, in_folder: bool = False) -> list[TorchFile]:
        """The PyTorch files among the given files, or among all files in the folder.

        must_be_readable: raise FormatError for a file that cannot be read. Otherwise the file is skipped, and
            `not_a_model` returns its error if nothing else is a model.
        """
        kinds = self.in_folder if in_folder else self.given
        files: list[TorchFile] = []
        for path in (path for path, kind in kinds.items() if kind in PICKLES and looks_like_torch_file(path)):
            try:
                files.append(self.torch_file(path))
            except FormatError:
                if must_be_readable:
                    raise
        return files

    def not_a_model(self) -> FormatError:
        """The error that says what the files are instead of a model, and what to do with them."""
        if FileKind.TASK_CONFIG in self.given.values():
            reason = "is a run of `elmokit train`: the model of a task, not a biLM; open it with load_task"
            return FormatError(self.folder, reason)
        for path, kind in self.given.items():
            if kind is FileKind.BROKEN_JSON:
                read_json(path)  # raises the error to report
            if kind in PICKLES and looks_like_torch_file(path):
                self.torch_file(path)  # if it is damaged, this error says how
        if not self.given:
            folders = join_names(sorted(path.name for path in self.path.iterdir()))
            found = f"holds only folders: {folders}" if folders else "is an empty folder"
            return IncompleteError(self.path, f"{found}; give the folder of a model")
        if not self.is_folder:
            path, kind = next(iter(self.given.items()))
            return wrong_kind(path, kind, expected="a model")
        found = join_names(f"{path.name} ({kind.value})" for path, kind in self.given.items())
        advice = [text for text in dict.fromkeys(ADVICE.get(kind) for kind in self.given.values()) if text]
        return IncompleteError(self.path, "; ".join([f"contains no model that elmokit can read: {found}", *advice]))


def wrong_kind(path: Path, kind: FileKind, *, expected: str) -> FormatError:
    """The error for a file of the wrong kind, with advice on what to do with it."""
    advice = f"; {ADVICE[kind]}" if kind in ADVICE else ""
    return IncompleteError(path, f"is {kind.value}; expected {expected}{advice}")


@dataclass(frozen=True)
class Words:
    """The vocabulary in a model's folder, and the dictionary made from it if the model reads words."""

    vocabulary: Vocabulary | None
    spelling: DictionarySpelling | None
    files: list[Path]


def read_words(where: Path, config: BiLMConfig, kinds: dict[Path, FileKind], risks: list[str]) -> Words:
    """The vocabulary among these files, if there is exactly one. If there are several, adds that to `risks`.

    An uncompressed file takes precedence over compressed ones. If the model reads words, raises FormatError, naming
    `where`, if it has no vocabulary, and FormatError, naming the vocabulary, if its table has another size.
    """
    texts = (FileKind.TEXT, FileKind.GZIP, FileKind.XZ, FileKind.BINARY)  # BINARY: a word may contain NUL
    found = [file for file, kind in kinds.items() if kind in texts and looks_like_vocabulary(file)]
    plain = [file for file in found if kinds[file] not in (FileKind.GZIP, FileKind.XZ)]
    path = next((files[0] for files in (plain, found) if len(files) == 1), None)
    if path is None and found:
        risks.append(f"{SEVERAL_VOCABULARIES}: {join_names(file.name for file in found)}")
    vocabulary = None if path is None else read_vocabulary(path)
    files = [] if path is None else [path]
    if config.lookup is None:
        return Words(vocabulary, None, files)
    if path is None or vocabulary is None:
        raise FormatError(where, "reads words of a vocabulary, but there is no vocabulary next to it, or more than one")
    if len(vocabulary) != config.lookup.num_words:
        reason = f"has {len(vocabulary)} tokens, but the table of words has {config.lookup.num_words} rows"
        raise FormatError(path, reason)
    words = {token: number for number, token in enumerate(vocabulary.tokens)}
    most = config.max_characters_per_token
    return Words(vocabulary, DictionarySpelling(words=words, symbols={}, max_characters_per_token=most), files)


def looks_like_vocabulary(path: Path) -> bool:
    """Whether the three special tokens are lines in the first MiB of the file, plain or compressed.

    Raises ValueError for a compressed file that is damaged there, and OSError for one that cannot be read.
    """
    if leads_out(path):
        return False
    head = next(read_chunks(path, size=_HEAD_BYTES), b"").removeprefix(BYTE_ORDER_MARK)
    lines = {line.strip() for line in head.split(b"\n")}
    return all(special.encode() in lines for special in (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN))


def the_file_with(where: Path, files: Iterable[TorchFile], ending: str) -> TorchFile | None:
    """The file with a tensor name that ends in these parts, or None.

    Raises FormatError, naming `where`, the place where the files were found, if there are several.
    """
    found = [file for file in files if any(f".{name}".endswith(f".{ending}") for name in file.entries)]
    if len(found) > 1:
        names = join_names(file.path.name for file in found)
        raise FormatError(where, f"holds several files with the weights of ELMo: {names}; give one of them")
    return found[0] if found else None
