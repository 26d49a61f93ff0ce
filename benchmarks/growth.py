"""How a stored study behaves when it has grown: ``python -m benchmarks.growth [EVALUATIONS...]``.

Studies of these sizes (20,000 and 100,000 evaluations) are written to SQLite files at once. Then each command runs in a
process of its own, as from a shell, and next to it the same command on a study without evaluations: opening the study,
``flexibo ask``, ``flexibo tell``, the front, and a change. The first processes replay the events, and store
a snapshot and what their models learned, as a study does while it grows; the later ones start from these. Times are
processor time, which other programs disturb less than the clock; memory is the largest resident size. As installed
packages are, all modules are compiled before anything is measured. The exit status is 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ask_growth import one_thread
from benchmarks.results import Row, machine, show
from flexibo import Objective, Space, Study
from flexibo.storage import open_storage

SIZES = (20_000, 100_000)
BOUND_AT = 20_000
"""The bounds hold for studies of at most this many evaluations."""
EXTRA_SECONDS = 1.0
FRONT_SECONDS = 3.0
MEMORY_MB = 150.0
OPTIONS = {"x": (0.0, 1.0), "k": [1, 2, 3, 4], "n": (1, 512), "mode": ["fast", "exact", "mixed"]}
BLOCK = 10_000
"""How many designs are drawn at a time."""
OPEN = "from flexibo import Study; Study.load({url!r})"
CHANGE = "from flexibo import Study; Study.load({url!r}).change(options={{'x': (0.0, 0.9)}})"
WRITE = "from benchmarks.growth import write_study; write_study({url!r}, {count})"
FRONT = """
import time
from flexibo import Study
study = Study.load({url!r})
begin = time.process_time()
study.front()
print(time.process_time() - begin)
"""


@dataclass(frozen=True, slots=True)
class Used:
    """What a process used: seconds of processor time, seconds by the clock, MB of memory; and what it printed."""

    seconds: float
    clock: float
    megabytes: float
    output: str


def write_study(url: str, evaluations: int, *, name: str = "study", method: str = "flexibo") -> None:
    """Store a study with this many answered evaluations, all at once: two of three are of the cheap objective."""
    objectives = [Objective("error", options=["k", "n"]), Objective("energy", unit="J")]
    study = Study(Space(OPTIONS), objectives, method=method, seed=0, storage=url, name=name)
    study.close()
    storage = open_storage(url, name)
    storage.commit(len(storage.read()), lambda new: list(_events(study.space, evaluations)))


def _events(space: Space, evaluations: int) -> Iterator[dict[str, Any]]:
    """The events of evaluations: energy of each design, and error of every second one."""
    rng = np.random.default_rng(0)
    number = 0
    while number < evaluations:
        for place, design in enumerate(space.sample(BLOCK, rng)):
            for objective in ("energy", "error") if place % 2 else ("energy",):
                if number == evaluations:
                    return
                values = dict(design)
                yield _asked(number, values, objective)
                yield {
                    "event": "told",
                    "number": number,
                    "values": {objective: _value(objective, values)},
                    "cost": _cost(objective, values),
                    "worker": "a-worker-of-another-machine",
                    "timed": True,
                    "time": 1.7e9 + number,
                }
                number += 1


def _asked(number: int, design: Mapping[str, Any], objective: str) -> dict[str, Any]:
    return {
        "event": "asked",
        "design": design,
        "objective": objective,
        "gain": 0.001,
        "cost": 1.0,
        "why": "It adds 0.001 to the front for a cost of about 1.",
        "number": number,
        "yields": [objective],
        "attempt": 1,
        "volume": None,
        "then": [],
        "initial": number < 20,
        "runner_up": {"design": {**design, "k": 1}, "objective": objective, "gain": 0.0005, "cost": 1.0},
        "worker": "a-worker-of-another-machine",
        "seconds": 10.0 * number,
        "time": 1.7e9 + number,
    }


def _value(objective: str, design: Mapping[str, Any]) -> float:
    x, k, n = float(design["x"]), int(design["k"]), int(design["n"])
    slow = {"fast": 0.0, "mixed": 0.1, "exact": 0.3}[design["mode"]]
    return k / 4 + 1 / n if objective == "error" else n / 512 + (x - 0.3) ** 2 + (4 - k) / 8 + slow


def _cost(objective: str, design: Mapping[str, Any]) -> float:
    """Seconds that depend on the design, as they do where they are measured."""
    return 1.0 + 0.5 * float(design["x"]) if objective == "energy" else 20.0 + 0.1 * int(design["n"])


def used(command: Sequence[str]) -> Used:
    """Run a command, and what it used."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, env=one_thread(), stdout=output, cwd=Path(__file__).parents[1])
        _, status, usage = os.wait4(process.pid, 0)
        clock = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)  # it has been waited for
        output.seek(0)
        text = output.read().decode()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)[:200]} ended with exit status {process.returncode}: {text}")
    return Used(usage.ru_utime + usage.ru_stime, clock, usage.ru_maxrss * 1024 / 1e6, text)


