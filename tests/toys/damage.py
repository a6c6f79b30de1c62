"""Damaged files, drawn by hypothesis: what a disk, a transfer or an attacker may have made of files that we wrote."""

import gzip
import io
import json
import lzma
import os
import re
import resource
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from elmokit.layers.devices import is_about_devices

Files = dict[str, bytes]
"""Contents of the files of a folder, by relative path."""
Way = Callable[[bytes, Random], bytes]

_NUMBERS = (b"0", b"-1", b"1", b"20000", b"1e9", b"99999999999", b"1" * 30, b"1e400", b"NaN", b"0.5", b"9" * 5000)
_VALUES = (b"null", b"[]", b"{}", b'"\\ud800"', b'"\\u0000"', b'"\\u001b[31m"', b"true", b"[" * 5000, b'""', b"-1")
_INSERTED = (b"\0", b"\n", b"\xff", b"\x1b[2J", b" ", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\r\n\r\n")
_WORDS = tuple(word * 100_000 for word in (b"q", b"*", b"9", b"q,"))  # no error may quote such a word
_TREES: list[Any] = [None, [], {}, "", "x", "\0", "\x1b[2J", True, 0, -1, 1, 0.5, 10**12, 10**30, [[]], [0], {"a": 1}]
_UNREADABLE = (
    *(ValueError, OSError, EOFError, LookupError, RecursionError, NotImplementedError, RuntimeError),
    *(zipfile.BadZipFile, lzma.LZMAError, zlib.error),
)
_ANOTHER_KIND = (
    *(b"", b"\0", b"\x93NUMPY\x01\x00v\x00", b"PK\x03\x04", b"\x1f\x8b\x08\x00", b"\xfd7zXZ\x00", b"BZh91AY&SY"),
    *(b"\x89HDF\r\n\x1a\n", b"\x80\x04\x95\x10\x00\x00\x00", b"{}", b"[]", b"null", b"\xff\xfe{\x00}\x00"),
    *(b"\n", b"\r\n" * 100, b"<S>\n</S>\n<UNK>\n", b"\x00" * 4096, b"[" * 100_000, b'{"a":' * 50_000),
    *(b"\x02\0\0\0\0\0\0\0{}", b"\xff" * 8 + b"{}", b"a b c\n" * 100, b"1 2\na 1 2\n", b"\x89PNG\r\n\x1a\n"),
)


@dataclass(frozen=True)
class Damage:
    """A file of a folder with other contents, or with something else in its place."""

    name: str
    way: str
    content: bytes = b""

    def __repr__(self) -> str:
        return f"{self.way} for {self.name}, {len(self.content)} bytes: {self.content[:200]!r}"

    def write(self, folder: Path, files: Files) -> None:
        """Make the folder hold these files, damaged, and nothing else."""
        shutil.rmtree(folder, ignore_errors=True)
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        path = folder / self.name
        path.unlink()
        if self.way == "a folder":
            path.mkdir()
        elif self.way == "a link":
            path.symlink_to(self.content.decode())
        elif self.way == "a pipe":
            os.mkfifo(path)
        elif self.way == "other contents":
            path.write_bytes(self.content)


def check_damaged(folder: Path, use: Callable[[Path], object], *, devices: bool = True, num_examples: int = 10) -> None:
    """A folder can be used; damaged, it is used or refused in a few lines, and memory stays in proportion to its files.

    Set the environment variable ATTACK to a number for so many times as many examples, which are other ones each time.

    devices: a file may become a pipe or a link to a device. If a user names the file, that is the user's wish.
    """
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    use(folder)  # also imports what it needs
    damaged, factor = folder.with_name("damaged"), int(os.environ.get("ATTACK", "1"))
    drawn = st.randoms(use_true_random=False).map(lambda random: _damage(files, random, devices=devices))

    @settings(max_examples=num_examples * factor, derandomize=factor == 1)
    @given(drawn)
    def check(damage: Damage) -> None:
        damage.write(damaged, files)
        with memory_of_at_most(2 * sum(map(len, files.values())) + (64 << 20)):
            try:
                use(damaged)
            except (ValueError, OSError) as error:
                assert str(damaged) in str(error), f"the file is not named: {error}"
                assert len(str(error)) <= 1000
            except RuntimeError as error:
                assert is_about_devices(error), error

    check()


@contextmanager
def memory_of_at_most(num_bytes: int) -> Iterator[None]:
    """Fails if what runs inside takes more memory than this; at a GiB more, MemoryError (on Linux)."""
    if not Path("/proc/self/clear_refs").exists():
        yield
        return
    with suppress(OSError):  # where it is forbidden to forget the peak so far, larger ones still show
        Path("/proc/self/clear_refs").write_text("5")
    before, limits = _own_memory("VmRSS"), resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_own_memory("VmSize") + (1 << 30), limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert _own_memory("VmHWM") - before <= num_bytes


def _own_memory(field: str) -> int:
    """Bytes that this process has, by the kernel's name for them."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def _damage(files: Files, random: Random, *, devices: bool) -> Damage:
    """Damage to one file: nine times in ten to its contents."""
    name = random.choice(sorted(files))
    if random.randrange(10):
        return Damage(name, "other contents", _mutant(files[name], random))
    targets = ("/etc/passwd", "/dev/zero", "/dev/stdin", "/nowhere", Path(name).name, "..", *sorted(files))
    ways = [
        Damage(name, "other contents", random.choice(_ANOTHER_KIND)),
        Damage(name, "other contents", files[random.choice(sorted(files))]),
        Damage(name, "nothing"),
        Damage(name, "a folder"),
        Damage(name, "a pipe"),
        Damage(name, "a link", random.choice(targets).encode()),
    ]
    return random.choice(ways if devices else ways[:-2])


def _mutant(content: bytes, random: Random) -> bytes:
    """One to three kinds of damage, to the bytes or to what a container holds, which is then packed again."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        change = _inside_of(content) if random.randrange(2) else _change_bytes
        try:
            content = change(content, random)
        except _UNREADABLE:
            content = _change_bytes(content, random)
    return content


def _inside_of(content: bytes) -> Way:
    """Damage to what a file of this kind holds."""
    other = _change_safetensors if content[8:9] == b"{" else _change_bytes
    return next((inside for start, inside in _CONTAINERS.items() if content.startswith(start)), other)


def _change_bytes(content: bytes, random: Random) -> bytes:
    return random.choice(_WAYS)(content, random) if content else random.choice(_ANOTHER_KIND)


def _change_zip(content: bytes, random: Random) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
        damaged = random.choice(old.namelist())
        for name in old.namelist():
            method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
            new.writestr(name, _mutant(old.read(name), random) if name == damaged else old.read(name), method)
    return packed.getvalue()


def _change_safetensors(content: bytes, random: Random) -> bytes:
    """Damage to the header, whose length is then right."""
    length = int.from_bytes(content[:8], "little")
    header = _change_json(content[8 : 8 + length], random)
    return len(header).to_bytes(8, "little") + header + content[8 + length :]


def _change_json(content: bytes, random: Random) -> bytes:
    """One value of the tree is replaced, removed, nested, or named twice."""
    tree = json.loads(content)
    places = list(_places(tree))
    if not places:
        return json.dumps(random.choice(_TREES)).encode()
    parent, key = random.choice(places)
    way, value = random.choice(("remove", "repeat", "nest", "count", "replace")), parent[key]
    if way == "remove":
        del parent[key]
    elif way == "repeat" and isinstance(parent, dict):
        parent["new"] = value
    elif way == "nest":
        parent[key] = random.choice(([value], {"0": value}))
    elif way == "count" and isinstance(value, int | float):
        parent[key] = random.choice((value + 1, value * 1000, -value, value * 10**9, 0))
    else:
        parent[key] = random.choice(_TREES)
    return json.dumps(tree).encode()


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All containers in the tree with each of their keys."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield tree, key
        yield from _places(value)


def _place(content: bytes, random: Random) -> int:
    """Half of the damage is in the first bytes, where headers are."""
    return random.randrange(min(len(content), random.choice((300, len(content)))))


def _replaced(pattern: bytes, new: tuple[bytes, ...]) -> Way:
    """One of the first places that match, in the first 64 KiB, is replaced."""

    def replace(content: bytes, random: Random) -> bytes:
        found = list(re.finditer(pattern, content[: 1 << 16]))
        if not found:
            return content
        match = random.choice(found)
        return content[: match.start()] + random.choice(new) + content[match.end() :]

    return replace


def _at(change: Callable[[bytes, Random], tuple[bytes, int]]) -> Way:
    """The bytes after some place are replaced: `change` gives new bytes, and how many old ones they replace."""

    def damaged(content: bytes, random: Random) -> bytes:
        at = _place(content, random)
        new, length = change(content[at:], random)
        return content[:at] + new + content[at + length :]

    return damaged


def _moved(content: bytes, random: Random) -> bytes:
    """Two blocks change places."""
    first, second = sorted((_place(content, random), _place(content, random)))
    size = random.randrange(1, 64)
    return content[:first] + content[second : second + size] + content[first:second] + content[second + size :]


def _overwritten(rest: bytes, random: Random) -> tuple[bytes, int]:
    size = random.choice((1, 2, 4, 8, 512))
    return random.choice((b"\0" * size, b"\xff" * size, random.randbytes(8))), size


def _block(rest: bytes, random: Random) -> bytes:
    return rest[: random.randrange(1, random.choice((8, 40, max(41, len(rest)))))]


_CONTAINERS: dict[bytes, Way] = {
    b"\x1f\x8b": lambda content, random: gzip.compress(_mutant(gzip.decompress(content), random), mtime=0),
    b"\xfd7zXZ\x00": lambda content, random: lzma.compress(_mutant(lzma.decompress(content), random), preset=0),
    b"PK\x03\x04": _change_zip,
    b"{": _change_json,
}
"""By the first bytes of a file."""
_WAYS: tuple[Way, ...] = (
    _at(lambda rest, random: (bytes([rest[0] ^ 1 << random.randrange(8)]), 1)),
    _replaced(rb"\d+(\.\d+)?", _NUMBERS),
    _moved,
    _at(_overwritten),
    _at(lambda rest, random: (b"", len(rest))),  # cut
    _at(lambda rest, random: (b"", len(_block(rest, random)))),  # a block is gone
    _at(lambda rest, random: (_block(rest, random), 0)),  # a block is there twice
    _at(lambda rest, random: (random.choice(_INSERTED) * random.choice((1, 9, 1000)), 0)),
    lambda content, random: content + random.choice((b"\0", b"\n", content, bytes(range(100)))),
    _replaced(rb'"[^"]*"|\[[^\[\]]*\]|\d+', _VALUES),
    _replaced(rb'[^\s",:{}\[\]]+', _WORDS),
)
