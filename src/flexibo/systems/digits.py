"""A small neural network on scikit-learn's bundled digits, trained and run for real.

Two objectives of very different price: the error of a trained network, and what 1,000 inferences cost, in joules where
an energy meter can be read and in milliseconds otherwise. The options come in three groups:

    Architecture   layers, width, activation               change the error and the cost of inference
    Training       learning_rate, l2, epochs               change the error only
    Deployment     batch, threads, precision, layout       change the cost of inference only

The task is to recognise the 8 x 8 images though they may be moved by one pixel. Unmoved, 32 hidden units do as well as
256 and there is little to trade; moved, the error falls from 25 % to 2 % as the network grows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib import import_module
from itertools import pairwise
from numbers import Integral
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from flexibo.arrays import AnyArray, FloatArray, IntArray
from flexibo.errors import InvalidValueError
from flexibo.hardware import POWERCAP, EnergyMeter, RaplMeter, find_meter
from flexibo.objectives import Objective
from flexibo.space import Real, Space
from flexibo.systems.base import System

N_CLASSES = 10
N_PIXELS = 64
BRIGHTEST = 16  # the images hold whole numbers from 0 to 16
SHIFTS = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0))
TEST_SHARE = 1 / 3
TRAINING_BATCH = 64
SEED = 0

N_READINGS = 5
TIME_WINDOW_SECONDS = 0.01
# RAPL counters move about once a millisecond; a longer window keeps that below 5 % of a reading.
ENERGY_WINDOW_SECONDS = 0.02
# Images per request while inference is measured: large enough that sharing them among threads can pay.
N_REQUESTED = 512

PixelArray = npt.NDArray[np.uint8]
Design = Mapping[str, Any]


def _relu(h: AnyArray) -> None:
    np.maximum(h, 0, out=h)


def _tanh(h: AnyArray) -> None:
    np.tanh(h, out=h)


def _logistic(h: AnyArray) -> None:
    # By way of tanh, which cannot overflow.
    h *= 0.5
    np.tanh(h, out=h)
    h += 1
    h *= 0.5


ACTIVATIONS: dict[str, Callable[[AnyArray], None]] = {"relu": _relu, "tanh": _tanh, "logistic": _logistic}


class Precision(NamedTuple):
    """How numbers are kept and how they are computed with."""

    stored: type[np.floating[Any]]
    computed: type[np.floating[Any]]


# Processors without half-precision arithmetic keep weights in half the space and widen them when they are used.
PRECISIONS = {
    "float64": Precision(np.float64, np.float64),
    "float32": Precision(np.float32, np.float32),
    "float16": Precision(np.float16, np.float32),
}
LAYOUTS: dict[str, Literal["C", "F"]] = {"row": "C", "column": "F"}


def _check_whole(what: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InvalidValueError(f"{what} is {value!r}; it must be a whole number of at least 1.")


def _check_above_zero(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise InvalidValueError(f"Option {name!r} is {value!r}; it must be a number above zero.")


def _check_known(name: str, value: object, known: Mapping[str, object]) -> None:
    if value not in known:
        raise InvalidValueError(f"Option {name!r} is {value!r}; it must be one of {', '.join(known)}.")


@dataclass(frozen=True, slots=True)
class Architecture:
    """The shape of a network: what both objectives depend on."""

    layers: int
    width: int
    activation: str

    def __post_init__(self) -> None:
        _check_whole("Option 'layers'", self.layers)
        _check_whole("Option 'width'", self.width)
        _check_known("activation", self.activation, ACTIVATIONS)


@dataclass(frozen=True, slots=True)
class Training:
    """How a network is trained: what only the error depends on."""

    learning_rate: float
    l2: float
    epochs: int

    def __post_init__(self) -> None:
        _check_above_zero("learning_rate", self.learning_rate)
        _check_above_zero("l2", self.l2)
        _check_whole("Option 'epochs'", self.epochs)


@dataclass(frozen=True, slots=True)
class Deployment:
    """How a network is run: what only the cost of inference depends on."""

    batch: int
    threads: int
    precision: str
    layout: str

    def __post_init__(self) -> None:
        _check_whole("Option 'batch'", self.batch)
        _check_whole("Option 'threads'", self.threads)
        _check_known("precision", self.precision, PRECISIONS)
        _check_known("layout", self.layout, LAYOUTS)


# The error is a property of the trained network, so it is always taken with the numbers that it was trained in.
AS_TRAINED = Deployment(batch=512, threads=1, precision="float64", layout="row")

Group = TypeVar("Group", Architecture, Training, Deployment)


def group_of(kind: type[Group], design: Design) -> Group:
    """The values that a design gives to one group of options.

    >>> group_of(Training, {"learning_rate": 0.01, "l2": 0.001, "epochs": 5, "width": 8})
    Training(learning_rate=0.01, l2=0.001, epochs=5)
    """
    names = option_names(kind)
    missing = [name for name in names if name not in design]
    if missing:
        raise InvalidValueError(f"The design has no option {missing[0]!r}; it needs {', '.join(names)}.")
    return kind(**{name: design[name] for name in names})


def option_names(*kinds: type[Architecture] | type[Training] | type[Deployment]) -> tuple[str, ...]:
    """The names of the options of some groups, in order.

    >>> option_names(Architecture)
    ('layers', 'width', 'activation')
    """
    return tuple(field.name for kind in kinds for field in fields(kind))


@dataclass(frozen=True, slots=True)
class Weights:
    """The numbers of a network: one matrix (inputs, outputs) and one bias per layer."""

    matrices: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]


@dataclass(frozen=True, slots=True)
class Images:
    """Digits with their labels: pixels (number, 64) as whole numbers, labels (number,)."""

    pixels: PixelArray
    labels: IntArray

    def shifted(self) -> Images:
        """The images at their place and moved by one pixel up, down, left and right."""
        side = math.isqrt(N_PIXELS)
        wide = np.pad(self.pixels.reshape(-1, side, side), ((0, 0), (1, 1), (1, 1)))
        moved = [wide[:, 1 + r : 1 + r + side, 1 + c : 1 + c + side].reshape(-1, N_PIXELS) for r, c in SHIFTS]
        return Images(np.concatenate(moved), np.tile(self.labels, len(SHIFTS)))


def load_images() -> tuple[Images, Images]:
    """The images to train on and those to test with: the same at every call, each digit equally frequent in both."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, labels = load_digits(return_X_y=True)
    parts = train_test_split(
        pixels.astype(np.uint8), labels.astype(np.int64), test_size=TEST_SHARE, stratify=labels, random_state=SEED
    )
    # Moved after the split: no test image is a training image that was moved.
    return Images(parts[0], parts[2]).shifted(), Images(parts[1], parts[3]).shifted()


