import bz2
import errno
import gzip
import io
import lzma
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.files.lines import check_inputs, check_texts, lines_and_first, read_chunks, read_lines
from limited_disk import failing
from refusals import refused_files
from toy_stored import without_allocation

COMPRESSIONS = pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress, bz2.compress])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shard.txt"  # whatever is in it: the name does not matter


def assert_refused(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        list(read_lines(path))


@COMPRESSIONS
def test_reads_lines_whatever_the_compression_also_of_files_put_one_behind_the_other(path: Path, compress):
    for contents, lines in (
        (["one\n밥\n\nlast"], ["one", "밥", "", "last"]),
        (["one\n", "two\n"], ["one", "two"]),
        ([""], []),
    ):
        path.write_bytes(b"".join(compress(content.encode()) for content in contents))
        assert list(read_lines(path)) == lines


@pytest.mark.parametrize("compress", [lzma.compress, bz2.compress])
def test_zeros_may_be_between_streams_and_damage_in_the_second_is_an_error(path: Path, compress):
    streams = [compress(b"one\n" * 99), compress(b"two\n" * 99)]
    path.write_bytes(b"\0\0\0\0".join([*streams, b"\0" * 8]))
    assert list(read_lines(path)) == ["one"] * 99 + ["two"] * 99
    for place in (1, len(streams[1]) // 2):
        damaged = bytearray(streams[1])
        damaged[place] ^= 255
        message = r"shard\.txt: the compressed file is truncated or damaged after line"
        assert_refused(path, streams[0] + damaged, message)


def test_zstd_is_read_where_python_can(path: Path, monkeypatch: pytest.MonkeyPatch):
    class Stored:
        """Acts as if zstd stored bytes unchanged after its magic number."""

        eof, needs_input, unused_data = False, True, b""

        def decompress(self, packed: bytes, _: int) -> bytes:
            self.eof = True
            return packed[4:]

    path.write_bytes(b"\x28\xb5\x2f\xfdone\n")
    module = SimpleNamespace(ZstdDecompressor=Stored)
    monkeypatch.setattr("elmokit.files.lines.importlib.import_module", lambda _: module)
    assert list(read_lines(path)) == ["one"]
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    assert_refused(path, path.read_bytes(), "is a zstd file; pip install backports.zstd, or unpack it with zstd -d")


def test_all_files_that_are_not_text_are_named_at_once(tmp_path: Path):
    for name, content in (("a", b"caf\xe9\n"), ("b", b"good\n"), ("c", b"good\nna\xefve\n"), ("d", b"\0")):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(
        ValueError, match=r"/a, line 1: byte 0xe9 .* \(2 more files cannot be read either: .*/c, .*/d\)$"
    ):
        check_texts(*sorted(tmp_path.iterdir()))
    check_texts(tmp_path / "b")


def test_the_first_line_that_is_not_blank_is_known_before_all_are_read(path: Path):
    for text, expected in (("\n \n{one\ntwo", "{one"), ("\n", "")):
        path.write_text(f"{text}\n")
        lines, first = lines_and_first(path)
        assert first == expected and list(lines) == text.split("\n")


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r"])
def test_only_a_newline_ends_a_line(path: Path, separator: str):
    path.write_bytes(f"a{separator}b\n{separator}\U0001f600 \nc\n".encode())
    assert list(read_lines(path)) == [f"a{separator}b", f"{separator}\U0001f600 ", "c"]


def test_a_byte_order_mark_is_removed_at_the_start_of_a_line_unless_it_may_be_of_a_token(path: Path):
    path.write_bytes("\ufeffa\n\ufeffb\nc\ufeff\n".encode())
    assert list(read_lines(path)) == ["a", "b", "c\ufeff"]
    assert list(read_lines(path, keep_marks=True)) == ["a", "\ufeffb", "c\ufeff"]


@COMPRESSIONS
def test_a_carriage_return_belongs_to_the_line_end_and_alone_is_to_be_converted(path: Path, compress):
    for content, lines in ((b"a\r\nb\r\n", ["a", "b"]), (b"a\r", ["a"])):
        path.write_bytes(compress(content))
        assert list(read_lines(path)) == lines
    for content in (b"a\rb\r", b"a\rb", b"\r\r"):
        assert_refused(path, compress(content), r"shard\.txt: .* the line ends of old Macs; .* tr '\\r' '\\n'")


@COMPRESSIONS
def test_a_line_has_a_largest_length(path: Path, compress):
    path.write_bytes(compress(b"four\n" + b"fives\n" + b"four"))
    assert list(read_lines(path, max_line_bytes=6)) == ["four", "fives", "four"]
    lines = read_lines(path, max_line_bytes=5)
    assert next(lines) == "four"
    with pytest.raises(ValueError, match=r"shard\.txt, line 2: has more than 5 bytes; expected text"):
        next(lines)


@pytest.mark.parametrize("open_packed", [gzip.open, bz2.open])
def test_a_small_file_with_an_endless_line_is_refused_in_little_memory(path: Path, open_packed):
    """120 MB are compressed to half a MB."""
    with open_packed(path, "wb", compresslevel=1) as file:
        for _ in range(120):
            file.write(b"x" * 1_000_000)
    assert path.stat().st_size < 1_000_000
    message = rf"^{path}, line 1: has more than 16\.0 MiB; expected text"
    with without_allocation(60 << 20), pytest.raises(ValueError, match=message):
        next(read_lines(path))


@COMPRESSIONS
def test_a_minus_is_standard_input_and_errors_say_so(monkeypatch: pytest.MonkeyPatch, compress):
    stdin = io.BufferedReader(io.BytesIO(compress("밥\nb\n".encode() + b"\xff")))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stdin))
    lines = read_lines("-")
    assert [next(lines), next(lines)] == ["밥", "b"]
    with pytest.raises(ValueError, match="standard input, line 3: byte 0xff"):
        next(lines)


