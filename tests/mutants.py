"""Damaged files: what a disk, a transfer or a stranger may have made of a folder that we wrote."""

from __future__ import annotations

import random
import re
import resource
from collections.abc import Callable
from pathlib import Path

MEMORY = 1 << 30
"""Bytes that a process may take in addition to what it has when it starts with damaged files."""


def limit_memory() -> None:
    """Let this process take `MEMORY` and no more; beyond that Python and torch raise errors that nobody expects."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def mutants(content: bytes, *, number: int, seed: int) -> list[bytes]:
    """Contents that differ from this one in a bit, a byte, a number, a word, a part that is missing or comes twice."""
    randomness = random.Random(seed)
    ways: list[Callable[[bytes, random.Random], bytes]] = [_bit, _byte, _cut, _without, _twice, _number, _value]
    made = [randomness.choice(ways)(content, randomness) for _ in range(number)]
    return [each for each in made if each != content]


def _place(content: bytes, randomness: random.Random) -> int:
    """Half of the damage is in the first bytes, where headers are."""
    return randomness.randrange(min(len(content), 300 if randomness.random() < 0.5 else len(content)))


def _bit(content: bytes, randomness: random.Random) -> bytes:
    at = _place(content, randomness)
    return content[:at] + bytes([content[at] ^ 1 << randomness.randrange(8)]) + content[at + 1 :]


def _byte(content: bytes, randomness: random.Random) -> bytes:
    at = _place(content, randomness)
    return content[:at] + randomness.randbytes(1) + content[at + 1 :]


def _cut(content: bytes, randomness: random.Random) -> bytes:
    return content[: _place(content, randomness)]


def _without(content: bytes, randomness: random.Random) -> bytes:
    at = _place(content, randomness)
    return content[:at] + content[at + randomness.randrange(1, 40) :]


def _twice(content: bytes, randomness: random.Random) -> bytes:
    at = _place(content, randomness)
    return content[:at] + content[at : at + randomness.randrange(1, 40)] + content[at:]


def _number(content: bytes, randomness: random.Random) -> bytes:
    new = randomness.choice([b"0", b"-1", b"20000", b"1e9", b"99999999999", b"1" * 30, b"NaN"])
    return _replaced(rb"\d+(\.\d+)?", content, new, randomness)


def _value(content: bytes, randomness: random.Random) -> bytes:
    new = randomness.choice([b"null", b"[]", b"{}", b'"\\ud800"', b'"\\u0000"', b"true", b"[" * 5000])
    return _replaced(rb'"[^"]*"|\[[^\[\]]*\]|\d+', content, new, randomness)


def _replaced(pattern: bytes, content: bytes, new: bytes, randomness: random.Random) -> bytes:
    found = list(re.finditer(pattern, content))
    if not found:
        return content
    match = randomness.choice(found)
    return content[: match.start()] + new + content[match.end() :]