def train(architecture: Architecture, training: Training, images: Images) -> Any:
    """A trained scikit-learn `MLPClassifier`; the same every time."""
    from sklearn.neural_network import MLPClassifier
    from threadpoolctl import threadpool_limits

    classifier = MLPClassifier(
        (architecture.width,) * architecture.layers,
        activation=architecture.activation,
        learning_rate_init=training.learning_rate,
        alpha=training.l2,
        batch_size=min(TRAINING_BATCH, len(images.labels)),
        random_state=np.random.RandomState(SEED),
    )
    X = images.pixels / BRIGHTEST
    # One thread: sums come out the same on every number of cores. An epoch at a time: that many epochs are what the
    # design asks for, whereas fit() would warn that they are too few.
    with threadpool_limits(limits=1):
        for _ in range(training.epochs):
            classifier.partial_fit(X, images.labels, classes=np.arange(N_CLASSES))
    return classifier


def trained_weights(classifier: Any) -> Weights:
    """The weights of a trained `MLPClassifier`."""
    return Weights(tuple(classifier.coefs_), tuple(classifier.intercepts_))


def fresh_weights(architecture: Architecture, rng: np.random.Generator) -> Weights:
    """The weights of a network that was not trained yet."""
    sizes = (N_PIXELS, *(architecture.width,) * architecture.layers, N_CLASSES)
    matrices = [rng.standard_normal(shape) / math.sqrt(shape[0]) for shape in pairwise(sizes)]
    return Weights(tuple(matrices), tuple(np.zeros(size) for size in sizes[1:]))


class Predictor:
    """A network made ready to run: what a deployment makes of its weights.

    Args:
        weights: The network's numbers.
        activation: What its hidden layers apply, a name in `ACTIVATIONS`.
        deployment: How it is run.
    """

    def __init__(self, weights: Weights, activation: str, deployment: Deployment) -> None:
        precision = PRECISIONS[deployment.precision]
        order = LAYOUTS[deployment.layout]
        self._matrices = [np.asarray(matrix, dtype=precision.stored, order=order) for matrix in weights.matrices]
        self._biases = [bias.astype(precision.computed) for bias in weights.biases]
        self._activate = ACTIVATIONS[activation]
        self._batch = deployment.batch
        self._number = precision.computed

    def labels(self, pixels: PixelArray) -> IntArray:
        """The label of each image, batch by batch, in this thread."""
        starts = range(0, len(pixels), self._batch)
        return np.concatenate([self._batch_labels(pixels[start : start + self._batch]) for start in starts])

    def _batch_labels(self, pixels: PixelArray) -> IntArray:
        h: AnyArray = np.multiply(pixels, self._number(1 / BRIGHTEST), dtype=self._number)
        last = len(self._matrices) - 1
        for layer, (matrix, bias) in enumerate(zip(self._matrices, self._biases, strict=True)):
            h = h @ matrix.astype(self._number, copy=False)
            h += bias
            if layer < last:
                self._activate(h)
        labels: IntArray = h.argmax(axis=1)
        return labels


