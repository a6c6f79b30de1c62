"""Modules that get their weights from elsewhere: built on torch's meta device, without drawing a random start."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping


@contextmanager
def on_meta_device() -> Generator[None]:
    """Within it, new modules have shapes and no memory; `load_state_dict(..., assign=True)` fills them."""
    with torch.device("meta"), _NoRandomStart():
        yield


class _NoRandomStart(TorchFunctionMode):
    """On the meta device a random start has no effect, but torch takes over a second to import what computes it."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func in _RANDOM_STARTS:
            return kwargs["tensor"] if kwargs and "tensor" in kwargs else args[0]
        return func(*args, **(kwargs or {}))


_RANDOM_STARTS = (Tensor.uniform_, Tensor.normal_, nn.init.uniform_, nn.init.normal_, nn.init.kaiming_uniform_)
