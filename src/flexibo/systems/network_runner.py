"""A network of the paper on a platform: trains it and measures its inference."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from flexibo._internal.text import printable_line
from flexibo.errors import DesignError, MachineError
from flexibo.hardware import EnergyMeter
from flexibo.hardware.knobs import Journal, Knob, settings
from flexibo.hardware.reading import EnergyReading, measure
from flexibo.hardware.thermals import Thermals, cool_down
from flexibo.systems.catalogue import PaperSystem
from flexibo.systems.platforms import Platform, deployed
from flexibo.systems.platforms.base import batch_of

Design = Mapping[str, Any]

PRECISION = "precision"  # the option of every platform that changes what a network answers
QUICK_SECONDS = 2.0  # the length of a recorded reading: twenty steps of a counter that updates ten times a second
PARTS = 5  # windows of a recorded reading; fewer if they were shorter than two meter steps
MOST_PARTS = 3  # the factor by which the number of windows may grow if they disagree
SHORTEST_WARM_UP_SECONDS = 0.1  # a GPU raises its clocks and its power when work begins
LONGEST_WARM_UP_SECONDS = 0.5
WARM_UP_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class NetworkRunner:
    """A system on a platform; what would exceed the time limit is not started, and readings repeat as often as fits."""

    system: PaperSystem
    task: Any  # what its network learns, a `flexibo.systems.tasks.base.LearningTask`
    platform: Platform  # where it runs
    store: Any  # A `flexibo.systems.model_store.ModelStore`; None stores no models
    meter: EnergyMeter
    journal: Journal  # records what knobs change until it is restored
    knobs: tuple[Knob, ...] = ()  # the settings of the machine that are options of designs
    seed: int = 0  # the seed of initial weights and training
    longest_seconds: float | None = None  # the time limit of an evaluation; None: no limit
    window_seconds: float = QUICK_SECONDS  # the length of a recorded reading, all windows together
    cool_celsius: float | None = None  # a reading waits until the machine is at most this warm; None: it does not wait
    clock: Callable[[], float] = time.perf_counter  # of tests in a deployment's precision, and of failures
    _warm: set[int] = field(default_factory=set, init=False, repr=False, compare=False)  # processes that have begun

    def error_percent(self, design: Design) -> tuple[float, float]:
        """The held-out error of the design's network as trained, now or by an earlier request, and its cost in seconds.

        The first training of a process is not charged for imports, kernels and the loading of data, which would make
        its design look expensive: a warm-up comes before the clock starts.
        """
        trained, cost = self._requested(design)
        return float(trained.error_percent), cost

    def deployed_error_percent(self, design: Design) -> tuple[float, float]:
        """The held-out error in the precision of the design, and its cost: training if need be, loading and testing.

        Designs that differ in the deployment alone share one training if there is a store.
        """
        if os.getpid() not in self._warm:
            self._start()
        with self._charged():
            trained, cost = self._requested(design)
            begin = self.clock()
            error = self._tested(trained, design)
            return error, cost + self.clock() - begin

    def inference(
        self,
        design: Design,
        *,
        repeats: int = 10,
        window_seconds: float | None = None,
        most_repeats: int | None = None,
    ) -> EnergyReading:
        """The energy, time and power of an inference of the design's network; one that takes too long is refused.

        The weights are untrained even if there are trained ones, so that the result depends only on the options that
        are declared to matter.
        """
        from flexibo.systems.device_errors import within_memory

        if self.longest_seconds is not None:
            if os.getpid() not in self._warm:
                self._time_device(self._of_network(design))
            with self._charged():
                self._check_reading(design, self.longest_seconds)
        what = f"to run {self.system.name} with {dict(design)} on {self.platform.device}"
        return within_memory(lambda: self._read(design, repeats, window_seconds, most_repeats or repeats), what)

    def is_trained(self, network: Design) -> bool:
        """Whether the store has the outcome of training this network."""
        return self.store is not None and self.store.has(self.task, self._of_network(network), seed=self.seed)

    def warm_up(self, network: Design) -> None:
        """Load the data, train one step and run one inference, all discarded; a first one takes seconds longer."""
        import torch

        from flexibo.systems.tasks.base import evaluating
        from flexibo.systems.training import seeded

        device, network = self.platform.device, self._of_network(network)
        self.task.load(device)
        with seeded(self.seed, 0, device) as generator:
            model = self.task.build(network).to(device)
            optimiser = self.task.optimiser(model, network)
            self.task.loss(model, next(iter(self.task.batches(network, generator, device)))).backward()
            optimiser.steps.step()
            with evaluating(model):
                model(*self.task.inputs(network, 1, device))
        if self.longest_seconds is not None:
            self._time_device(network)
        if str(device).startswith("cuda"):
            torch.cuda.synchronize(device)
        self._warm.add(os.getpid())

    def error(self, network: Design) -> dict[str, float | str]:
        """For a recording: the error, the training time, and the machine it was trained on."""
        trained = self._trained(network)
        return {
            "error_percent": float(trained.error_percent),
            "training_seconds": float(trained.seconds),
            "trained_on": " and ".join(map(printable_line, trained.machines)),
        }

    def reading(self, network: Design, deployment: Design) -> dict[str, float | None]:
        """For a recording: the median of a few short windows, of up to three times as many if they disagree.

        A single window includes every disturbance: when the processor that starts the kernels was held up, a window of
        0.6 s gave 1.5 times the energy.
        """
        step = self.meter.update_seconds
        # A very short reading has two windows of a step each, so that it still says how much windows differ.
        shortest = 2 * step if self.window_seconds >= 4 * step else step
        part = max(shortest, self.window_seconds / PARTS)
        repeats = max(1, round(self.window_seconds / part))
        # A window ends at the first meter step after its time: subtract half a step.
        found = self.inference(
            {**network, **deployment},
            repeats=repeats,
            window_seconds=part - step / 2,
            most_repeats=MOST_PARTS * repeats,
        )
        return {
            "energy_joules": found.joules,
            "latency_ms": 1000 * found.call_seconds,
            "power_watts": found.watts,
            "reading_seconds": found.seconds_total,
            "energy_spread": found.spread,
            "latency_spread": found.call_spread,
            "windows": float(found.repeats),
        }

    def _requested(self, design: Design) -> tuple[Any, float]:
        """The trained network and what this request of it cost, in seconds."""
        if os.getpid() not in self._warm and not self.is_trained(design):
            self._start()
        with self._charged():
            trained = self._trained(design, self.longest_seconds)
        return trained, float(trained.seconds if self.store is None else trained.cost_seconds)

    def _tested(self, trained: Any, design: Design) -> float:
        """The held-out error of a trained network in the precision of the design."""
        from flexibo.systems.device_errors import within_memory
        from flexibo.systems.tasks.base import TrainingFailedError

        precision, device = str(design[PRECISION]), self.platform.device

        def test() -> float:
            model = trained.model if self.store is None else trained.load(self.task, device)
            model = deployed(model, device, precision)
            with warnings.catch_warnings():  # a processor without bf16 computes it by other means, and says so
                warnings.filterwarnings("ignore", "mkldnn_matmul failed")
                return float(self.task.error_percent(model, self._of_network(design), device))

        try:
            return within_memory(test, f"to test {self.system.name} with {dict(design)} on {device}")
        except TrainingFailedError:
            raise TrainingFailedError(
                f"Trained {self.system.name} gives outputs that are not finite in {precision}; choose another one."
            ) from None
        except NotImplementedError as refusal:
            raise MachineError(
                f"This machine cannot run {self.system.name} in {precision} on {device} ({refusal}); measure the error "
                "on a machine that can."
            ) from None

    def _read(self, design: Design, repeats: int, window_seconds: float | None, most: int) -> EnergyReading:
        import torch

        wanted = {knob.name: design[knob.name] for knob in self.knobs}
        with settings(self.knobs, wanted, machine=self.platform.machine, journal=self.journal):
            # On the device itself: a processor takes seconds to draw the weights of a wide network.
            with torch.random.fork_rng(), torch.device(self.platform.device):
                torch.manual_seed(self.seed)
                model = self.task.build(self._of_network(design))
            inputs = partial(self.task.inputs, self._of_network(design))
            with self.platform.serving(model, inputs, design) as ready:
                self._cool()
                return measure(
                    ready.run,
                    self.meter,
                    count=ready.count,
                    repeats=repeats,
                    most_repeats=most,
                    window_seconds=window_seconds,
                    warm_up_seconds=_warm_up_seconds(repeats, window_seconds),
                    limit_seconds=self.longest_seconds,
                    synchronise=ready.synchronise,
                )

    def _cool(self) -> None:
        """Wait until the machine is cool enough for a reading, if that is asked for; the wait is not charged."""
        if self.cool_celsius is not None:
            with Thermals(self.platform.machine.roots.sys) as thermals:
                cool_down(thermals.hottest, self.cool_celsius)

    def _check_reading(self, design: Design, longest_seconds: float) -> None:
        import torch

        from flexibo.systems._expected_time import check_reading

        batch = batch_of(design)
        every = torch.get_num_threads()
        share = min(int(design.get("threads", every)), every) / every
        network, device = self._of_network(design), self.platform.device
        check_reading(self.task, network, device, longest_seconds, batch=batch, share=share)

    def _trained(self, design: Design, longest_seconds: float | None = None) -> Any:
        from flexibo.systems._expected_time import check_training
        from flexibo.systems.training import train

        def trained(task: Any, network: Design, **how: Any) -> Any:
            if longest_seconds is not None:
                check_training(task, network, self.platform.device, longest_seconds)
            return train(task, network, **how)

        network, how = self._of_network(design), {"seed": self.seed, "device": self.platform.device}
        if self.store is None:
            return trained(self.task, network, **how)
        return self.store.trained(self.task, network, **how, train=trained)

    def _start(self) -> None:
        """Warm up with the smallest network: a large one may not fit, and this is about the process."""
        from flexibo.systems.device_errors import within_memory

        smallest = {name: min(values) for name, values in self.system.options.items()}
        within_memory(lambda: self.warm_up(smallest), f"to train {smallest} on {self.platform.device}")

    def _time_device(self, network: Design) -> None:
        """Time the device once, if the work of networks like this one can be counted."""
        from flexibo.systems._expected_time import known_speed, work_of

        if work_of(self.task, network) is not None:
            known_speed(self.platform.device)

    @contextmanager
    def _charged(self) -> Iterator[None]:
        """A context in which a design that is refused or fails is charged for the time since its begin, no earlier."""
        begin = self.clock()
        try:
            yield
        except DesignError as error:
            if error.cost is None:
                error.cost = self.clock() - begin
            raise

    def _of_network(self, design: Design) -> dict[str, Any]:
        return {name: design[name] for name in self.system.options}


def _warm_up_seconds(repeats: int, window_seconds: float | None) -> float:
    """A quarter of the reading that follows, within limits; the longest if the meter decides its length."""
    if window_seconds is None:
        return LONGEST_WARM_UP_SECONDS
    share = WARM_UP_SHARE * repeats * window_seconds
    return min(LONGEST_WARM_UP_SECONDS, max(SHORTEST_WARM_UP_SECONDS, share))