@contextmanager
def serving(predictor: Predictor, threads: int) -> Iterator[Callable[[PixelArray], IntArray]]:
    """A function that labels a request of images, shared evenly among some threads.

    Threads share images rather than matrix products: threads inside a product wait for each other by spinning, which
    makes it a hundred times slower while another program uses one of the cores.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:

        def labels(pixels: PixelArray) -> IntArray:
            if threads == 1:
                return predictor.labels(pixels)
            return np.concatenate(list(pool.map(predictor.labels, np.array_split(pixels, min(threads, len(pixels))))))

        yield labels


def median_rise(
    work: Callable[[], object],
    gauge: Callable[[], float],
    *,
    window_seconds: float,
    n_readings: int = N_READINGS,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """By how much a gauge rises per call of `work`: the median of several readings.

    Args:
        work: What is measured.
        gauge: A number that only rises: a clock, or a counter of joules.
        window_seconds: How long one reading lasts at least, so that the gauge's own steps do not matter.
        n_readings: How many readings the median is taken of.
        clock: Seconds, to find out how often `work` fits into the window.
    """
    work()  # wakes the threads and fills the caches
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
    """The measurements of this system; it keeps every network that it trained.

    Args:
        meter: What reads energy; None where there is none.
        train: What trains a network.
    """

    def __init__(self, meter: EnergyMeter | None = None, *, train: Callable[..., Any] = train) -> None:
        # Now, because reading the data and importing scikit-learn must not be charged to the first measurement.
        import_module("sklearn.neural_network")
        self._training_images, self._test_images = load_images()
        self._meter = meter
        self._train = train
        self._trained: dict[tuple[Architecture, Training], Weights] = {}

    def error_percent(self, design: Design) -> float:
        """The share of held-out images that the design's network gets wrong, in percent.

        The first request trains the network, later ones cost a pass over the test images.
        """
        architecture, training = group_of(Architecture, design), group_of(Training, design)
        key = (architecture, training)
        if key not in self._trained:
            self._trained[key] = trained_weights(self._train(architecture, training, self._training_images))
        predictor = Predictor(self._trained[key], architecture.activation, AS_TRAINED)
        with serving(predictor, AS_TRAINED.threads) as labels:
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
        architecture, deployment = group_of(Architecture, design), group_of(Deployment, design)
        # Fresh weights even where trained ones exist: the cost then depends on the options it is said to depend on and
        # on no other (heavily regularised weights can be denormal numbers, which are slow).
        weights = fresh_weights(architecture, np.random.default_rng(SEED))
        predictor = Predictor(weights, architecture.activation, deployment)
        pixels = self._test_images.pixels[:N_REQUESTED]
        with serving(predictor, deployment.threads) as labels:
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
        meter: What reads energy; "auto" looks for one, None measures time.
        cores: The largest number of threads; by default what this process may use.
        powercap: Where "auto" looks for a meter.
    """
    if isinstance(meter, str) and meter != "auto":
        raise InvalidValueError(f"The meter is {meter!r}; it must be 'auto', None or an object with read_joules().")
    found = find_meter(powercap) if meter == "auto" else meter
    digits = Digits(found)
    options = option_names(Architecture, Deployment)
    if found is not None:
        cheap = Objective("inference_joules", unit="J", options=options, noisy=True)
        note = f"inference_joules is energy per 1,000 images, read from {found.name}."
        measure = digits.inference_joules
    else:
        cheap = Objective("inference_ms", unit="ms", options=options, noisy=True)
        reason = RaplMeter.available(powercap).reason if meter == "auto" else "None was asked for."
        note = f"inference_ms is time per 1,000 images, because no energy meter is read: {reason}"
        measure = digits.inference_ms
    error = Objective("error_percent", unit="%", options=option_names(Architecture, Training))
    return System(
        "digits",
        digits_space(cores),
        (error, cheap),
        {error.name: digits.error_percent, cheap.name: measure},
        ("error_percent is measured on held-out images, moved by at most one pixel.", note),
    )


def digits_space(cores: int | None = None) -> Space:
    """The designs of the digits network on a machine with some number of cores, by default this one."""
    most = _usable_cores() if cores is None else cores
    _check_whole("The number of cores", most)
    return Space(
        {
            "layers": (1, 3),
            "width": [8, 12, 16, 24, 32, 48, 64, 96, 128, 192],
            "activation": list(ACTIVATIONS),
            "learning_rate": Real(1e-3, 3e-2, log=True),
            "l2": Real(1e-6, 1e-1, log=True),
            "epochs": (3, 12),
            "batch": [8, 16, 32, 64, 128],
            "threads": [2**power for power in range(most.bit_length())],
            "precision": list(PRECISIONS),
            "layout": list(LAYOUTS),
        }
    )


def _usable_cores() -> int:
    # Unlike os.cpu_count, joblib (which scikit-learn brings) knows of affinity and of a container's limits.
    from joblib import cpu_count  # type: ignore[import-untyped]

    return int(cpu_count())
