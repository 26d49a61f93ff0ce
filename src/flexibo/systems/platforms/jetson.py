"""NVIDIA Jetson boards, as in the paper, and Orin; the power sensors of the board (INA3221) measure the energy."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from flexibo.hardware import EnergyMeter, Ina3221Meter
from flexibo.hardware.knobs import Knob, LinuxMachine, jetson_knobs, orin_knobs, os_knobs
from flexibo.systems.catalogue import NetworkTraits
from flexibo.systems.options import Values
from flexibo.systems.platforms._torch_settings import BATCHES
from flexibo.systems.platforms.base import MakeInputs, Serving
from flexibo.systems.platforms.nvidia_gpu import NvidiaGpu

PRECISIONS = ("fp32", "fp16")
ORIN = "orin"
ORIN_PRECISIONS = ("fp32", "tf32", "bf16", "fp16")  # its GPU is an Ampere, those of the paper's boards are older


@dataclass(frozen=True, slots=True)
class Jetson:
    """A Jetson board: ``"xavier"``, ``"tx2"`` or ``"orin"`` (AGX, NX or Nano)."""

    device = "cuda:0"
    longest_seconds = None

    board: str = "xavier"
    machine: LinuxMachine = field(default_factory=LinuxMachine)

    @property
    def name(self) -> str:
        """The name of the platform on the command line."""
        return f"jetson-{self.board}"

    def options(self, traits: NetworkTraits) -> Mapping[str, Values]:
        """Batch size and precision; the paper's options are knobs."""
        options: dict[str, Values] = {} if traits.own_batch else {"batch": BATCHES}
        options["precision"] = ORIN_PRECISIONS if self.board == ORIN else PRECISIONS
        return options

    def notes(self) -> tuple[str, ...]:
        """None."""
        return ()

    def knobs(self) -> tuple[Knob, ...]:
        """The paper's hardware and operating-system options, on an Orin with its own ranges."""
        hardware = orin_knobs(self.machine) if self.board == ORIN else jetson_knobs(self.machine)
        return (*hardware, *os_knobs(self.machine))

    def meter(self) -> EnergyMeter:
        """The INA3221 sensors of the board."""
        return Ina3221Meter(self.machine.roots.sys)

    def serving(self, model: Any, inputs: MakeInputs, design: Mapping[str, Any]) -> AbstractContextManager[Serving]:
        """The model on the GPU of the board."""
        return NvidiaGpu().serving(model, inputs, {**design, "streams": 1, "cuda_graphs": False})
