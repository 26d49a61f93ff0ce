"""A Linux processor: threads, precision, batch size and memory layout; RAPL reads the energy.

Precisions are those that the processor calculates in itself: fp32, and bf16 where it has instructions for it. fp16 is
not offered: torch has few operations in it on processors.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from flexibo.hardware import EnergyMeter, RaplMeter
from flexibo.hardware.knobs import Knob, LinuxMachine, linux_knobs
from flexibo.systems.catalogue import NetworkTraits
from flexibo.systems.options import Values
from flexibo.systems.platforms._processor import has_bf16
from flexibo.systems.platforms._torch_settings import BATCHES, LAYOUTS, adapted, placed, threads
from flexibo.systems.platforms.base import MakeInputs, Serving

LONGEST_SECONDS = 60.0
"""How long an evaluation may take on a processor: the widest networks would keep a small one busy for an hour each."""


@dataclass(frozen=True, slots=True)
class LinuxCpu:
    """A Linux machine without an accelerator.

    Attributes:
        cores: How many threads may run at once; by default what this process may use.
        machine: What its knobs write to, with the places of /sys and /proc.
    """

    cores: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    machine: LinuxMachine = field(default_factory=LinuxMachine)

    @property
    def name(self) -> str:
        """What a user types."""
        return "linux-cpu"

    @property
    def device(self) -> str:
        """Where torch runs."""
        return "cpu"

    def options(self, traits: NetworkTraits) -> Mapping[str, Values]:
        """Threads are powers of two up to the number of cores."""
        options: dict[str, Values] = {
            "threads": tuple(2**power for power in range(self.cores.bit_length())),
            "precision": ("fp32", "bf16") if has_bf16(self.machine.roots.proc) else ("fp32",),
        }
        if not traits.own_batch:
            options["batch"] = BATCHES
        if traits.images:
            options["layout"] = LAYOUTS
        return options

    @property
    def longest_seconds(self) -> float:
        """A minute."""
        return LONGEST_SECONDS

    def notes(self) -> tuple[str, ...]:
        """Why bf16 is not offered, where it is not."""
        if has_bf16(self.machine.roots.proc):
            return ()
        return ("precision is fp32 alone: this processor has no instructions for bf16 and would imitate it, slowly.",)

    def knobs(self) -> tuple[Knob, ...]:
        """Active cores, frequency and the paper's options of the operating system, where they can be set."""
        return linux_knobs(self.machine)

    def meter(self) -> EnergyMeter:
        """RAPL."""
        return RaplMeter(self.machine.roots.sys / "class" / "powercap")

    @contextmanager
    def serving(self, model: Any, inputs: MakeInputs, design: Mapping[str, Any]) -> Iterator[Serving]:
        """A model on the processor as a design says."""
        import torch

        batch = int(design["batch"] if "batch" in design else design["batch_size"])
        precision, layout = str(design["precision"]), str(design.get("layout", "contiguous"))
        with torch.inference_mode(), threads(int(design["threads"])):
            ready = placed(model, self.device, precision, layout)
            given = adapted(inputs(batch, self.device), precision, layout)
            yield Serving(lambda: ready(*given), lambda: None, batch)
