"""The instruction sets of a processor, from /proc/cpuinfo."""

from __future__ import annotations

from pathlib import Path

BF16 = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
"""Instructions for bfloat16: the first two on x86, the last on Arm."""
_KEYS = ("flags", "Features")


def features(proc: Path) -> frozenset[str]:
    """The names of the instruction sets that all cores have, from the folder /proc; empty if they cannot be read."""
    try:
        text = (proc / "cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    lines = (line.partition(":") for line in text.splitlines())
    # The cores of one chip may differ, and a network may run on any of them.
    cores = [frozenset(value.split()) for key, _, value in lines if key.strip() in _KEYS]
    return frozenset.intersection(*cores) if cores else frozenset()


def has_bf16(proc: Path) -> bool:
    """Whether the processor supports bfloat16; otherwise torch emulates it, far more slowly than fp32."""
    return bool(features(proc) & BF16)
