"""Archives of models are opened directly; hostile ones are refused before they fill the disk or reach other files."""

import errno
import io
import os
import stat
import tarfile
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from elmokit.files import archives
from elmokit.files.archives import unpacked
from elmokit.system.messages import FormatError
from limited_disk import failing
from toy_stored import assert_refused, read_stored

FIXTURES = Path(__file__).parents[1] / "fixtures" / "formats"
NOISE = os.urandom(5000)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are unpacked."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


def zipped(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def tarred(path: Path, *members: tuple[str, bytes], mode: str = "w:gz", kind: bytes = tarfile.REGTYPE) -> Path:
    with tarfile.open(path, mode) as archive:  # pyright: ignore[reportCallIssue, reportArgumentType]
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(content), kind, "/etc/passwd"  # only links have a target
            archive.addfile(info, io.BytesIO(content))
    return path


def contents(archive: Path) -> dict[str, bytes]:
    with unpacked(archive) as folder:
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_files_and_folders_come_out_and_the_only_folder_is_the_root(tmp_path: Path):
    files = {"a.txt": b"1", "in/b.bin": NOISE}
    shelled = [(f"shell/{name}", content) for name, content in files.items()]
    assert contents(zipped(tmp_path / "flat.zip", *files.items())) == files
    assert contents(zipped(tmp_path / "shell.zip", ("shell/", b""), *shelled)) == files
    for mode in ("w", "w:gz"):
        assert contents(tarred(tmp_path / "flat", *files.items(), mode=mode)) == files
        assert contents(tarred(tmp_path / "shell", *shelled, mode=mode)) == files


def test_what_macos_adds_and_files_next_to_the_folder_of_a_model_are_not_looked_at(tmp_path: Path):
    folder = FIXTURES / "checkpoints" / "char"
    files = [(f"model/{path.name}", path.read_bytes()) for path in folder.iterdir()]
    path = zipped(tmp_path / "macos.zip", *files, ("__MACOSX/model/._options.json", b"\0\5\x16\7"))
    assert read_stored(path).config == read_stored(folder).config
    for other in ("README.txt", ".DS_Store", "._model", ".git/README.txt"):  # files next to the folder of the model
        path = zipped(tmp_path / "more.zip", (other, b"\0\5"), ("LICENSE", b"..."), ("__MACOSX/a", b""), *files)
        assert read_stored(path).config == read_stored(folder).config
    both = zipped(tmp_path / "two.zip", *files, ("another/a.txt", b"1"))
    with pytest.raises(FormatError, match=r"two\.zip: is a zip archive, and holds only folders: another, model; give"):
        read_stored(both)


def test_nothing_is_left_behind(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch):
    with unpacked(zipped(tmp_path / "a.zip", ("a", b"1"))) as folder:
        assert folder.is_relative_to(temporary)
    with pytest.raises(FormatError):
        contents(tarred(tmp_path / "b.tar", ("a", b"1"), ("../b", b"1")))
    with pytest.raises(OSError, match=r"No space left.*temporary/elmokit-"), monkeypatch.context() as full:
        full.setattr(zipfile.ZipFile, "extract", failing(errno.ENOSPC))
        contents(zipped(tmp_path / "a.zip", ("a", b"1")))
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("name", ["../a", "a/../../b", "/etc/elmokit-test"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, temporary: Path, name: str):
    for archive in (zipped(tmp_path / "a.zip", (name, b"1")), tarred(tmp_path / "a.tar.gz", (name, b"1"))):
        with suppress(FormatError), unpacked(archive):
            assert [path.name for path in temporary.glob("*/*")] == ["model"]
    assert not Path("/etc/elmokit-test").exists()


ZIP_LINK = zipfile.ZipInfo("link")
ZIP_LINK.external_attr = (stat.S_IFLNK | 0o777) << 16
ZEROS = bytes(30 << 20)
ENCRYPTED = (b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")  # flags in the list of members
SMALL_SIZE = (len(ZEROS).to_bytes(4, "little"), (100).to_bytes(4, "little"))
HOSTILE: dict[str, tuple[list[Any], str]] = {  # zips and tars
    "a long name": ([("a\x1b[2J" + "x" * 300, b"1")], "File name too long"),
    "a file that is a folder": ([("a", b"1"), ("a/b", b"1")], "cannot be unpacked"),
    "a bomb": ([("noise", NOISE), ("zeros", ZEROS)], "too much for trained weights"),
    "too many files": ([(str(number), b"") for number in range(21)], "holds more than 20 files"),
}
HOSTILE_ZIPS: dict[str, tuple[tuple[Any, bytes], tuple[bytes, bytes], str]] = {  # a member, and bytes that are changed
    "no name": (("name", b"1"), (b"name", b"\0ame"), "cannot be unpacked"),  # a zip's names end at a zero
    "a link": ((ZIP_LINK, b"/etc/passwd"), (b"/etc", b"/etc"), "link: is a link or a device"),
    "a size that is too small": (("zeros", ZEROS), SMALL_SIZE, "cannot be unpacked"),
    "encryption": (("a", NOISE), ENCRYPTED, "is encrypted"),
}


def assert_hostile(path: Path, reason: str) -> None:
    with pytest.raises(FormatError, match=reason) as error:
        contents(path)
    assert "\x1b" not in str(error.value)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setattr(archives, "MAX_MEMBERS", 20)
    members, reason = HOSTILE[name]
    assert_hostile(zipped(tmp_path / "a.zip", *members), reason)
    assert_hostile(tarred(tmp_path / "a.tar.gz", *members), reason)


@pytest.mark.parametrize("name", HOSTILE_ZIPS)
def test_hostile_zips_are_refused(tmp_path: Path, name: str):
    member, (old, new), reason = HOSTILE_ZIPS[name]
    path = zipped(tmp_path / "a.zip", member)
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))
    assert_hostile(path, reason)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_in_tars_are_refused(tmp_path: Path, kind: bytes):
    assert_hostile(tarred(tmp_path / "a.tar.gz", ("link", b""), kind=kind), "link: is a link or a device")


def test_an_error_within_an_archive_names_the_archive(tmp_path: Path):
    with zipfile.ZipFile(FIXTURES / "nlpl/typical.zip") as source:
        members = [(name, source.read(name)) for name in source.namelist() if name != "options.json"]
    path = zipped(tmp_path / "a.zip", *members, ("options.json", b'{"lstm": {}}'))
    assert_refused(r"a\.zip/options\.json: field lstm: object missing required field", path)
    folder = FIXTURES / "many_langs/word_only"
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "word.dic"}
    for words, reason in (({"word.dic": b"\xff\t1\n"}, ", line 1: .* is not UTF-8"), ({}, ": is missing")):
        assert_refused(rf"a\.zip/word\.dic{reason}", zipped(path, *(files | words).items()))


def test_options_that_say_other_sizes_than_the_tensors_are_refused(tmp_path: Path):
    with tarfile.open(FIXTURES / "allennlp" / "layout_0.9.model.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    (options,) = (path for path in tmp_path.rglob("*options_file") if path.is_file())
    options.write_text(options.read_text().replace('"n_layers": 2', '"n_layers": 3'))
    assert_refused(r"options_file: num_layers: the tensors of .* say otherwise", tmp_path)
