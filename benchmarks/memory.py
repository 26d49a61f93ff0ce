"""One ask in a process of its own: prints the largest resident size in MiB (``python -m benchmarks.memory M S``)."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from benchmarks.problem import lenet
from benchmarks.timing import asked


def main(m: int, evaluations: int) -> None:
    """Ask once, with m candidates and a number of evaluations of each objective."""
    asked(lenet().study((evaluations, evaluations), m=m))
    print(peak_mib())


def peak_mib() -> float:
    """The largest resident size of this process so far."""
    try:
        # getrusage would also count the process that started this one: Linux keeps its maximum across exec.
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**10
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 2**10  # bytes on macOS, KiB elsewhere


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
