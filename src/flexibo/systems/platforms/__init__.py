"""Platforms: where networks run, one file each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from flexibo.errors import unknown_name
from flexibo.systems.platforms._torch_settings import deployed
from flexibo.systems.platforms.base import Platform, Serving
from flexibo.systems.platforms.jetson import Jetson
from flexibo.systems.platforms.linux_cpu import LinuxCpu
from flexibo.systems.platforms.nvidia_gpu import NvidiaGpu

__all__ = ["PLATFORMS", "Jetson", "LinuxCpu", "NvidiaGpu", "Platform", "Serving", "deployed", "find_platform"]

PLATFORMS: Mapping[str, Callable[[], Platform]] = MappingProxyType(
    {
        "nvidia-gpu": NvidiaGpu,
        "linux-cpu": LinuxCpu,
        "jetson-xavier": lambda: Jetson("xavier"),
        "jetson-tx2": lambda: Jetson("tx2"),
        "jetson-orin": lambda: Jetson("orin"),
    }
)


def find_platform(name: str, *, allow_clocks: bool = False) -> Platform:
    """The platform of that name; ``"auto"`` is the GPU if torch finds one, otherwise the processor.

    With `allow_clocks`, the clocks and the power limit of an NVIDIA GPU may be changed: they are knobs then.
    """
    if name == "auto":
        from importlib import import_module

        name = "nvidia-gpu" if import_module("torch").cuda.is_available() else "linux-cpu"
    if name not in PLATFORMS:
        raise unknown_name("platform", name, (*PLATFORMS, "auto"))
    found = PLATFORMS[name]()
    return replace(found, allow_clocks=True) if allow_clocks and isinstance(found, NvidiaGpu) else found
