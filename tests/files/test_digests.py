from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from elmokit.files.digests import file_digest


def test_the_digest_is_that_of_the_bytes(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"abc")
    assert file_digest(tmp_path / "file", "sha256").hex().startswith("ba7816bf8f01cfea")  # FIPS 180-4, appendix B.1
    assert file_digest(tmp_path / "file") == hashlib.blake2b(b"abc").digest()


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        file_digest(tmp_path / "nothing")