def commands(url: str) -> dict[str, Used]:
    """What opening, asking and telling use, each in a process of its own."""
    python, flexibo = [sys.executable, "-c"], [sys.executable, "-m", "flexibo"]
    opened = used([*python, OPEN.format(url=url)])
    asked = used([*flexibo, "ask", "--json", "--storage", url])
    evaluation = json.loads(asked.output)["evaluations"][0]
    told = used([*flexibo, "tell", evaluation["name"], "0.5", "--cost", "1.2", "--storage", url])
    return {"open": opened, "flexibo ask": asked, "flexibo tell": told}


def of_size(evaluations: int, folder: Path) -> list[Row]:
    """The rows of a study of this size, and of its counterpart without evaluations."""
    urls = [f"sqlite:///{folder}/{name}-{evaluations}.db" for name in ("compiled", "empty", "study")]
    for where, count in zip(urls, (0, 0, evaluations), strict=True):
        # In a process of its own: Linux counts the memory of the process that starts another as the other's.
        used([sys.executable, "-c", WRITE.format(url=where, count=count)])
    bound = evaluations <= BOUND_AT
    compiled, empty, url = urls
    commands(compiled)
    before, first, after = commands(empty), commands(url), commands(url)
    rows = [_row(f"{evaluations:,} evaluations, replayed: {name}", one, before[name]) for name, one in first.items()]
    rows += [_row(f"  later: {name}", one, before[name], bound=bound) for name, one in after.items()]
    front = used([sys.executable, "-c", FRONT.format(url=url)])
    rows.append(
        Row(
            section=1,
            what="  front()",
            measured=float(front.output),
            unit="s",
            must=FRONT_SECONDS if bound else None,
            at_most=True,
            note=f"{front.megabytes:.0f} MB in all",
        )
    )
    python = [sys.executable, "-c"]
    rows.append(_row("  change", used([*python, CHANGE.format(url=url)]), before["open"]))
    changed = used([*python, OPEN.format(url=url)])
    rows.append(_row("  open after the change", changed, before["open"], bound=bound))
    most = max(one.megabytes for one in (*after.values(), front, changed))
    least = max(one.megabytes for one in before.values())
    must = MEMORY_MB if bound else None
    note = f"an empty study: {least:.0f} MB"
    return [*rows, Row(section=1, what="  memory", measured=most, unit="MB", must=must, at_most=True, note=note)]


def _row(what: str, used: Used, empty: Used, *, bound: bool = False) -> Row:
    return Row(
        section=1,
        what=what,
        measured=used.seconds - empty.seconds,
        unit="s",
        must=EXTRA_SECONDS if bound else None,
        at_most=True,
        note=f"above {empty.seconds:.2f} s of an empty study; {used.clock:.2f} s by the clock, {used.megabytes:.0f} MB",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("evaluations", nargs="*", type=int, default=list(SIZES), help="sizes of studies")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/compiled"
        for evaluations in parser.parse_args(arguments).evaluations:
            rows += of_size(evaluations, Path(folder))
    show(machine(), rows)
    return 1 if any(row.verdict == "missed" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
