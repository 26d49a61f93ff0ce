"""The contract of a platform: where a network runs, which options that adds, and how its energy is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from flexibo.hardware.base import EnergyMeter
from flexibo.hardware.knobs import Knob, Machine
from flexibo.systems.catalogue import NetworkTraits
from flexibo.systems.options import Values

MakeInputs: TypeAlias = Callable[[int, str], tuple[Any, ...]]  # batch size, device -> the inputs of a network


def batch_of(design: Mapping[str, Any]) -> int:
    """The number of inputs per inference call: the platform's option, or the network's own."""
    return int(design["batch"] if "batch" in design else design["batch_size"])


@dataclass(frozen=True, slots=True)
class Serving:
    """A network that is ready to run.

    Attributes:
        run: Starts `count` inferences; may return before they are finished.
        synchronise: Returns when they are finished.
        count: The number of inferences per call of `run`.
    """

    run: Callable[[], object]
    synchronise: Callable[[], object]
    count: int


class Platform(Protocol):
    """A kind of machine on which networks run."""

    @property
    def name(self) -> str:
        """The name of the platform on the command line."""

    @property
    def device(self) -> str:
        """The device of torch: ``"cuda"`` or ``"cpu"``."""

    @property
    def machine(self) -> Machine:
        """The machine whose settings its knobs change."""

    def options(self, traits: NetworkTraits) -> Mapping[str, Values]:
        """The deployment options with the values that this machine offers, without the knobs."""

    @property
    def longest_seconds(self) -> float | None:
        """The default time limit of an evaluation; None means no limit."""

    def notes(self) -> tuple[str, ...]:
        """Notes for a report, such as why a precision is not among the options."""

    def knobs(self) -> tuple[Knob, ...]:
        """The settings of hardware and operating system that a program can change on this machine."""

    def meter(self) -> EnergyMeter:
        """The energy meter."""

    def serving(self, model: Any, inputs: MakeInputs, design: Mapping[str, Any]) -> AbstractContextManager[Serving]:
        """A context with the model prepared as the design says; settings of torch are restored at its end."""
