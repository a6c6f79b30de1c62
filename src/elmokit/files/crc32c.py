"""CRC-32C, the checksum of TensorFlow's checkpoints: several hundred MB per second with NumPy alone.

A checksum of one piece after another is linear over bits (apart from its first and last step), so pieces are summed
side by side and then joined: the sum of a piece, moved on by the length of the next, plus the sum of the next.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table: TypeAlias = NDArray[np.uint32]

_POLYNOMIAL = 0x82F63B78  # Castagnoli, lowest bit first
_PIECE_BYTES = 1024
_PIECES_AT_ONCE = 16384
_MASK = 0xFFFFFFFF


def crc32c(content: memoryview) -> int:
    """The checksum of the bytes."""
    total = _MASK
    num_pieces = len(content) // _PIECE_BYTES
    for first in range(0, num_pieces, _PIECES_AT_ONCE):
        last = min(first + _PIECES_AT_ONCE, num_pieces)
        words = np.frombuffer(content[first * _PIECE_BYTES : last * _PIECE_BYTES], "<u4").reshape(last - first, -1)
        a, b, c, d = _moved_by_a_piece()
        for piece in _sums(np.ascontiguousarray(words.T)).tolist():
            total = a[total & 255] ^ b[total >> 8 & 255] ^ c[total >> 16 & 255] ^ d[total >> 24] ^ piece
    table = _table().tolist()
    for byte in bytes(content[num_pieces * _PIECE_BYTES :]):
        total = table[(total ^ byte) & 255] ^ total >> 8
    return total ^ _MASK


def masked_crc32c(content: memoryview) -> int:
    """The checksum as LevelDB and TensorFlow store it, so that checksums of checksums are not a special case."""
    plain = crc32c(content)
    return ((plain >> 15 | plain << 17) + 0xA282EAD8) & _MASK


def _sums(words: Table) -> Table:
    """Sums of pieces, given as columns of words, each from 0 on."""
    low, high = _tables_of_halves()
    sums = np.zeros(words.shape[1], np.uint32)
    for row in words:
        sums ^= row
        halves = sums.view("<u2")
        sums = low[halves[::2]] ^ high[halves[1::2]]
    return sums


@cache
def _table() -> Table:
    """Sums of a single byte."""
    sums = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        sums = np.where(sums & 1, sums >> 1 ^ np.uint32(_POLYNOMIAL), sums >> 1).astype(np.uint32)
    return sums


def _moved(sums: Table, *, num_bytes: int) -> Table:
    """What sums become when so many zeros follow."""
    for _ in range(num_bytes):
        sums = (_table()[sums & 255] ^ sums >> 8).astype(np.uint32)
    return sums


@cache
def _tables_of_halves() -> tuple[Table, Table]:
    """What the two halves of a sum become when a word of zeros follows."""
    halves = np.arange(1 << 16, dtype=np.uint32)
    return _moved(halves, num_bytes=4), _moved(halves << np.uint32(16), num_bytes=4)


@cache
def _moved_by_a_piece() -> tuple[list[int], ...]:
    """What each of the four bytes of a sum becomes when a piece of zeros follows."""
    values = np.arange(256, dtype=np.uint32)
    return tuple(_moved(values << np.uint32(8 * place), num_bytes=_PIECE_BYTES).tolist() for place in range(4))
