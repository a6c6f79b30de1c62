"""The pickles inside PyTorch's files, interpreted here opcode by opcode, without running anything that they name.

A pickle is a program for a stack machine. Those of its opcodes that write a state dict are known here. A pickle may
mention only the few names that PyTorch writes, and these are never imported: calling one makes a record of this file.
Everything else is refused. Source: the opcodes of `pickletools`, the calls of `torch/serialization.py`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

from elmokit.system.messages import FormatError, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAX_BYTES = 2 << 20
"""Largest pickle; that of a state dict with thousands of tensors has less than 1 MiB."""
MAX_STEPS = 500_000
"""Largest number of opcodes and of items put into dicts; a tensor takes about 35, and an empty dict 64 bytes."""
STORAGES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "|i1",
    "ByteStorage": "|u1",
    "BoolStorage": "|b1",
}
"""PyTorch's classes of storages, and the NumPy types of their elements."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Storage:
    """A storage of elements: its key in the file, the type of the elements, and their number."""

    key: str
    dtype: str
    num_elements: int


@dataclass(frozen=True)
class View:
    """A tensor: the elements of a storage from `offset` on, by shape and strides (in elements)."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class _Name:
    """A class or a function that a pickle mentions."""

    module: str
    name: str


class _Mark:
    """The place on the stack at which the items of a container begin."""


_DICT = _Name("collections", "OrderedDict")
_PARAMETER = _Name("torch._utils", "_rebuild_parameter")
_TENSORS = (_Name("torch._utils", "_rebuild_tensor_v2"), _Name("torch._utils", "_rebuild_tensor"))
_KNOWN = {_DICT, _PARAMETER, *_TENSORS, *(_Name("torch", name) for name in STORAGES)}


def unpickle(path: Path, content: memoryview) -> tuple[object, int]:
    """The value of the pickle at the start of `content`, of at most `MAX_BYTES`, and the number of its bytes.

    The value consists of dicts, lists, tuples, texts, numbers, and `View` and `Storage` records. Raises FormatError,
    which names `path`, for a pickle that is damaged or needs anything else.
    """
    machine = _Machine(path, content[:MAX_BYTES])
    while (opcode := machine.take(1)) != b".":
        machine.count(1)
        step = _STEPS.get(opcode)
        if step is None:
            raise machine.error(f"has the opcode {opcode!r}, which the state dict of a model does not need")
        step(machine)
    return machine.pop(object), machine.position


class _Machine:
    """The stack, the memo, and the place in the pickle."""

    def __init__(self, path: Path, content: memoryview) -> None:
        self.path = path
        self.content = content
        self.position = 0
        self.stack: list[object] = []
        self.memo: dict[int, object] = {}
        self.steps = 0

    def error(self, reason: str) -> FormatError:
        return FormatError(self.path, f"{reason} (nothing in it was run)", part=f"pickle, byte {self.position}")

    def count(self, steps: int) -> None:
        """Raise FormatError when the steps so far, with these, are too many."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise self.error(f"has more than {MAX_STEPS:,} steps; the state dict of a model has a few thousand")

    def take(self, number: int) -> bytes:
        taken = bytes(self.content[self.position : self.position + number])
        if len(taken) < number:
            raise self.error(f"is cut short, or longer than {MAX_BYTES} bytes")
        self.position += number
        return taken

    def integer(self, layout: str) -> int:
        (number,) = cast("tuple[int]", struct.unpack(layout, self.take(struct.calcsize(layout))))
        return number

    def line(self) -> str:
        line = bytes(self.content[self.position : self.position + 1000]).partition(b"\n")[0]
        self.position += len(line) + 1
        return line.decode("utf-8", "replace")

    def push(self, value: object) -> None:
        self.stack.append(value)

    def pop(self, kind: type[_T]) -> _T:
        value = self.top(kind)
        self.stack.pop()
        return value

    def top(self, kind: type[_T]) -> _T:
        value = self.stack[-1] if self.stack else None
        if not self.stack or not isinstance(value, kind):
            raise self.error(f"is damaged: it should have a {kind.__name__} here")
        return value

    def pop_items(self) -> list[object]:
        """The items since the last mark, which go, together with the mark."""
        for place in reversed(range(len(self.stack))):
            if isinstance(self.stack[place], _Mark):
                items = self.stack[place + 1 :]
                del self.stack[place:]
                return items
        raise self.error("is damaged: a container has no beginning")

    def pop_tuple(self, number: int) -> tuple[object, ...]:
        return tuple(reversed([self.pop(object) for _ in range(number)]))


def _text(machine: _Machine, layout: str) -> None:
    machine.push(machine.take(machine.integer(layout)).decode("utf-8", "replace"))


def _long(machine: _Machine) -> None:
    machine.push(int.from_bytes(machine.take(machine.integer("<B")), "little", signed=True))


def _put(machine: _Machine, index: int) -> None:
    machine.memo[index] = machine.top(object)


def _get(machine: _Machine, index: int) -> None:
    if index not in machine.memo:
        raise machine.error("is damaged: it refers to a value that is not there")
    machine.push(machine.memo[index])


def _set_items(machine: _Machine, items: list[object]) -> None:
    target = cast("dict[object, object]", machine.top(dict))
    machine.count(1 + len(items))  # a list of pairs may be used many times
    if len(items) % 2 or not all(isinstance(key, str | int) for key in items[::2]):
        raise machine.error("is damaged: it has a dict without texts or numbers as keys")
    target.update(zip(items[::2], items[1::2], strict=True))


