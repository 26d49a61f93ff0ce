"""One ask in a process of its own: prints the largest resident size in MiB (``python -m benchmarks.memory M S``)."""

from __future__ import annotations

import resource
import sys

from benchmarks.problem import lenet
from benchmarks.timing import asked


def main(m: int, evaluations: int) -> None:
    """Ask once, with m candidates and so many evaluations of each objective."""
    asked(lenet().study((evaluations, evaluations), m=m))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Bytes on macOS, KiB elsewhere.
    print(peak / 2**20 if sys.platform == "darwin" else peak / 2**10)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
