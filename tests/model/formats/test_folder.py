from __future__ import annotations

import os
from pathlib import Path

import pytest

from elmokit.model.formats.folder import new_folder
from elmokit.system.locks import InUseError


def test_a_folder_that_is_being_made_is_not_made_a_second_time(tmp_path: Path):
    target = tmp_path / "parent" / "model"
    with new_folder(target) as place:
        (place / "first").touch()
        with pytest.raises(InUseError, match=f"model is in use by process {os.getpid()} "), new_folder(target):
            pytest.fail("two are making it")
    assert os.listdir(target) == ["first"] and os.listdir(tmp_path / "parent") == ["model"]
    with pytest.raises(FileExistsError, match="is not an empty folder"), new_folder(target):
        pytest.fail("it is there")
