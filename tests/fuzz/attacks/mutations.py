"""Damaged files: what a disk, a transfer or a stranger may have made of a file or a folder that we wrote."""

import gzip
import io
import json
import lzma
import os
import random
import re
import shutil
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_LONG = 100_000
Way = Callable[[bytes, random.Random], bytes]
Files = dict[str, bytes]
"""Contents of the files of a folder, by relative path."""

_NUMBERS = (b"0", b"-1", b"1", b"20000", b"1e9", b"99999999999", b"1" * 30, b"1e400", b"NaN", b"0.5", b"9" * 5000)
_VALUES = (b"null", b"[]", b"{}", b'"\\ud800"', b'"\\u0000"', b'"\\u001b[31m"', b"true", b"[" * 5000, b'""', b"-1")
_INSERTED = (b"\0", b"\n", b"\xff", b"\x1b[2J", b" ", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\r\n\r\n")
_WORDS = (b"q", b"*", b"9", b"q,")
_TREES: list[Any] = [None, [], {}, "", "x", "\0", "\x1b[2J", True, 0, -1, 1, 0.5, 10**12, 10**30, [[]], [0], {"a": 1}]
_ANOTHER_KIND = (
    *(b"", b"\0", b"\x93NUMPY\x01\x00v\x00", b"PK\x03\x04", b"\x1f\x8b\x08\x00", b"\xfd7zXZ\x00", b"BZh91AY&SY"),
    *(b"\x89HDF\r\n\x1a\n", b"\x80\x04\x95\x10\x00\x00\x00", b"{}", b"[]", b"null", b"\xff\xfe{\x00}\x00"),
    *(b"\n", b"\r\n" * 100, b"<S>\n</S>\n<UNK>\n", b"\x00" * 4096, b"[" * 100_000, b'{"a":' * 50_000),
    *(b"\x02\0\0\0\0\0\0\0{}", b"\xff" * 8 + b"{}", b"a b c\n" * 100, b"1 2\na 1 2\n", b"\x89PNG\r\n\x1a\n"),
)


def mutant(content: bytes, randomness: random.Random) -> bytes:
    """The content with one to three kinds of damage; half of the time in what a container holds, packed again."""
    for _ in range(randomness.choice((1, 1, 1, 2, 3))):
        inside = inside_of(content) if randomness.random() < 0.5 else _bytes
        with suppress(Exception):  # containers that an earlier damage has made unreadable raise almost any
            content = inside(content, randomness)
    return content


def damage(files: Files, randomness: random.Random, *, devices: bool = True) -> Callable[[Path], None]:
    """Damage to one file of a folder; a function that writes the folder so.

    devices: the file may become a pipe, or a link to a device. Of a file that a user names, that is a wish.
    """
    name = randomness.choice(sorted(files))
    if randomness.random() < 0.9:
        for _ in range(100):
            new = mutant(files[name], randomness)
            if new != files[name]:
                break
        return lambda folder: write(folder, files | {name: new})
    ways = ("another kind", "gone", "a folder", "swapped", *(("a link", "a pipe") if devices else ()))
    way, place = randomness.choice(ways), random.Random(randomness.random())

    def write_damaged(folder: Path) -> None:
        write(folder, files)
        _spoil(way, folder / name, files, place)

    return write_damaged


def write(folder: Path, files: Files) -> None:
    """Make the folder hold these files and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def read(folder: Path) -> Files:
    """Contents of all files of the folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def _spoil(way: str, path: Path, files: Files, randomness: random.Random) -> None:
    """Put something else in the place of a file."""
    others = sorted(files)
    path.unlink()
    if way == "another kind":
        path.write_bytes(randomness.choice(_ANOTHER_KIND))
    elif way == "a folder":
        path.mkdir()
    elif way == "swapped":
        path.write_bytes(files[randomness.choice(others)])
    elif way == "a link":
        targets = ("/etc/passwd", "/dev/zero", "/dev/stdin", "/nowhere", path.name, "..", *others)
        os.symlink(randomness.choice(targets), path)
    elif way == "a pipe":
        os.mkfifo(path)


def inside_of(content: bytes) -> Way:
    """Damage to what a file of this kind holds."""
    other = _safetensors if content[8:9] == b"{" else _bytes
    return next((inside for start, inside in _INSIDE_OF.items() if content.startswith(start)), other)


def _bytes(content: bytes, randomness: random.Random) -> bytes:
    return randomness.choice(_WAYS)(content, randomness) if content else randomness.choice(_ANOTHER_KIND)


def _zip(content: bytes, randomness: random.Random) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
        damaged = randomness.choice(old.namelist())
        for name in old.namelist():
            data = old.read(name)
            method = randomness.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
            new.writestr(name, mutant(data, randomness) if name == damaged else data, method)
    return packed.getvalue()


def _safetensors(content: bytes, randomness: random.Random) -> bytes:
    """Damage to the header, whose length is then right."""
    length = int.from_bytes(content[:8], "little")
    header = _json(content[8 : 8 + length], randomness)
    return len(header).to_bytes(8, "little") + header + content[8 + length :]


def _json(content: bytes, randomness: random.Random) -> bytes:
    """One value of the tree is replaced, removed, nested, or named twice."""
    tree = json.loads(content)
    places = list(_places(tree))
    if not places:
        return json.dumps(randomness.choice(_TREES)).encode()
    parent, key = randomness.choice(places)
    way = randomness.randrange(5)
    if way == 0:
        del parent[key]
    elif way == 1 and isinstance(parent, dict):
        parent["new"] = parent[key]
    elif way == 2:
        parent[key] = [parent[key]] if randomness.random() < 0.5 else {"0": parent[key]}
    elif way == 3 and isinstance(parent[key], int | float):
        parent[key] = randomness.choice((parent[key] + 1, parent[key] * 1000, -parent[key], parent[key] * 10**9, 0))
    else:
        parent[key] = randomness.choice(_TREES)
    return json.dumps(tree).encode()


def _places(tree: Any) -> Any:
    """All containers in the tree with each of their keys."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield tree, key
        yield from _places(value)


def _place(content: bytes, randomness: random.Random) -> int:
    """Half of the damage is in the first bytes, where headers are."""
    return randomness.randrange(min(len(content), 300 if randomness.random() < 0.5 else len(content)))


def _length(content: bytes, randomness: random.Random) -> int:
    return randomness.randrange(1, randomness.choice((8, 40, max(41, len(content)))))


def _replaced(pattern: bytes, new: tuple[bytes, ...], times: int = 1) -> Way:
    """One of the first places that match, in the first 64 KiB, is replaced."""

    def replace(content: bytes, randomness: random.Random) -> bytes:
        found = list(re.finditer(pattern, content[: 1 << 16]))
        if not found:
            return content
        match = randomness.choice(found)
        return content[: match.start()] + randomness.choice(new) * times + content[match.end() :]

    return replace


def _at(change: Callable[[bytes, random.Random], tuple[bytes, int]]) -> Way:
    """What follows some place is replaced: by these bytes, and what comes after so many."""

    def damaged(content: bytes, randomness: random.Random) -> bytes:
        at = _place(content, randomness)
        new, length = change(content[at:], randomness)
        return content[:at] + new + content[at + length :]

    return damaged


def _moved(content: bytes, randomness: random.Random) -> bytes:
    """Two blocks change places."""
    first, second = sorted((_place(content, randomness), _place(content, randomness)))
    size = randomness.randrange(1, 64)
    return content[:first] + content[second : second + size] + content[first:second] + content[second + size :]


def _overwritten(rest: bytes, randomness: random.Random) -> tuple[bytes, int]:
    size = randomness.choice((1, 2, 4, 8, 512))
    return randomness.choice((b"\0" * size, b"\xff" * size, randomness.randbytes(size))), size


_BIT = _at(lambda rest, randomness: (bytes([rest[0] ^ 1 << randomness.randrange(8)]), 1))
_NUMBER = _replaced(rb"\d+(\.\d+)?", _NUMBERS)
_WAYS: tuple[Way, ...] = (
    *(_BIT, _BIT, _NUMBER, _NUMBER, _moved, _at(_overwritten)),
    _at(lambda rest, randomness: (randomness.randbytes(1), 1)),  # a byte
    _at(lambda rest, randomness: (b"", len(rest))),  # cut
    _at(lambda rest, randomness: (b"", _length(rest, randomness))),  # a block is gone
    _at(lambda rest, randomness: (rest[: _length(rest, randomness)], 0)),  # a block is there twice
    _at(lambda rest, randomness: (randomness.choice(_INSERTED) * randomness.choice((1, 1, 9, 1000)), 0)),
    lambda content, randomness: content + randomness.choice((b"\0", b"\n", content, randomness.randbytes(100))),
    _replaced(rb'"[^"]*"|\[[^\[\]]*\]|\d+', _VALUES),
    _replaced(rb'[^\s",:{}\[\]]+', _WORDS, _LONG),  # no error may quote such a word
)
_INSIDE_OF: dict[bytes, Way] = {
    b"\x1f\x8b": lambda content, randomness: gzip.compress(mutant(gzip.decompress(content), randomness), mtime=0),
    b"\xfd7zXZ\x00": lambda content, randomness: lzma.compress(mutant(lzma.decompress(content), randomness), preset=0),
    b"PK\x03\x04": _zip,
    b"{": _json,
}
"""By the first bytes of a file."""