def _append(machine: _Machine, items: list[object]) -> None:
    cast("list[object]", machine.top(list)).extend(items)


def _name(machine: _Machine, module: object, name: object) -> None:
    if not isinstance(module, str) or not isinstance(name, str):
        raise machine.error("is damaged: it has something other than a text for a name")
    found = _Name(module, name)
    if found not in _KNOWN:
        named = f"{shown(found.module)}.{shown(found.name)}"
        raise machine.error(f"asks for {named}, which the state dict of a model does not need")
    machine.push(found)


def _call(machine: _Machine) -> None:
    function, arguments = machine.pop_tuple(2)
    given = cast("tuple[object, ...]", arguments) if isinstance(arguments, tuple) else ()
    if function == _DICT:
        machine.push({})
        for pair in _items(given[0]) if given else ():  # as versions of Python before 3.1 write one
            _set_items(machine, _items(pair))
    elif function == _PARAMETER and given and isinstance(given[0], View):
        machine.push(given[0])
    elif function in _TENSORS and len(given) >= 4:
        machine.push(_view(machine, *given[:4]))
    else:
        raise machine.error("makes a call that the state dict of a model does not need")


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [None]


def _view(machine: _Machine, storage: object, offset: object, shape: object, strides: object) -> View:
    sizes, steps = _sizes(shape), _sizes(strides)
    if not isinstance(storage, Storage) or sizes is None or steps is None or len(sizes) != len(steps):
        raise machine.error("has a tensor without a storage, a shape or strides")
    if type(offset) is not int or offset < 0:
        raise machine.error("has a tensor that begins nowhere in its storage")
    return View(storage, offset, sizes, steps)


def _sizes(value: object) -> tuple[int, ...] | None:
    values = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (None,)
    if len(values) > 8:
        return None
    sizes = tuple(size for size in values if type(size) is int and 0 <= size < 1 << 60)
    return sizes if len(sizes) == len(values) else None


def _storage(machine: _Machine) -> None:
    parts = cast("tuple[object, ...]", machine.pop(tuple))
    if len(parts) >= 5 and parts[0] == "storage":
        kind, key, num_elements = parts[1], parts[2], parts[4]
        if isinstance(kind, _Name) and kind.name in STORAGES and isinstance(key, str) and type(num_elements) is int:
            machine.push(Storage(key, STORAGES[kind.name], num_elements))
            return
    raise machine.error("refers to something that is not a storage of tensors")


def _build(machine: _Machine) -> None:
    """Attributes of an OrderedDict (`_metadata`, the versions of modules) are dropped."""
    machine.pop(object)
    machine.top(dict)


_STEPS: dict[bytes, Callable[[_Machine], object]] = {
    b"\x80": lambda machine: machine.take(1),  # PROTO
    b"\x95": lambda machine: machine.take(8),  # FRAME
    b"(": lambda machine: machine.push(_Mark()),
    b"0": lambda machine: machine.pop(object),
    b"N": lambda machine: machine.push(None),
    b"\x88": lambda machine: machine.push(True),
    b"\x89": lambda machine: machine.push(False),
    b"J": lambda machine: machine.push(machine.integer("<i")),  # BININT
    b"K": lambda machine: machine.push(machine.integer("<B")),
    b"M": lambda machine: machine.push(machine.integer("<H")),
    b"\x8a": _long,  # LONG1
    b"G": lambda machine: machine.push(struct.unpack(">d", machine.take(8))[0]),  # BINFLOAT
    b"X": lambda machine: _text(machine, "<I"),  # BINUNICODE
    b"\x8c": lambda machine: _text(machine, "<B"),
    b"\x8d": lambda machine: _text(machine, "<Q"),
    b"U": lambda machine: _text(machine, "<B"),  # SHORT_BINSTRING, of Python 2
    b"T": lambda machine: _text(machine, "<I"),
    b"}": lambda machine: machine.push({}),
    b"]": lambda machine: machine.push([]),
    b")": lambda machine: machine.push(()),
    b"t": lambda machine: machine.push(tuple(machine.pop_items())),
    b"\x85": lambda machine: machine.push(machine.pop_tuple(1)),
    b"\x86": lambda machine: machine.push(machine.pop_tuple(2)),
    b"\x87": lambda machine: machine.push(machine.pop_tuple(3)),
    b"s": lambda machine: _set_items(machine, list(machine.pop_tuple(2))),
    b"u": lambda machine: _set_items(machine, machine.pop_items()),
    b"a": lambda machine: _append(machine, [machine.pop(object)]),
    b"e": lambda machine: _append(machine, machine.pop_items()),
    b"q": lambda machine: _put(machine, machine.integer("<B")),  # BINPUT
    b"r": lambda machine: _put(machine, machine.integer("<I")),
    b"\x94": lambda machine: _put(machine, len(machine.memo)),  # MEMOIZE
    b"h": lambda machine: _get(machine, machine.integer("<B")),
    b"j": lambda machine: _get(machine, machine.integer("<I")),
    b"c": lambda machine: _name(machine, machine.line(), machine.line()),  # GLOBAL
    b"\x93": lambda machine: _name(machine, *machine.pop_tuple(2)),  # STACK_GLOBAL
    b"R": _call,  # REDUCE
    b"Q": _storage,  # BINPERSID
    b"b": _build,
}
