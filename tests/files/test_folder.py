from __future__ import annotations

import os
from pathlib import Path

import pytest

from elmokit.files.atomic import new_folder
from elmokit.files.locks import InUseError


def test_a_folder_that_is_being_made_is_not_made_a_second_time(tmp_path: Path):
    target = tmp_path / "parent" / "model"
    with new_folder(target) as place:
        (place / "first").touch()
        with pytest.raises(InUseError, match="model is in use by another process"), new_folder(target):
            pytest.fail("two are making it")
    assert os.listdir(target) == ["first"] and os.listdir(tmp_path / "parent") == ["model"]
    with pytest.raises(FileExistsError, match="is not an empty folder"), new_folder(target):
        pytest.fail("it is there")


def test_what_a_process_left_that_was_killed_after_its_work_goes(tmp_path: Path):
    target = tmp_path / "model"
    with new_folder(target) as place:
        (place / "first").touch()
    (tmp_path / ".model.lock").touch()
    (tmp_path / ".model.0123456789abcdef.tmp").mkdir()
    with pytest.raises(FileExistsError), new_folder(target):
        pytest.fail("it is there")
    assert os.listdir(tmp_path) == ["model"]
