"""A format that elmokit does not know, defined outside of it: all of a model in one archive of NumPy, `toy.npz`."""

import json
import zipfile
from dataclasses import asdict
from pathlib import Path

import numpy as np

from elmokit.formats.file_kinds import FileKind
from elmokit.formats.format import Format, WriteSettings
from elmokit.formats.inspect import Inspection
from elmokit.formats.model_files import ModelFiles
from elmokit.formats.weights import StoredBiLM
from elmokit.model.config import BiLMConfig
from elmokit.system.messages import FormatError

_CONFIG = "toy_config"


def _archive(files: ModelFiles) -> Path | None:
    zips = [path for path, kind in files.given.items() if kind is FileKind.ZIP]
    return next((path for path in zips if f"{_CONFIG}.npy" in zipfile.ZipFile(path).namelist()), None)


def _config(path: Path) -> BiLMConfig:
    with np.load(path, allow_pickle=False) as archive:
        values = json.loads(str(archive[_CONFIG]))
    return BiLMConfig(**values | {"filters": tuple(map(tuple, values["filters"]))})


def _recognise(files: ModelFiles) -> bool:
    return _archive(files) is not None


def _inspect(files: ModelFiles, inspection: Inspection) -> None:
    path = _archive(files)
    assert path is not None
    inspection.add_files(path)
    inspection.config = _config(path)
    inspection.dtypes = ["float32"]


def _read(files: ModelFiles, *, with_softmax: bool | None) -> StoredBiLM:
    path = _archive(files)
    assert path is not None
    if with_softmax:
        raise FormatError(path, "has no softmax; toys never have one")
    with np.load(path, allow_pickle=False) as archive:
        tensors = {name: archive[name] for name in archive.files if name != _CONFIG}
    stored = StoredBiLM(config=_config(path), tensors=tensors)
    stored.check(path)
    return stored


def _write(folder: Path, stored: StoredBiLM, settings: WriteSettings) -> list[str]:
    folder.mkdir()
    config = {_CONFIG: np.array(json.dumps(asdict(stored.config)))}
    np.savez(folder / "toy.npz", **config, **stored.without_softmax().tensors)
    return ["toys have no softmax"] if stored.has_softmax else []


TOY_FORMAT = Format(
    name="toy", description="toy (npz)", recognise=_recognise, inspect=_inspect, read=_read, write=_write
)
