"""Apple: the power of processor, GPU and neural engine of a Mac, from the command powermetrics, which needs root.

powermetrics prints a block for each interval: its length, and the mean power in it. So the energy of a block is known
exactly, and a counter is the sum of all blocks; a reading waits for the block that covers its moment.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Sequence

from flexibo.hardware.base import MeterError

INTERVAL_SECONDS = 0.2
LIMIT_SECONDS = 10.0  # how long to wait for a block
COMMAND = (
    *("powermetrics", "--samplers", "cpu_power,gpu_power", "--buffer-size", "1"),
    *("--sample-rate", str(round(1000 * INTERVAL_SECONDS))),
)
_ELAPSED = re.compile(r"\*\*\* Sampled system activity .*\(([\d.]+)ms elapsed\)")
_COMBINED = re.compile(r"Combined Power \(.*\): ([\d.]+) ?mW")
_INTEL = re.compile(r"Intel energy model derived package power .*: ([\d.]+) ?W")


class AppleUnavailableError(MeterError):
    """powermetrics is not there, is not permitted, or reports no power."""


class AppleMeter:
    """The energy of an Apple chip in joules since the meter was created.

    Args:
        command: The program and its arguments; another one in tests.

    Raises:
        AppleUnavailableError: It cannot be run, or reports no power; the message says what to do.
    """

    update_seconds = INTERVAL_SECONDS
    is_estimate = False
    name = "powermetrics, processor + GPU + neural engine"

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        if shutil.which(command[0]) is None:
            raise AppleUnavailableError(f"There is no {command[0]}, the meter of macOS, on this machine.")
        self._moved = threading.Condition()
        self._joules, self._n_blocks, self._has_ended = 0.0, 0, False
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        except OSError as error:
            raise AppleUnavailableError(f"{command[0]} cannot be run: {error.strerror}.") from error
        self._thread = threading.Thread(target=self._listen, name=self.name, daemon=True)
        self._thread.start()
        try:
            self._wait(1)
        except MeterError:
            self.close()
            raise

    def read_joules(self) -> float:
        """The energy up to the end of the present block, for which this waits."""
        with self._moved:
            wanted = self._n_blocks + 1
        self._wait(wanted)
        with self._moved:
            return self._joules

    def close(self) -> None:
        """End powermetrics; leaving a `with` block does so."""
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait()
        self._thread.join()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> AppleMeter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _wait(self, n_blocks: int) -> None:
        with self._moved:
            self._moved.wait_for(lambda: self._n_blocks >= n_blocks or self._has_ended, LIMIT_SECONDS)
            if self._n_blocks >= n_blocks:
                return
            has_ended = self._has_ended
        if not has_ended:
            raise AppleUnavailableError(f"powermetrics has reported no power for {LIMIT_SECONDS:g} s.")
        said = self._process.stderr.read().strip() if self._process.stderr else ""
        why = said.splitlines()[-1].rstrip(".") if said else f"exit status {self._process.wait()}"
        raise AppleUnavailableError(f"powermetrics ended ({why}); it needs root, so run the command with sudo.")

    def _listen(self) -> None:
        seconds = 0.0
        for line in self._process.stdout or ():
            if found := _ELAPSED.search(line):
                seconds = float(found[1]) / 1000
            elif (watts := _watts(line)) is not None and seconds > 0:
                with self._moved:
                    self._joules += watts * seconds
                    self._n_blocks += 1
                    self._moved.notify_all()
                seconds = 0.0
        with self._moved:
            self._has_ended = True
            self._moved.notify_all()


def _watts(line: str) -> float | None:
    """The power that a line reports.

    >>> _watts("Combined Power (CPU + GPU + ANE): 1250 mW"), _watts("CPU Power: 900 mW")
    (1.25, None)
    """
    if found := _COMBINED.search(line):
        return float(found[1]) / 1000
    found = _INTEL.search(line)
    return float(found[1]) if found else None
