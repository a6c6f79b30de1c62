from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from elmokit.formats import vocabulary_file as vocabulary
from elmokit.formats.vocabulary_file import looks_like_vocabulary, read_vocabulary
from elmokit.system.messages import FormatError

TEXT = b"<S>\r\n</S>\r\n<UNK>\r\nthe\r\n"


def test_a_vocabulary_is_known_by_its_special_tokens_plain_or_compressed(tmp_path: Path):
    (tmp_path / "plain.txt").write_bytes(TEXT)
    (tmp_path / "small.gz").write_bytes(gzip.compress(TEXT))
    (tmp_path / "prose.txt").write_bytes(b"the\nbank\n")
    assert looks_like_vocabulary(tmp_path / "plain.txt") and looks_like_vocabulary(tmp_path / "small.gz")
    assert not looks_like_vocabulary(tmp_path / "prose.txt")


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(TEXT)[:-12],
        gzip.compress(TEXT)[:3],
        gzip.compress(TEXT)[:10] + b"\xff" + gzip.compress(TEXT)[11:],
        lzma.compress(TEXT)[:-12],
        lzma.compress(TEXT)[:6] + b"\xff" + lzma.compress(TEXT)[7:],
    ],
    ids=["gzip cut short", "a part of gzip's header", "a byte of gzip", "xz cut short", "a byte of xz's header"],
)
def test_a_compressed_file_that_is_damaged_may_be_the_vocabulary_and_is_refused(tmp_path: Path, content: bytes):
    (tmp_path / "damaged").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"damaged: .* is truncated or damaged \(.*it may be the vocabulary of the model"
    ):
        looks_like_vocabulary(tmp_path / "damaged")
    with pytest.raises(FileNotFoundError, match="missing"):
        looks_like_vocabulary(tmp_path / "missing.txt")


def test_what_is_elsewhere_is_no_vocabulary(tmp_path: Path):
    (tmp_path / "model").mkdir()
    (tmp_path / "outside.txt").write_bytes(TEXT)
    (tmp_path / "model" / "link.txt").symlink_to(tmp_path / "outside.txt")
    assert not looks_like_vocabulary(tmp_path / "model" / "link.txt")
    with pytest.raises(FormatError, match="link"):
        read_vocabulary(tmp_path / "model" / "link.txt")


@pytest.mark.parametrize(("most", "expected"), [(1 << 28, 100_004), (500_000, None)])
def test_no_more_is_read_than_words_can_be_packed_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, expected: int | None
):
    monkeypatch.setattr(vocabulary, "MAX_BYTES", most)
    words = "".join(f"{number:x}\n" for number in range(100_000)).encode()
    (tmp_path / "words.gz").write_bytes(gzip.compress(TEXT + words, 1))
    if expected is not None:
        assert len(read_vocabulary(tmp_path / "words.gz")) == expected
        return
    with pytest.raises(
        ValueError, match=r"words.gz: has more than 488.3 KiB, which is too much for a file of its size"
    ):
        read_vocabulary(tmp_path / "words.gz")
