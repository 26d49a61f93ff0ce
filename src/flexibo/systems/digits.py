"""A small neural network on scikit-learn's digits, actually trained and run.

Two objectives of very different cost: the error of a trained network, and the cost of 1,000 inferences, in joules if an
energy meter can be read and otherwise in milliseconds. The options come in three groups:

    Architecture   layers, width, activation               change the error and the cost of inference
    Training       learning_rate, l2, epochs               change the error only
    Deployment     batch, threads, precision, layout       change the cost of inference only

The task is to recognise the 8 x 8 images even if they are shifted by one pixel. Without shifts, 32 hidden units do as
well as 256 and there is little to trade off; with them, the error falls from 25 % to 2 % as the network grows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np

from flexibo._internal.checks import whole_number
from flexibo.errors import InvalidValueError
from flexibo.hardware import POWERCAP, EnergyMeter, RaplMeter, find_meter
from flexibo.objectives import Objective
from flexibo.space import Real, Space
from flexibo.systems import _digits_network as network
from flexibo.systems._digits_network import Architecture, Deployment, Design, Training
from flexibo.systems.base import System

N_READINGS = 5
TIME_WINDOW_SECONDS = 0.01
# RAPL counters are updated about once a millisecond; a longer window keeps that below 5 % of a reading.
ENERGY_WINDOW_SECONDS = 0.02
# Images per request while inference is measured: enough to benefit from several threads.
N_REQUESTED = 512


def median_rise(
    work: Callable[[], object],
    gauge: Callable[[], float],
    *,
    window_seconds: float,  # a reading lasts at least this, so that the steps of the gauge do not matter
    n_readings: int = N_READINGS,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The increase of a gauge (a clock, a counter of joules) per call of `work`: the median of several readings."""
    work()  # starts the threads and fills the caches
    start = clock()
    work()
    n_calls = math.ceil(window_seconds / max(clock() - start, 1e-6))
    rises = []
    for _ in range(n_readings):
        before = gauge()
        for _ in range(n_calls):
            work()
        rises.append((gauge() - before) / n_calls)
    return median(rises)


class Digits:
    """The measurements of this system; it keeps every trained network."""

    def __init__(self, meter: EnergyMeter | None = None, *, train: Callable[..., Any] = network.train) -> None:
        # Here, so that loading the data and importing scikit-learn do not count as cost of the first measurement.
        import_module("sklearn.neural_network")
        self._training_images, self._test_images = network.load_images()
        self._meter = meter
        self._train = train
        self._trained: dict[tuple[Architecture, Training], network.Weights] = {}

    def error_percent(self, design: Design) -> float:
        """The percentage of held-out images that the design's network gets wrong; the first request trains it."""
        architecture, training = network.group_of(Architecture, design), network.group_of(Training, design)
        key = (architecture, training)
        if key not in self._trained:
            self._trained[key] = network.trained_weights(self._train(architecture, training, self._training_images))
        predictor = network.DigitPredictor(self._trained[key], architecture.activation, network.AS_TRAINED)
        with network.serving(predictor, network.AS_TRAINED.threads) as labels:
            wrong = labels(self._test_images.pixels) != self._test_images.labels
        return 100 * float(np.mean(wrong))

    def inference_ms(self, design: Design) -> float:
        """The time of 1,000 inferences in milliseconds."""
        return 1000 * 1000 * self._rise_per_image(design, time.perf_counter, TIME_WINDOW_SECONDS)

    def inference_joules(self, design: Design) -> float:
        """The energy of 1,000 inferences in joules."""
        if self._meter is None:
            raise InvalidValueError("There is no energy meter to read; give one, or measure inference_ms.")
        return 1000 * self._rise_per_image(design, self._meter.read_joules, ENERGY_WINDOW_SECONDS)

    def _rise_per_image(self, design: Design, gauge: Callable[[], float], window_seconds: float) -> float:
        architecture, deployment = network.group_of(Architecture, design), network.group_of(Deployment, design)
        # Untrained weights even if trained ones exist, so that the cost depends on the declared options only (heavily
        # regularised weights can be denormal numbers, which are slow).
        weights = network.fresh_weights(architecture, np.random.default_rng(network.SEED))
        predictor = network.DigitPredictor(weights, architecture.activation, deployment)
        pixels = self._test_images.pixels[:N_REQUESTED]
        with network.serving(predictor, deployment.threads) as labels:
            rise = median_rise(lambda: labels(pixels), gauge, window_seconds=window_seconds)
        return rise / len(pixels)


def digits_system(
    meter: EnergyMeter | Literal["auto"] | None = "auto",
    *,
    cores: int | None = None,
    powercap: str | Path = POWERCAP,
) -> System:
    """The digits network as a system to optimise.

    Args:
        meter: The energy meter; "auto" searches for one, None measures time.
        cores: The largest number of threads; by default the cores that this process may use.
        powercap: Where "auto" searches for a meter.
    """
    if isinstance(meter, str) and meter != "auto":
        raise InvalidValueError(f"The meter is {meter!r}; it must be 'auto', None or an object with read_joules().")
    found = find_meter(powercap) if meter == "auto" else meter
    digits = Digits(found)
    options = network.option_names(Architecture, Deployment)
    if found is not None:
        cheap = Objective("inference_joules", unit="J", options=options, noisy=True)
        note = f"inference_joules is energy per 1,000 images, read from {found.name}."
        measure = digits.inference_joules
    else:
        cheap = Objective("inference_ms", unit="ms", options=options, noisy=True)
        reason = RaplMeter.available(powercap).reason if meter == "auto" else "None was asked for."
        note = f"inference_ms is time per 1,000 images, because no energy meter is read: {reason}"
        measure = digits.inference_ms
    error = Objective("error_percent", unit="%", options=network.option_names(Architecture, Training))
    return System(
        "digits",
        digits_space(cores),
        (error, cheap),
        {error.name: digits.error_percent, cheap.name: measure},
        ("error_percent is measured on held-out images, moved by at most one pixel.", note),
    )


def digits_space(cores: int | None = None) -> Space:
    """The designs of the digits network on a machine with some number of cores, by default this one."""
    # Unlike os.cpu_count, joblib (a dependency of scikit-learn) considers affinity and container limits.
    from joblib import cpu_count  # type: ignore[import-untyped]  # scikit-learn brings it; it has no type hints

    most = whole_number("The number of cores", cpu_count() if cores is None else cores, least=1)
    return Space(
        {
            "layers": (1, 3),
            "width": [8, 12, 16, 24, 32, 48, 64, 96, 128, 192],
            "activation": list(network.ACTIVATIONS),
            "learning_rate": Real(1e-3, 3e-2, log=True),
            "l2": Real(1e-6, 1e-1, log=True),
            "epochs": (3, 12),
            "batch": [8, 16, 32, 64, 128],
            "threads": [2**power for power in range(most.bit_length())],
            "precision": list(network.PRECISIONS),
            "layout": list(network.LAYOUTS),
        }
    )
