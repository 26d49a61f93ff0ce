"""Settings of the machine that are options of a study file: set before a measurement, and restored after it.

A session of `flexibo.hardware.knobs` does it, so what was changed is in a journal before it is changed: after a kill
the next measurement, or ``flexibo knobs restore``, restores it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs import (
    Journal,
    Knob,
    KnobUnavailableError,
    LinuxMachine,
    NvidiaGpus,
    NvpModel,
    Roots,
    Write,
    all_knobs,
    check_free,
    default_path,
    restore,
    settings,
    state,
)
from flexibo.space import Categorical, Ordinal, Space

KNOB_NAMES = tuple(knob.name for knob in all_knobs(LinuxMachine(), NvidiaGpus()))


@dataclass(frozen=True, slots=True)
class MachineSettings:
    """The knobs among the options of designs."""

    names: tuple[str, ...] = ()

    def among(self, options: tuple[str, ...] | None) -> MachineSettings:
        """Those that an objective depends on; None: all."""
        return self if options is None else MachineSettings(tuple(name for name in self.names if name in options))

    def values(self, design: Mapping[str, Any]) -> dict[str, Any]:
        """The values in a design, without those that do not apply."""
        return {name: design[name] for name in self.names if design.get(name) is not None}

    @contextmanager
    def held(self, design: Mapping[str, Any]) -> Iterator[None]:
        """A context in which the machine is set as the design says."""
        wanted = self.values(design)
        if not wanted:
            yield
            return
        machine, knobs, journal = _here()
        restore(journal, machine=machine)  # what a killed measurement left
        with settings(knobs, wanted, machine=machine, journal=journal):
            yield

    def check(self, space: Space) -> tuple[Write, ...]:
        """Raise an error that says what to do if one cannot be set here; returns what a killed session had left."""
        if not self.names:
            return ()
        machine, knobs, journal = _here()
        restored = restore(journal, machine=machine)
        check_free(journal, machine=machine)
        for knob in knobs:
            if knob.name in self.names:
                _check(knob, space, machine)
        return restored


NO_SETTINGS = MachineSettings()


def _check(knob: Knob, space: Space, machine: LinuxMachine) -> None:
    found = state(knob, machine)
    if found.refusal:
        raise KnobUnavailableError(f"Knob {knob.name!r} cannot be set here: {found.refusal}")
    for value in ends_or_values(space, knob.name):
        try:
            knob.writes(value)
        except InvalidValueError as error:
            raise InvalidValueError(f"{str(error).rstrip('.')}. 'flexibo knobs list' shows what it offers.") from None


def ends_or_values(space: Space, name: str) -> tuple[Any, ...]:
    """The values of an option, or the ends of an interval."""
    option = space.options[name]
    return tuple(option.values) if isinstance(option, Categorical | Ordinal) else (option.low, option.high)


def _here() -> tuple[LinuxMachine, tuple[Knob, ...], Journal]:
    roots = Roots.of_environment(os.environ)
    gpus = NvidiaGpus(allow=True)  # a file that names a knob of a GPU allows it
    machine = LinuxMachine(roots, gpus, NvpModel(roots))
    return machine, all_knobs(machine, gpus), Journal(default_path(os.environ, Path.home()), roots)
