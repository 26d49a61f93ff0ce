"""A meter by command: a program that prints the energy counted so far, or the power now.

The last line that it prints is a number and its unit:

    1234.5 J          joules counted since any moment (also mJ, kJ, Wh, kWh); it is run before and after the work
    12.5 W            the power now (also mW, kW); it is run again and again while the work lasts

A number without a unit is refused: watts taken for joules would be wrong without a sign of it. A command that prints
without end, or does not end, is ended with all that it started.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from flexibo._internal.shell import ScriptResult, ScriptStopped, ScriptTimeout, run_script
from flexibo._internal.text import printable_line, shortened
from flexibo.errors import MachineError
from flexibo.hardware.base import MeterError
from flexibo.hardware.counting import CounterMeter
from flexibo.hardware.sampling import SampledMeter

PERIOD_SECONDS = 1.0
LIMIT_SECONDS = 15.0  # of one call
MOST_KIB = 64  # how much one call may print
JOULES = {"mJ": 1e-3, "J": 1.0, "kJ": 1e3, "Wh": 3600.0, "kWh": 3.6e6}
WATTS = {"mW": 1e-3, "W": 1.0, "kW": 1e3}
_LINE = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z]+)")
_SHOWN = 60


class CommandMeterError(MeterError):
    """The command of a meter fails, or prints no energy and no power."""


class CommandMeter:
    """The joules that a shell command reports.

    Args:
        command: The command, for `/bin/sh`.
        folder: Where it runs; None: the working folder.
        environment: What it sees; None: the environment of this process.
        period_seconds: The time between two samples of a command that prints watts.
        clock: Seconds.

    Raises:
        CommandMeterError: It fails, or prints no number with a unit; the message says what it printed.
    """

    is_estimate = False

    def __init__(
        self,
        command: str,
        *,
        folder: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        period_seconds: float = PERIOD_SECONDS,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.name = f"command {shortened(printable_line(command), _SHOWN)}"
        self._command, self._folder, self._environment = command, folder, environment
        self._clock = clock
        self._is_closed = threading.Event()
        begin = clock()
        self._unit, self._watts = self._ask()[1], 0.0
        self._shown = 0.0
        # A reading is as old as the command takes to print it.
        self.update_seconds = max(period_seconds, clock() - begin)
        self._meter: CounterMeter | SampledMeter
        if self._unit in JOULES:
            self._meter = CounterMeter(self._number, name=self.name, update_seconds=self.update_seconds)
        else:
            self._meter = SampledMeter(self._power, period_seconds=self.update_seconds, clock=clock, name=self.name)

    def read_joules(self) -> float:
        """The energy so far; of sampled watts without the time that the last sample took."""
        self._is_closed.clear()
        asked = self._clock()
        joules = self._meter.read_joules()
        if isinstance(self._meter, CounterMeter):
            return joules
        self._shown = max(joules - self._watts * (self._clock() - asked), self._shown)
        return self._shown

    def close(self) -> None:
        """Stop sampling, and end a call that is under way; leaving a `with` block does so."""
        self._is_closed.set()
        if isinstance(self._meter, SampledMeter):
            self._meter.stop()

    def __enter__(self) -> CommandMeter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _power(self) -> float:
        self._watts = self._number()
        return self._watts

    def _number(self) -> float:
        number, unit = self._ask()
        if (unit in JOULES) != (self._unit in JOULES):
            raise CommandMeterError(f"The meter's {self.name} printed {self._unit} first and {unit} now.")
        return number

    def _ask(self) -> tuple[float, str]:
        """Joules or watts, and the unit that was printed."""
        done = self._called()
        if done.status:
            said = _last_line(done.errors) or _last_line(done.output)
            status = done.status if done.status > 0 else 128 - done.status
            raise CommandMeterError(
                f"The meter's {self.name} ended with exit status {status}{f' ({said})' if said else ''}; it must print "
                "a number and its unit, J or W."
            )
        return parsed_line(_last_line(done.output), self.name)

    def _called(self) -> ScriptResult:
        """The result of one call of the command."""
        left = MOST_KIB * 1024

        def listen(chunk: bytes) -> None:
            nonlocal left
            left -= len(chunk)
            if left < 0:
                raise CommandMeterError(
                    f"The meter's {self.name} printed more than {MOST_KIB} KiB; it must print a number and its unit, "
                    "J or W, and end."
                )

        try:
            return run_script(
                self._command,
                folder=str(self._folder or os.curdir),
                environment=os.environ if self._environment is None else self._environment,
                seconds=LIMIT_SECONDS,
                listen=listen,
                is_over=self._is_closed.is_set,
            )
        except ScriptTimeout:
            raise CommandMeterError(f"The meter's {self.name} did not end within {LIMIT_SECONDS:g} s.") from None
        except ScriptStopped:
            raise CommandMeterError(f"The meter's {self.name} was ended.") from None
        except CommandMeterError:
            raise
        except MachineError as error:
            raise CommandMeterError(f"The meter's {self.name} cannot be run: {str(error).rstrip('.')}.") from None


def parsed_line(line: str, name: str) -> tuple[float, str]:
    """The joules or watts that a line says, and its unit.

    >>> parsed_line("0.5 Wh", "plug"), parsed_line("12.5W", "plug")
    ((1800.0, 'Wh'), (12.5, 'W'))
    """
    found = _LINE.fullmatch(line)
    units = {**JOULES, **WATTS}
    if found is None or found[2] not in units:
        said = f"{line!r} last" if line else "nothing"
        raise CommandMeterError(
            f"The meter's {name} printed {said}; its last line must be a number and its unit: the energy so far in "
            f"{', '.join(JOULES)}, or the power now in {', '.join(WATTS)}, as in 12.5 W."
        )
    number = float(found[1]) * units[found[2]]
    if not (math.isfinite(number) and number >= 0):
        raise CommandMeterError(f"The meter's {name} printed {line!r}; energy and power are zero or more.")
    return number, found[2]


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return shortened(printable_line(lines[-1]), 200) if lines else ""
