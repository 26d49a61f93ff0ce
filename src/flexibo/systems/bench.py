"""A network of the paper on a platform: what trains it and what reads its energy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from flexibo.hardware import EnergyMeter
from flexibo.hardware.knobs import Journal, Knob, settings
from flexibo.hardware.reading import EnergyReading, measure
from flexibo.systems.catalogue import Entry
from flexibo.systems.platforms import Platform

Design = Mapping[str, Any]

QUICK_SECONDS = 2.0
"""One window of a recording: warm-up and twenty moves of a counter that moves ten times a second."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A system on a platform.

    Attributes:
        entry: The system.
        task: What its network learns, a `flexibo.systems.tasks.base.Task`.
        platform: Where it runs.
        store: Keeps trained models, a `flexibo.systems.models.ModelStore`; None keeps none.
        meter: Reads the energy.
        journal: Where what knobs change is kept until it is put back.
        knobs: Settings of the machine that designs have a value for.
        seed: Of initial weights and of the training.
    """

    entry: Entry
    task: Any
    platform: Platform
    store: Any
    meter: EnergyMeter
    journal: Journal
    knobs: tuple[Knob, ...] = ()
    seed: int = 0

    def error_percent(self, design: Design) -> float:
        """The held-out error of the design's network, trained now or found in the store."""
        return float(self._trained(design).error_percent)

    def inference(self, design: Design, *, repeats: int = 10, window_seconds: float | None = None) -> EnergyReading:
        """What running the design's network costs.

        Its weights are fresh even where there are trained ones: the reading then depends on the options that it is said
        to depend on and on no other.
        """
        from flexibo.systems.memory import within_memory

        what = f"to run {self.entry.name} with {dict(design)} on {self.platform.device}"
        return within_memory(lambda: self._read(design, repeats, window_seconds), what)

    def warm_up(self, network: Design) -> None:
        """One step of a training that is thrown away: a process's first one imports and compiles for seconds."""
        from flexibo.systems.training import seeded

        device = self.platform.device
        with seeded(self.seed, 0, device) as generator:
            model = self.task.build(self._of_network(network)).to(device)
            optimiser = self.task.optimiser(model, network)
            self.task.loss(model, next(iter(self.task.batches(network, generator, device)))).backward()
            optimiser.steps.step()

    def error(self, network: Design) -> dict[str, float]:
        """For a recording: the error and what its training took."""
        trained = self._trained(network)
        return {"error_percent": float(trained.error_percent), "training_seconds": float(trained.seconds)}

    def reading(self, network: Design, deployment: Design) -> dict[str, float]:
        """For a recording: one long window."""
        found = self.inference({**network, **deployment}, repeats=1, window_seconds=QUICK_SECONDS)
        return {
            "energy_joules": found.joules,
            "latency_ms": 1000 * found.call_seconds,
            "power_watts": found.watts,
            "reading_seconds": found.seconds_total,
        }

    def _read(self, design: Design, repeats: int, window_seconds: float | None) -> EnergyReading:
        import torch

        wanted = {knob.name: design[knob.name] for knob in self.knobs}
        with settings(self.knobs, wanted, machine=self.platform.machine, journal=self.journal):
            with torch.random.fork_rng():
                torch.manual_seed(self.seed)
                model = self.task.build(self._of_network(design))
            inputs = partial(self.task.inputs, self._of_network(design))
            with self.platform.serving(model, inputs, design) as ready:
                return measure(
                    ready.run,
                    self.meter,
                    count=ready.count,
                    repeats=repeats,
                    window_seconds=window_seconds,
                    synchronise=ready.synchronise,
                )

    def _trained(self, design: Design) -> Any:
        if self.store is None:
            from flexibo.systems.training import train

            return train(self.task, self._of_network(design), seed=self.seed, device=self.platform.device)
        return self.store.trained(self.task, self._of_network(design), seed=self.seed, device=self.platform.device)

    def _of_network(self, design: Design) -> dict[str, Any]:
        return {name: design[name] for name in self.entry.options}
