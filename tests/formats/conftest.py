import shutil
from pathlib import Path

import pytest

from elmokit.formats.importers.layouts import write_bilm_tf
from elmokit.formats.native import write_native
from toy_stored import make_stored


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model in both formats, written only once, because writing waits for the disk."""
    folder = tmp_path_factory.mktemp("written")
    write_bilm_tf(folder / "pair", make_stored())
    write_native(folder / "model", make_stored(num_tokens=20))
    return folder


@pytest.fixture
def pair(written: Path, tmp_path: Path) -> Path:
    """A folder with options.json, weights.hdf5 and vocabulary.txt of a tiny model."""
    return shutil.copytree(written / "pair", tmp_path / "pair")


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """A native model with a softmax of 20 rows."""
    return shutil.copytree(written / "model", tmp_path / "model")
