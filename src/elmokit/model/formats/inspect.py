"""`elmokit inspect`: what a model's files say and what is wrong with them, without reading a weight; without torch."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.model.formats import native
from elmokit.model.formats.bilm_tf import extra_datasets, layout_of, refusals
from elmokit.model.formats.containers.hdf5 import open_hdf5
from elmokit.model.formats.containers.safetensors import DTYPES, TensorEntry, read_header
from elmokit.model.formats.containers.vocabulary import read_vocabulary
from elmokit.model.formats.file_kinds import PICKLES, FileKind, kind_of
from elmokit.model.formats.options_json import read_options
from elmokit.model.formats.recognise import FormatName, StrPath, find_pair, kinds_in, recognise
from elmokit.model.formats.stored import SOFTMAX_BIAS, SOFTMAX_NAMES, wrong_shapes
from elmokit.system.untrusted import FormatError, readable_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from elmokit.model.config import BiLMConfig

_FORMATS: dict[FormatName | None, str] = {
    "native": "native (config.json, safetensors)",
    "bilm_tf": "bilm-tf / AllenNLP (options.json, HDF5)",
    None: "none that is known",
}
_MAX_SHOWN_RISKS = 50
_MAX_SHOWN_NAMES = 8


@dataclass
class Inspection:
    """What was found. `refusals` are why reading it would fail, `risks` what else a user should know."""

    path: Path
    format: FormatName | None = None
    files: dict[Path, int] = field(default_factory=dict[Path, int])
    """Bytes of each file that belongs to the model."""
    dtypes: list[str] = field(default_factory=list[str])
    config: BiLMConfig | None = None
    num_softmax_rows: int | None = None
    vocabulary_size: int | None = None
    refusals: list[str] = field(default_factory=list[str])
    risks: list[str] = field(default_factory=list[str])

    @property
    def num_parameters(self) -> int | None:
        """Without the softmax."""
        return None if self.config is None else self.config.num_parameters

    @property
    def num_softmax_parameters(self) -> int | None:
        if self.config is None or self.num_softmax_rows is None:
            return None
        return self.num_softmax_rows * (self.config.projection_dim + 1)

    def __str__(self) -> str:
        rows = [("format", _FORMATS[self.format])]
        rows += [("file", f"{path.name}  {readable_bytes(size)}") for path, size in self.files.items()]
        rows += [("weights", ", ".join(self.dtypes))] if self.dtypes else []
        if self.config is not None:
            rows += _describe(self.config)
            softmax = self.num_softmax_parameters
            also = "no softmax" if softmax is None else f"{self.config.num_parameters + softmax:,} with the softmax"
            rows.append(("parameters", f"{self.config.num_parameters:,} ({also})"))
        if self.vocabulary_size is not None:
            rows.append(("vocabulary", f"{self.vocabulary_size:,} tokens"))
        problems = [("refused", text) for text in self.refusals] + [("risk", text) for text in self.risks]
        if len(problems) > _MAX_SHOWN_RISKS:
            problems[_MAX_SHOWN_RISKS:] = [("risk", f"... and {len(problems) - _MAX_SHOWN_RISKS} more")]
        rows += problems or [("risk", "none found (the weights themselves were not read)")]
        return "\n".join([shown(str(self.path)), *(f"  {name:<11} {value}" for name, value in rows)])


def inspect(path: StrPath, weights: StrPath | None = None) -> Inspection:
    """Look at a model in any format. `FileNotFoundError` if nothing is there; nothing else is an error here."""
    for each in (path, weights):
        if each is not None and not os.path.lexists(each):
            raise FileNotFoundError(f"{os.fspath(each)}: there is no such file or folder")
    inspection = Inspection(Path(path))
    with _Noted(inspection):
        inspection.format = recognise(path, weights)
        if inspection.format == "native":
            _inspect_native(native.folder_of(Path(path)), inspection)
        else:
            _inspect_bilm_tf(path, weights, inspection)
    with _Noted(inspection):
        others = {each: kind for each, kind in _beside(Path(path), weights).items() if each not in inspection.files}
        for each, kind in others.items():
            if kind in PICKLES:
                inspection.risks.append(f"{shown(each.name)} is {kind.value}: never opened here; opening it runs code")
        if inspection.format is not None and others:
            inspection.risks.append(f"{_count(len(others), 'file')} not of the model: {_names(p.name for p in others)}")
    return inspection


class _Noted:
    """A refusal within ends this part of the inspection and is put down."""

    def __init__(self, inspection: Inspection) -> None:
        self.inspection = inspection

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if not isinstance(error, ValueError | OSError):
            return False
        self.inspection.refusals.append(str(error))
        return True


def _inspect_native(folder: Path, inspection: Inspection) -> None:
    config_path, weights = folder / native.CONFIG_NAME, folder / native.WEIGHTS_NAME
    _add_file(config_path, inspection)
    with _Noted(inspection):
        inspection.config = native.read_config(config_path).bilm
    header: dict[str, TensorEntry] | None = None
    with _Noted(inspection):
        _add_file(weights, inspection)
        header = read_header(weights)
        inspection.dtypes = _dtypes(header)
    if inspection.config is not None and header is not None:
        shapes = {name: entry.shape for name, entry in header.items()}
        inspection.refusals += [str(refusal) for refusal in wrong_shapes(weights, inspection.config, shapes)]
        if native.has_softmax(folder):
            with _Noted(inspection):
                files = native.softmax_files(folder, inspection.config, header)
                inspection.num_softmax_rows = sum(entries[SOFTMAX_BIAS].shape[0] for entries in files.values())
                for each in files:
                    _add_file(each, inspection)
    if (folder / native.CARD_NAME).is_file():
        _add_file(folder / native.CARD_NAME, inspection)
    else:
        inspection.risks.append(f"there is no model card ({native.CARD_NAME}): data and licence are not known")
    if (folder / native.VOCABULARY_NAME).is_file():
        _inspect_vocabulary(folder / native.VOCABULARY_NAME, inspection)


def _inspect_bilm_tf(path: StrPath, weights: StrPath | None, inspection: Inspection) -> None:
    pair = find_pair(path, weights)
    _add_file(pair.options, inspection)
    _add_file(pair.weights, inspection)
    if pair.vocabulary is not None:
        _inspect_vocabulary(pair.vocabulary, inspection)
    with _Noted(inspection):
        options = read_options(pair.options)
        inspection.config = options.config
        inspection.risks += [shown(risk) for risk in options.risks]
        with open_hdf5(pair.weights) as file:
            layout = layout_of(options, file.entries)
            inspection.config = layout.config
            inspection.refusals += [str(refusal) for refusal in refusals(file, layout)]
            found = [file.entries[name].dtype for name in layout.shapes if name in file.entries]
            inspection.dtypes = sorted({f"float{8 * int(dtype[2:])}" for dtype in found if dtype})
            extra = extra_datasets(file, layout)
            if extra:
                said = f"{_count(len(extra), 'dataset')} not of a biLM: {_names(extra)}"
                inspection.risks.append(f"{shown(pair.weights.name)} has {said}")


def _inspect_vocabulary(path: Path, inspection: Inspection) -> None:
    with _Noted(inspection):
        _add_file(path, inspection)
        inspection.vocabulary_size = len(read_vocabulary(path))
        rows = inspection.num_softmax_rows
        if rows is not None and rows != inspection.vocabulary_size:
            raise FormatError(path, f"has {inspection.vocabulary_size} tokens, the softmax {rows} rows")


def _beside(path: Path, weights: StrPath | None) -> dict[Path, FileKind]:
    """What lies in the model's folder; of two files given by name, only they."""
    if weights is not None:
        return {each: kind_of(each) for each in (path, Path(weights))}
    return kinds_in(path)