@COMPRESSIONS
def test_what_is_no_text_is_named_by_file_and_line(path: Path, compress):
    for content, message in (
        (b"good\nbad \xe9 byte\n", "line 2: byte 0xe9 at byte 5 is not UTF-8"),
        (b"good\ncut \xeb\xb0", "line 2: byte 0xeb at byte 5 is not UTF-8"),
        (b"good\n\xed\xa0\x80\n", "line 2: byte 0xed at byte 1 is not UTF-8"),  # a lone surrogate
        (b"good\nb\0d\n", "line 2: NUL byte at byte 2"),
    ):
        assert_refused(path, compress(content), rf"shard\.txt, {message}")


OTHER = ("über latin-1", "žluť cp1250", "мама koi8-r", "눈이 euc-kr", "猫 shift-jis")
MARKED = ("UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE")


def test_documents_other_encodings_and_other_compressions_are_named(path: Path, snapshot: SnapshotAssertion):
    contents = (
        *(text.encode(name) for text, name in map(str.split, OTHER)),
        *("\ufeffa\n".encode(name) for name in MARKED),
        *("good\n".encode(name) for name in MARKED[:2]),
        *(b"%PDF-1.4\n", b"{\\rtf1 x", b"\xd0\xcf\x11\xe0", b"PAR1", b"\xff\xff\xff\xff\x80", b"PK\x03\x04\x14"),
        *(f"\x80{protocol}\x95\r".encode("latin-1") for protocol in "\2\3\4\5"),
        *(b"SQLite format 3\0\x10\0\r", b"\x89PNG\r\n\x1a\n", b"\x93NUMPY\1\0", b"other\0\r"),
    )
    assert refused_files(lambda path: list(read_lines(path)), path, contents) == snapshot


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bz2.compress])
@pytest.mark.parametrize("kept", [0.5, 0.9, 0.999])
def test_a_compressed_file_that_is_cut_short_or_damaged_is_an_error(path: Path, compress, kept: float):
    whole = compress("".join(f"line {number}\n" for number in range(9_000)).encode())
    cut = int(len(whole) * kept)
    flipped = [whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :] for at in (12, cut // 2)]
    for content in (whole[:cut], *flipped):
        path.write_bytes(content)
        for read in (read_lines, read_chunks):
            with pytest.raises(ValueError, match=r"shard\.txt(: the compressed file is truncated|, line)"):
                list(read(path))


def test_a_compressed_file_that_asks_for_more_memory_than_there_is_is_an_error(path: Path):
    content = lzma.compress(b"a line\n")
    header = content[12:16] + bytes([40]) + content[17:20]  # a dictionary of 4 GiB
    content = content[:12] + header + zlib.crc32(header).to_bytes(4, "little") + content[24:]
    assert_refused(path, content, r"damaged after line 0 \(Memory usage limit exceeded\)")


@pytest.mark.skipif(sys.platform != "linux", reason="a file that opens but cannot be read")
def test_a_disk_that_fails_is_an_error_that_names_the_file(monkeypatch: pytest.MonkeyPatch):
    fail = failing(errno.EIO)
    stdin = SimpleNamespace(buffer=SimpleNamespace(peek=lambda _: b"line\n", read=fail, readline=fail))
    monkeypatch.setattr(sys, "stdin", stdin)
    for read in (read_lines, read_chunks):
        with pytest.raises(OSError, match="^standard input: reading failed.*: Input/output error$"):
            list(read("-"))
    for read in (read_lines, read_chunks, check_inputs):
        with pytest.raises(OSError, match="^/proc/self/mem: reading failed: Input/output error$"):
            list(read("/proc/self/mem") or ())


def test_a_missing_file_and_a_folder_are_errors_and_stopping_early_closes_the_file(path: Path):
    with pytest.raises(FileNotFoundError, match=r"shard\.txt: there is no such file"):
        list(read_lines(path))
    with pytest.raises(IsADirectoryError, match="is a folder; expected a text file"):
        list(read_lines(path.parent))
    path.write_text("a\nb\n")
    lines = read_lines(path)
    assert next(lines) == "a"
    del lines  # an open file would be a ResourceWarning, and a warning is an error
