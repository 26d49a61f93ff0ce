"""A Linux processor: threads, precision, batch size and memory layout; RAPL measures the energy.

The precisions are those that the processor supports: fp32, and bf16 where it has instructions for it. fp16 is not
offered, because torch supports it in few operations on processors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flexibo._internal.machine import cores
from flexibo.hardware import EnergyMeter, RaplMeter
from flexibo.hardware.knobs import Knob, LinuxMachine, linux_knobs
from flexibo.systems.catalogue import NetworkTraits
from flexibo.systems.options import Values
from flexibo.systems.platforms._torch_settings import BATCHES, LAYOUTS, adapted, placed, threads
from flexibo.systems.platforms.base import MakeInputs, Serving, batch_of

LONGEST_SECONDS = 60.0  # of an evaluation, by default: the widest networks take an hour on a small processor
TINY_BATCHES = (1, 4, 16)
BF16 = frozenset({"avx512_bf16", "amx_bf16", "bf16"})  # instructions: the first two on x86, the last on Arm


def has_bf16(proc: Path) -> bool:
    """Whether all cores support bfloat16; otherwise torch emulates it, far more slowly than fp32."""
    try:
        text = (proc / "cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    lines = (line.partition(":") for line in text.splitlines())
    # The cores of one chip may differ, and a network may run on any of them.
    cores = [frozenset(value.split()) for key, _, value in lines if key.strip() in ("flags", "Features")]
    return bool(cores) and bool(frozenset.intersection(*cores) & BF16)


@dataclass(frozen=True, slots=True)
class LinuxCpu:
    """A Linux machine without an accelerator, by default with the cores that this process may use."""

    name = "linux-cpu"
    device = "cpu"
    longest_seconds = LONGEST_SECONDS

    cores: int = field(default_factory=cores)
    machine: LinuxMachine = field(default_factory=LinuxMachine)

    def options(self, traits: NetworkTraits) -> Mapping[str, Values]:
        """Threads are powers of two up to the number of cores."""
        options: dict[str, Values] = {
            "threads": tuple(2**power for power in range(self.cores.bit_length())),
            "precision": ("fp32", "bf16") if has_bf16(self.machine.roots.proc) else ("fp32",),
        }
        if not traits.own_batch:
            options["batch"] = TINY_BATCHES if traits.is_tiny else BATCHES
        if traits.images:
            options["layout"] = LAYOUTS
        return options

    def notes(self) -> tuple[str, ...]:
        """Why bf16 is not offered, if it is not."""
        if has_bf16(self.machine.roots.proc):
            return ()
        return ("precision is fp32 only: this processor has no instructions for bf16 and would emulate it, slowly.",)

    def knobs(self) -> tuple[Knob, ...]:
        """Active cores, frequency and the paper's operating-system options."""
        return linux_knobs(self.machine)

    def meter(self) -> EnergyMeter:
        """RAPL."""
        return RaplMeter(self.machine.roots.sys / "class" / "powercap")

    @contextmanager
    def serving(self, model: Any, inputs: MakeInputs, design: Mapping[str, Any]) -> Iterator[Serving]:
        """The model on the processor."""
        import torch

        batch = batch_of(design)
        precision, layout = str(design["precision"]), str(design.get("layout", "contiguous"))
        with torch.inference_mode(), threads(int(design["threads"])):
            ready = placed(model, self.device, precision, layout)
            given = adapted(inputs(batch, self.device), precision, layout)
            yield Serving(lambda: ready(*given), lambda: None, batch)