def _add_file(path: Path, inspection: Inspection) -> None:
    inspection.files[path] = path.stat().st_size


def _names(names: Iterable[str]) -> str:
    listed = [shown(name) for name in names]
    return ", ".join([*listed[:_MAX_SHOWN_NAMES], *(["..."] if len(listed) > _MAX_SHOWN_NAMES else [])])


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _dtypes(header: dict[str, TensorEntry]) -> list[str]:
    names = {code: name for name, code in DTYPES.items()}
    return sorted({names[entry.dtype] for name, entry in header.items() if name not in SOFTMAX_NAMES})


def _describe(config: BiLMConfig) -> list[tuple[str, str]]:
    directions = "forward and backward" if config.bidirectional else "forward only"
    skips = "skip connections" if config.use_skip_connections else "no skip connections"
    projected = f" projected to {config.projection_dim}" if config.projection_dim != config.lstm_dim else ""
    filters = " ".join(f"{number}x{width}" for width, number in config.filters)
    clips = [
        f"{name} to +-{value:g}" if value is not None else f"{name} not"
        for name, value in (("cells", config.cell_clip), ("projections", config.projection_clip))
    ]
    return [
        ("LSTMs", f"{config.num_layers} layers of {config.lstm_dim} cells{projected}, {directions}, {skips}"),
        ("clipped", ", ".join(clips)),
        ("characters", f"at most {config.max_characters_per_token} a token, embedded in {config.character_dim}"),
        ("filters", f"{config.num_filters} (number x width: {filters}), {config.activation}"),
        ("highways", str(config.num_highway_layers)),
        ("vectors", f"{config.num_layers + 1} layers of {config.output_dim}"),
    ]
