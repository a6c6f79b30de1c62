"""Damaged files, drawn by hypothesis: what a disk, a transfer or an attacker may do to files that we wrote."""

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

_NUMBERS = (b"0", b"-1", b"1", b"20000", b"1e9", b"99999999999", b"1" * 30, b"1e400", b"NaN", b"0.5", b"9" * 5000)
_VALUES = (b"null", b"[]", b"{}", b'"\\ud800"', b'"\\u0000"', b'"\\u001b[31m"', b"true", b"[" * 5000, b'""', b"-1")
_WORDS = tuple(word * 100_000 for word in (b"q", b"*", b"9", b"q,"))  # no error may quote such a word
_REPLACED = {rb"\d+(\.\d+)?": _NUMBERS, rb'"[^"]*"|\[[^\[\]]*\]|\d+': _VALUES, rb'[^\s",:{}\[\]]+': _WORDS}
_INSERTED = (b"\0", b"\n", b"\xff", b"\x1b[2J", b" ", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\r\n\r\n")
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
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        path = folder / self.name
        path.unlink()
        make: dict[str, Callable[[], object]] = {
            "other contents": lambda: path.write_bytes(self.content),
            "a folder": path.mkdir,
            "a pipe": lambda: os.mkfifo(path),
            "a link": lambda: path.symlink_to(self.content.decode()),
            "nothing": lambda: None,
        }
        make[self.way]()


def check_damaged(folder: Path, use: Callable[[Path], object], *, devices: bool = True, num_examples: int = 10) -> None:
    """Check that a damaged folder is used or refused in a few lines, and that memory stays in proportion to its files.

    The whole folder must be usable. Set ATTACK=N in the environment for N times as many examples, different every time.

    devices: a file may become a pipe or a link to a device. If users name the file themselves, that is their choice.
    """
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    use(folder)  # also imports what it needs
    damaged, factor = folder.with_name("damaged"), int(os.environ.get("ATTACK", "1"))
    drawn = st.randoms(use_true_random=False).map(lambda random: _damage(files, random, devices=devices))

    @settings(max_examples=num_examples * factor, derandomize=factor == 1)
    @given(drawn)
    def check(damage: Damage) -> None:
        damage.write(damaged, files)
        with _memory_of_at_most(2 * sum(map(len, files.values())) + (64 << 20)):
            try:
                use(damaged)
            except (ValueError, OSError) as error:
                assert str(damaged) in str(error), f"the file is not named: {error}"
                assert len(str(error)) <= 1000
            except RuntimeError as error:
                assert is_about_devices(error), error

    check()


@contextmanager
def _memory_of_at_most(num_bytes: int) -> Iterator[None]:
    """Fail if the body takes more memory than this; a GiB of new memory is a MemoryError (on Linux)."""
    if not Path("/proc/self/clear_refs").exists():
        yield
        return

    def own(field: str) -> int:
        return 1024 * int(Path("/proc/self/status").read_text().split(f"{field}:")[1].split()[0])

    with suppress(OSError):  # if the peak so far cannot be reset, larger ones still show
        Path("/proc/self/clear_refs").write_text("5")
    before, limits = own("VmRSS"), resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (own("VmSize") + (1 << 30), limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert own("VmHWM") - before <= num_bytes


def _damage(files: Files, random: Random, *, devices: bool) -> Damage:
    """Damage to one file: nine times in ten to its contents."""
    name = random.choice(sorted(files))
    if random.randrange(10):
        content = files[name]
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            content = _mutant(content, random)
        return Damage(name, "other contents", content)
    others = (random.choice(_ANOTHER_KIND), files[random.choice(sorted(files))])
    ways = [*(Damage(name, "other contents", other) for other in others)]
    ways += [Damage(name, way) for way in ("nothing", "a folder")]
    if devices:
        targets = ("/etc/passwd", "/dev/zero", "/dev/stdin", "/nowhere", Path(name).name, "..", *sorted(files))
        ways += [Damage(name, "a pipe"), Damage(name, "a link", random.choice(targets).encode())]
    return random.choice(ways)


def _mutant(content: bytes, random: Random) -> bytes:
    """Damage the bytes, or unpack a container, damage what it holds, and pack it again."""
    with suppress(*_UNREADABLE):
        if random.randrange(2):
            if content.startswith(b"\x1f\x8b"):
                return gzip.compress(_mutant(gzip.decompress(content), random), mtime=0)
            if content.startswith(b"\xfd7zXZ\x00"):
                return lzma.compress(_mutant(lzma.decompress(content), random), preset=0)
            if content.startswith(b"PK\x03\x04"):
                return _change_zip(content, random)
            if content.startswith(b"{"):
                return _change_json(content, random)
            if content[8:9] == b"{":  # safetensors: the length of the header stays right
                end = 8 + int.from_bytes(content[:8], "little")
                header = _change_json(content[8:end], random)
                return len(header).to_bytes(8, "little") + header + content[end:]
    return _change_bytes(content, random) if content else random.choice(_ANOTHER_KIND)


def _change_zip(content: bytes, random: Random) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
        damaged = random.choice(old.namelist())
        for name in old.namelist():
            method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
            new.writestr(name, _mutant(old.read(name), random) if name == damaged else old.read(name), method)
    return packed.getvalue()


def _change_json(content: bytes, random: Random) -> bytes:
    """Replace, nest or remove one value of the tree, or repeat it under a second name."""
    tree = json.loads(content)
    if not (places := list(_places(tree))):
        return json.dumps(random.choice(_TREES)).encode()
    parent, key = random.choice(places)
    value = parent[key]
    new = [random.choice(_TREES), random.choice(([value], {"0": value}))]
    if isinstance(value, int | float):
        new.append(random.choice((value + 1, value * 1000, -value, value * 10**9, 0)))
    way = random.choice(("remove", "repeat", "replace", "replace", "replace"))
    if way == "remove":
        del parent[key]
    elif way == "repeat" and isinstance(parent, dict):
        parent["new"] = value
    else:
        parent[key] = random.choice(new)
    return json.dumps(tree).encode()


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Each container in the tree, with each of its keys."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield tree, key
        yield from _places(value)


def _change_bytes(content: bytes, random: Random) -> bytes:
    """Half of the damage is in the first bytes, where headers are."""
    at = random.randrange(min(len(content), random.choice((300, len(content)))))
    end = min(len(content), at + random.choice((1, 2, 4, 8, 40, 512, len(content))))
    before, block, after = content[:at], content[at:end], content[end:]
    size = len(block)

    def replaced() -> bytes:
        """One of the first places that match, in the first 64 KiB."""
        pattern = random.choice(list(_REPLACED))
        match = random.choice(list(re.finditer(pattern, content[: 1 << 16])) or [None])
        new = random.choice(_REPLACED[pattern])
        return content if match is None else content[: match.start()] + new + content[match.end() :]

    ways: tuple[Callable[[], bytes], ...] = (
        lambda: before + bytes([content[at] ^ 1 << random.randrange(8)]) + content[at + 1 :],
        lambda: before,  # cut
        lambda: before + after,  # a block is gone
        lambda: before + block + block + after,
        lambda: before + after[:size] + block + after[size:],  # two blocks change places
        lambda: before + random.choice((b"\0" * size, b"\xff" * size, random.randbytes(size))) + after,
        lambda: before + random.choice(_INSERTED) * random.choice((1, 9, 1000)) + content[at:],
        lambda: content + random.choice((b"\0", b"\n", content, bytes(range(100)))),
        *[replaced] * 3,
    )
    return random.choice(ways)()
