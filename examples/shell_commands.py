"""Optimise programs that are not written in Python: how to compress a log, small or fast.

An awk program writes the log; ``gzip``, ``bzip2`` and ``xz`` compress it, run by a shell that finds the design in
environment variables. The script runs the loop of ask and tell itself: anything that can run a command, read a number
and take the time can be optimised like this. A level that a tool does not accept is reported as a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from flexibo import Design, Evaluation, Objective, Space, Study

WRITE_LOG = r"""
BEGIN {
    srand(1)
    for (line = 0; line < 40000; line++)
        printf "2026-11-%02d %02d:%02d node%d sent %d bytes in %.3f s, status %s\n", 1 + line / 1400, line / 60 % 24,
            line % 60, rand() * 9, rand() * 1e6, rand(), rand() < 0.9 ? "ok" : "late"
}
"""
COMMANDS = {
    "kilobytes": '"$TOOL" -"$LEVEL" -c log.txt | wc -c',
    "seconds": 'head -n 8000 log.txt | "$TOOL" -"$LEVEL" -c >/dev/null',
}


def measured(evaluation: Evaluation, folder: Path) -> float:
    """The requested value: the compressed size of the whole log, or the time to compress a fifth of it."""
    start = time.perf_counter()
    output = shell(COMMANDS[evaluation.objective], evaluation.design, folder)
    if evaluation.objective == "kilobytes":
        return int(output) / 1000.0
    return time.perf_counter() - start


def shell(command: str, design: Design, folder: Path) -> str:
    """The output of a command. The design is in its environment: no value ever becomes part of a command."""
    environment = os.environ | {name.upper(): str(value) for name, value in design.items()}
    done = subprocess.run(
        ["sh", "-e", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    if done.returncode or done.stderr:
        raise RuntimeError(done.stderr.strip() or f"exit status {done.returncode}")
    return done.stdout


def main() -> None:
    """Ask, run a command and tell in a loop; then print the front."""
    tools = [tool for tool in ("gzip", "bzip2", "xz") if shutil.which(tool)]
    space = Space({"tool": tools, "level": (1, 9)})
    objectives = [Objective("kilobytes", unit="kB"), Objective("seconds", unit="s", noisy=True)]
    study = Study(space, objectives, seed=0, n_initial=4, stop={"max_evaluations": 20})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "log.txt").open("wb") as log:
            subprocess.run(["awk", WRITE_LOG], stdout=log, check=True)
        print(f"The log has {(folder / 'log.txt').stat().st_size / 1000:,.0f} kB; tools: {', '.join(tools)}.")
        while evaluation := study.ask():
            start = time.perf_counter()
            try:
                value = measured(evaluation, folder)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                study.fail(evaluation, error, cost=time.perf_counter() - start)
            else:
                study.tell(evaluation, value, cost=time.perf_counter() - start)
    print(f"Stopped: {study.stopped}\n")
    print(study.front())
    print()
    print(study.summary())


if __name__ == "__main__":
    main()
