"""What a platform is: where a network is run, which options that adds, and how its energy is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from flexibo.hardware.base import EnergyMeter
from flexibo.hardware.knobs import Knob, Machine
from flexibo.systems.catalogue import NetworkTraits
from flexibo.systems.options import Values

MakeInputs: TypeAlias = Callable[[int, str], tuple[Any, ...]]
"""From a batch size and a device to the tensors that a network is called with."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A network that is ready to run.

    Attributes:
        run: Does the work of `count` inferences; may return before they are finished.
        synchronise: Returns when they are.
        count: How many inferences one `run` is.
    """

    run: Callable[[], object]
    synchronise: Callable[[], object]
    count: int


class Platform(Protocol):
    """Where a network is run."""

    @property
    def name(self) -> str:
        """What a user types."""
        ...

    @property
    def device(self) -> str:
        """Where torch trains and runs: ``"cuda"`` or ``"cpu"``."""
        ...

    @property
    def machine(self) -> Machine:
        """What its knobs write to."""
        ...

    def options(self, traits: NetworkTraits) -> Mapping[str, Values]:
        """The deployment options with the values that this machine has; knobs are not among them."""
        ...

    @property
    def longest_seconds(self) -> float | None:
        """How long an evaluation may take unless a user says otherwise; None is without limit."""
        ...

    def notes(self) -> tuple[str, ...]:
        """Sentences that a report repeats, such as why a precision is not among the options."""
        ...

    def knobs(self) -> tuple[Knob, ...]:
        """Settings of the hardware and the operating system that this machine lets a program change."""
        ...

    def meter(self) -> EnergyMeter:
        """What reads the energy."""
        ...

    def serving(self, model: Any, inputs: MakeInputs, design: Mapping[str, Any]) -> AbstractContextManager[Serving]:
        """A model made ready as a design says; what that changes is put back afterwards."""
        ...
