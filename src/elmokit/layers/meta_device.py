"""Building modules on torch's meta device, without random initialisation, when their weights are loaded later."""

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
    """Context in which new modules have shapes but no memory; `load_state_dict(..., assign=True)` fills them later."""
    with torch.device("meta"), _NoRandomStart():
        yield


class _NoRandomStart(TorchFunctionMode):
    """Skips random initialisation: it has no effect on the meta device, but torch takes over a second to import it."""

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
