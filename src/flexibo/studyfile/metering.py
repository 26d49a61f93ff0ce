"""The meter of a command in a study file: what is read, and which quantity of it is the value of an objective."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import MappingProxyType

from flexibo._internal.numbers import format_number
from flexibo.hardware import (
    EnergyMeter,
    IdlePower,
    MeteredRun,
    MeterPlaces,
    Temperature,
    Thermals,
    chosen_meter,
    close_meter,
    cool_down,
    measured_idle,
    metered,
)
from flexibo.hardware.by_command import PERIOD_SECONDS
from flexibo.hardware.thermals import risen

PRINTED = "printed"  # the value that the command itself prints
QUANTITIES: Mapping[str, Callable[[MeteredRun], float]] = MappingProxyType(
    {"joules": lambda run: run.joules, "watts": lambda run: run.watts, "seconds": lambda run: run.seconds}
)
COOL_LIMIT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class MeterChoice:
    """What a study file says about a meter."""

    name: str  # auto, a name or a sum of names, or a command
    folder: str = "."  # where a command runs
    idle_seconds: float | None = None  # how long the idle power is measured, which is then subtracted; None: it is not
    celsius: float | None = None  # a reading waits until the machine is at most this warm; None: it does not wait
    cool_limit_seconds: float = COOL_LIMIT_SECONDS  # how long at most
    period_seconds: float = PERIOD_SECONDS  # the time between two samples of a command that prints watts

    def opened(self, environment: Mapping[str, str]) -> EnergyMeter:
        """The meter; an error that says what to do if it cannot be read."""
        return chosen_meter(
            self.name,
            MeterPlaces.of_environment(os.environ),
            folder=self.folder,
            environment=environment,
            period_seconds=self.period_seconds,
        )

    def read(
        self, work: Callable[[], object], environment: Mapping[str, str], settings: tuple[object, ...] = ()
    ) -> tuple[MeteredRun, str]:
        """Run work once: its energy (above idle, if that is subtracted) and time, and a line for people.

        `settings` are those of the machine, on which its idle power depends.
        """
        with ExitStack() as stack:
            thermals = stack.enter_context(Thermals(MeterPlaces.of_environment(os.environ).sys))
            if self.celsius is not None:
                cool_down(thermals.hottest, self.celsius, limit_seconds=self.cool_limit_seconds)
            meter = self.opened(environment)
            stack.callback(close_meter, meter)
            idle = None if self.idle_seconds is None else self._idle(meter, self.idle_seconds, settings)
            before, slow = thermals.hottest(), thermals.slowdowns()
            run = metered(work, meter)
            after, slowed = thermals.hottest(), risen(slow, thermals.slowdowns())
        if idle is not None:
            run = MeteredRun(run.above(idle), run.seconds)
        return run, reading_line(run, meter.name, idle, before, after, slowed)

    def _idle(self, meter: EnergyMeter, seconds: float, settings: tuple[object, ...]) -> IdlePower:
        """The idle power, measured once in a process for each setting of the machine."""
        key = (self, settings)
        if key not in _known_idle:
            _known_idle[key] = measured_idle(meter, seconds)
        return _known_idle[key]


_known_idle: dict[tuple[MeterChoice, tuple[object, ...]], IdlePower] = {}


def reading_line(
    run: MeteredRun,
    meter: str,
    idle: IdlePower | None,
    before: Temperature | None,
    after: Temperature | None,
    slowed: Mapping[str, float],
) -> str:
    """A reading in one line for people."""
    joules, watts, seconds = (format_number(number) for number in (run.joules, run.watts, run.seconds))
    parts = [f"{joules} J, {watts} W in {seconds} s, read from {meter}"]
    if idle is not None:
        parts.append(f"above the idle power of {format_number(idle.watts)} W ± {format_number(idle.spread)} W")
    if before is not None and after is not None:
        parts.append(f"{before.celsius:.0f} °C before, {after.celsius:.0f} °C after")
    parts += [f"{amount:g} {what}" for what, amount in slowed.items()]
    return "; ".join(parts)
