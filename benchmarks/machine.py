"""What benchmarks record about the machine, and how much memory they use."""

from __future__ import annotations

import platform
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")


def processor_name() -> str:
    """The name of the processor, or its architecture if the system does not give a name."""
    lines = CPU_INFO.read_text(encoding="utf-8").splitlines() if CPU_INFO.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def resident_megabytes() -> float:
    """Memory of this process now, in 10^6 bytes."""
    return _megabytes("VmRSS")


def peak_megabytes() -> float:
    """Peak memory of this process so far, in 10^6 bytes; `results/pretraining*.json` use units of 2^20 bytes."""
    return _megabytes("VmHWM")


def _megabytes(field: str) -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")  # getrusage would count the parent's pages too
    return int(status.split(f"{field}:")[1].split()[0]) * 1024 / 1e6
