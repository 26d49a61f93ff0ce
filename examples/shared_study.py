"""Several processes share one study; two of them die in the middle of an evaluation, and nothing is lost.

Two worker processes open the same SQLite file. Both are killed (SIGKILL, as by the kernel's out-of-memory killer) while
they measure, and two others continue. The results of the dead workers are kept, and what they were measuring is asked
again. At the end the study is loaded once more and everything is accounted for.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from flexibo import Design, Objective, Space, Study
from flexibo.history.events import Asked, Reissued, Told

NAME = "shared"
NEVER = 10**6


def error(design: Design) -> tuple[float, float]:
    """Stands for a training: it takes 0.1 seconds here and is charged 100 seconds."""
    time.sleep(0.1)
    return 1.0 / design["filters"] + 0.1 * (design["kernel"] == "1x1"), 100.0


def energy(design: Design) -> tuple[float, float]:
    """Stands for a reading on a board."""
    time.sleep(0.02)
    return design["filters"] * (0.5 + (design["cpu_ghz"] - 1.2) ** 2), 5.0


def mortal(function: Callable[[Design], tuple[float, float]], calls: int) -> Callable[[Design], tuple[float, float]]:
    """The function, but after this many successful calls its process is killed in the middle of the next one."""
    left = iter(range(calls))

    def measured(design: Design) -> tuple[float, float]:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(design)

    return measured


def work(storage: str, calls: int) -> None:
    """Run a worker: open the study and measure until nothing is left to ask."""
    with Study.load(storage, NAME) as study:
        study.run({"error": error, "energy": mortal(energy, calls)}, progress=False)


def started(storage: str, calls: int = NEVER) -> subprocess.Popen[bytes]:
    """Start a worker process."""
    return subprocess.Popen([sys.executable, __file__, storage, str(calls)])


def main() -> None:
    """Start workers, let them die, replace them, and account for everything."""
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{Path(folder) / 'shared.db'}"
        space = Space({"filters": [16, 32, 64, 128], "kernel": ["1x1", "3x3"], "cpu_ghz": (0.3, 2.3)})
        objectives = [Objective("error", options=["filters", "kernel"]), Objective("energy", unit="J")]
        Study(space, objectives, budget=700, seed=0, n_initial=4, storage=storage, name=NAME)
        for worker in [started(storage, 2), started(storage, 3)]:
            print(f"Worker {worker.pid} ended with status {worker.wait()}.")
        print(f"So far {len(Study.load(storage, NAME).trace())} answers are on disk; two more workers continue.")
        for worker in [started(storage), started(storage)]:
            worker.wait()

        again = Study.load(storage, NAME)
        told = [event for event in again.events if isinstance(event, Told)]
        taken = sum(isinstance(event, Reissued) for event in again.events)
        asked = Counter(event.worker for event in again.events if isinstance(event, Asked))
        doubled = sum(number > 1 for number in Counter(event.number for event in told).values())
        print(f"Asked by {len(asked)} processes: {', '.join(map(str, asked.values()))} evaluations.")
        print(f"Answers stored: {len(told)}; stored twice: {doubled}; taken over from dead workers: {taken}.\n")
        print(again.summary())
        print()
        print(again.front())


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 1 else main()
