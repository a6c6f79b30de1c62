"""A format is a record of functions: one that is defined outside the package is read, inspected and converted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from elmokit.formats.convert import convert
from elmokit.formats.inspect import inspect
from elmokit.formats.native import NATIVE
from elmokit.formats.recognise import FORMATS, read_stored, recognise
from elmokit.formats.weights import StoredBiLM
from elmokit.system.messages import FormatError
from toy_format import TOY_FORMAT

Equal = Callable[[StoredBiLM, StoredBiLM], None]
WITH_TOY = (*FORMATS, TOY_FORMAT)


@pytest.fixture
def toy(folder: Path, tmp_path: Path) -> Path:
    """A model in the toy format, made from a native one with a softmax."""
    assert convert(folder, tmp_path / "toy", to="toy", formats=WITH_TOY) == ["toys have no softmax"]
    return tmp_path / "toy"


def test_a_new_format_is_recognised_as_a_folder_and_as_a_file(toy: Path, folder: Path) -> None:
    assert recognise(toy, formats=WITH_TOY) is recognise(toy / "toy.npz", formats=WITH_TOY) is TOY_FORMAT
    assert recognise(folder, formats=WITH_TOY) is NATIVE
    with pytest.raises(FormatError, match="is a zip archive, and holds no model that can be read: .*npy"):
        recognise(toy / "toy.npz")


def test_a_new_format_is_read(toy: Path, folder: Path, assert_equal: Equal) -> None:
    assert_equal(read_stored(toy, with_softmax=None, formats=WITH_TOY), read_stored(folder))
    with pytest.raises(FormatError, match="toys never have one"):
        read_stored(toy, with_softmax=True, formats=WITH_TOY)


def test_a_new_format_is_inspected(toy: Path) -> None:
    (toy / "notes.txt").write_text("mine\n")
    inspection = inspect(toy, formats=WITH_TOY)
    assert (inspection.format, inspection.num_parameters, inspection.refusals) == ("toy", 3622, [])
    assert inspection.risks == ["1 file not of the model: notes.txt"]
    assert str(inspection).splitlines()[1] == "  format      toy (npz)"


def test_a_new_format_is_converted(toy: Path, folder: Path, tmp_path: Path, assert_equal: Equal) -> None:
    for to in ("native", "bilm_tf"):
        assert convert(toy, tmp_path / to, to=to, formats=WITH_TOY) == []
        assert_equal(read_stored(tmp_path / to), read_stored(folder))


def test_a_format_that_is_only_read_is_no_target(toy: Path, tmp_path: Path) -> None:
    only_read = (*FORMATS, replace(TOY_FORMAT, write=None))
    convert(toy, tmp_path / "native", to="native", formats=only_read)
    with pytest.raises(ValueError, match="cannot convert to 'toy'; expected native or bilm_tf"):
        convert(toy, tmp_path / "again", to="toy", formats=only_read)
