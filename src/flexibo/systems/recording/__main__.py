"""``python -m flexibo.systems.recording``: record on a machine that has only torch, numpy and an NVML binding."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from flexibo._internal.text import printable_line
from flexibo.errors import FlexiBOError
from flexibo.systems.build import SystemRequest
from flexibo.systems.network_runner import QUICK_SECONDS
from flexibo.systems.recording.plan import largest_values, wanted_values
from flexibo.systems.recording.session import RecordingGrid, finished, recording

UNFINISHED = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Record; the exit status is 0 if the table is complete and 3 if measurements are left."""
    parser = argparse.ArgumentParser(prog="python -m flexibo.systems.recording", description=__doc__)
    parser.add_argument("system")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dataset", default="")
    parser.add_argument("--platform", default="auto")
    parser.add_argument("--networks", type=int, default=64)
    parser.add_argument("--deployments", type=int, default=8)
    parser.add_argument("--again", type=int, default=32)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--size", default="")
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--augment", action="store_true")
    parser.add_argument("--models", type=Path)
    parser.add_argument("--meter", default="auto")
    parser.add_argument("--knobs", action="append", default=[], metavar="NAME")
    parser.add_argument("--allow-gpu", action="store_true")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--window", type=float, default=QUICK_SECONDS)
    parser.add_argument("--at-most", action="append", default=[], metavar="OPTION=VALUE")
    parser.add_argument("--only", action="append", default=[], metavar="OPTION=VALUE,VALUE")
    parser.add_argument("--finish", action="store_true", help="write the table of the networks that are complete")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    chosen = ("platform", "dataset", "limit", "epochs", "size", "encoder", "augment", "models", "meter", "seed")
    settings = {"knobs": tuple(given.knobs), "allow_gpu": given.allow_gpu}
    request = SystemRequest(given.system, given.data, **{name: getattr(given, name) for name in chosen}, **settings)
    try:
        if given.finish:
            whole, planned = finished(given.out)
            sys.stdout.write(f"{given.out} has {whole} of {planned} networks.\n")
            return 0
        at_most, only = largest_values(given.at_most), wanted_values(given.only)
        grid = RecordingGrid(given.networks, given.deployments, given.again, given.window, at_most, only)
        left = recording(request, grid, given.out, seconds=given.seconds, jobs=given.jobs, progress=_print_progress)
    except FlexiBOError as error:
        sys.stderr.write("\n".join(map(printable_line, f"{parser.prog}: {error}".split("\n"))) + "\n")
        return 2
    sys.stdout.write(
        f"{left} measurement{'s' * (left != 1)} left; the same command resumes.\n"
        if left
        else f"{given.out} is complete.\n"
    )
    return UNFINISHED if left else 0


def _print_progress(done: int, total: int, what: str) -> None:
    sys.stdout.write(f"{done} of {total}: {printable_line(what)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
