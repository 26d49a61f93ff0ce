"""What a processor can do, as Linux says in /proc/cpuinfo."""

from __future__ import annotations

from pathlib import Path

BF16 = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
"""Instructions for numbers of 16 bits with the exponent of 32: of x86 the first two, of Arm the last."""
_KEYS = ("flags", "Features")


def features(proc: Path) -> frozenset[str]:
    """The names of the instructions that all cores have; none where that cannot be read.

    Args:
        proc: Where /proc is.
    """
    try:
        text = (proc / "cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    lines = (line.partition(":") for line in text.splitlines())
    # The cores of one chip may differ, and a network runs on whichever is free.
    cores = [frozenset(value.split()) for key, _, value in lines if key.strip() in _KEYS]
    return frozenset.intersection(*cores) if cores else frozenset()


def has_bf16(proc: Path) -> bool:
    """Whether the processor calculates in bfloat16 itself.

    Where it does not torch imitates it, far more slowly than it calculates in 32 bits: no design would want that.
    """
    return bool(features(proc) & BF16)
