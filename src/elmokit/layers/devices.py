"""Find and describe the device that models compute on, and create models without memory or from a seed."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_REFUSALS = (RuntimeError, AssertionError, NotImplementedError, ImportError, ValueError, TypeError)  # torch's
_ABOUT_DEVICES = re.compile(
    r"\b(devices?|CUDA|cuDNN|CUDNN_\w+|cuBLAS|CUBLAS_\w+|HIP|MPS|XPU|NCCL|DefaultCPUAllocator)\b"
)


def find_device(given: str | torch.device | None) -> torch.device:
    """The device of that name (`cpu`, `cuda`, `cuda:1`, `mps`, ...); by default the GPU if there is one, else the CPU.

    Raises ValueError, naming the devices there are, for a device that is unknown or that this machine does not have.
    """
    if given is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    with suppress(*_REFUSALS):
        device = torch.device(given)
        if device.type == "cuda":  # without computing, which would take memory on every GPU that is checked
            is_there = torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count()
        else:
            is_there = torch.zeros(1, device=device).item() == 0.0
        if is_there:
            return device
    gpus = [f"cuda:{index}" for index in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    gpus += ["mps"] if torch.backends.mps.is_available() else []
    raise ValueError(f"device {str(given)!r} cannot be used here; available: {', '.join(['cpu', *gpus])}")


def describe_machine(device: torch.device) -> str:
    """The hardware of a device, the threads of a CPU, and torch's version, to record with measurements."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    elif device.type == "mps":
        name = f"{torch.backends.mps.get_name()}, {torch.backends.mps.get_core_count()} GPU cores"
    else:
        name = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}, {torch.get_num_threads()} threads"
    return f"{name}, torch {torch.__version__}"


def sent_to(device: torch.device, tensor: Tensor) -> Tensor:
    """The tensor on the device. A GPU copies it from pinned memory, without waiting for its running computations."""
    if device.type == "cuda" and tensor.device.type == "cpu":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def widest_float(device: torch.device) -> torch.dtype:
    """The type for numbers that need to be exact: float64, or float32 on Apple's GPUs, which have no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Context that disables the caller's `torch.autocast` for the device, so that it changes no types."""
    if not torch.is_autocast_enabled(device.type):
        return nullcontext()
    return torch.autocast(device.type, enabled=False)


@contextmanager
def for_inference() -> Generator[None]:
    """Context without gradients and without `__torch_function__`.

    Torch looks for that method on every argument. FBGEMM's weights do not have it, and torch finds that out by a C++
    exception: this takes 40 us, longer than many a product.
    """
    use_one_thread_in_forks()
    without_search = torch._C.DisableTorchFunctionSubclass()  # pyright: ignore[reportPrivateUsage] - torch documents it
    with torch.inference_mode(), without_search:
        yield


@cache
def use_one_thread_in_forks() -> None:
    """Let torch use one thread in the processes that are forked from now on.

    Otherwise torch would wait forever for OpenMP threads, which a forked process does not have (pytorch/pytorch#17199).
    elmokit calls this before it computes, not when it is imported.
    """
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))


def is_about_devices(error: RuntimeError) -> bool:
    """Whether torch complains about a device: it is out of memory, has failed, or is not there."""
    if isinstance(error, (torch.OutOfMemoryError, torch.AcceleratorError)):
        return True
    return _ABOUT_DEVICES.search(str(error)) is not None


@contextmanager
def seeded(seed: int) -> Generator[None]:
    """Context that puts new tensors on the CPU and draws random numbers from the seed. Its end restores both.

    `torch.manual_seed` would also seed the generators of all GPUs, and not restore them.
    """
    with torch.device("cpu"), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


@contextmanager
def on_meta_device() -> Generator[None]:
    """Context that gives new modules shapes but no memory; `load_state_dict(..., assign=True)` fills them later."""
    with torch.device("meta"), _NoRandomStart():
        yield


class _NoRandomStart(TorchFunctionMode):
    """Skips random initialisation. It has no effect on the meta device, but torch needs over a second to import it."""

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
