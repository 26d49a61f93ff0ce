"""The network of the digits system: its options, its training, and inference with numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from flexibo._internal.arrays import AnyArray, FloatArray, IntArray
from flexibo._internal.checks import whole_number
from flexibo.errors import InvalidValueError

N_CLASSES = 10
N_PIXELS = 64
BRIGHTEST = 16  # the images hold whole numbers from 0 to 16
SHIFTS = ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0))
TEST_SHARE = 1 / 3
TRAINING_BATCH = 64
SEED = 0

PixelArray = npt.NDArray[np.uint8]
Design = Mapping[str, Any]


def _relu(h: AnyArray) -> None:
    np.maximum(h, 0, out=h)


def _tanh(h: AnyArray) -> None:
    np.tanh(h, out=h)


def _logistic(h: AnyArray) -> None:
    # Through tanh, which cannot overflow.
    h *= 0.5
    np.tanh(h, out=h)
    h += 1
    h *= 0.5


ACTIVATIONS: dict[str, Callable[[AnyArray], None]] = {"relu": _relu, "tanh": _tanh, "logistic": _logistic}


class Precision(NamedTuple):
    """The types in which numbers are stored and computed."""

    stored: type[np.floating[Any]]
    computed: type[np.floating[Any]]


# Processors without half-precision arithmetic store weights in half the space and convert them for use.
PRECISIONS = {
    "float64": Precision(np.float64, np.float64),
    "float32": Precision(np.float32, np.float32),
    "float16": Precision(np.float16, np.float32),
}
LAYOUTS: dict[str, Literal["C", "F"]] = {"row": "C", "column": "F"}


def _check_above_zero(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise InvalidValueError(f"Option {name!r} is {value!r}; it must be a number above zero.")


def _check_known(name: str, value: object, known: Mapping[str, object]) -> None:
    if value not in known:
        raise InvalidValueError(f"Option {name!r} is {value!r}; it must be one of {', '.join(known)}.")


@dataclass(frozen=True, slots=True)
class Architecture:
    """The shape of a network, which both objectives depend on."""

    layers: int
    width: int
    activation: str

    def __post_init__(self) -> None:
        whole_number("Option 'layers'", self.layers, least=1)
        whole_number("Option 'width'", self.width, least=1)
        _check_known("activation", self.activation, ACTIVATIONS)


@dataclass(frozen=True, slots=True)
class Training:
    """How a network is trained, which only the error depends on."""

    learning_rate: float
    l2: float
    epochs: int

    def __post_init__(self) -> None:
        _check_above_zero("learning_rate", self.learning_rate)
        _check_above_zero("l2", self.l2)
        whole_number("Option 'epochs'", self.epochs, least=1)


@dataclass(frozen=True, slots=True)
class Deployment:
    """How a network is run, which only the cost of inference depends on."""

    batch: int
    threads: int
    precision: str
    layout: str

    def __post_init__(self) -> None:
        whole_number("Option 'batch'", self.batch, least=1)
        whole_number("Option 'threads'", self.threads, least=1)
        _check_known("precision", self.precision, PRECISIONS)
        _check_known("layout", self.layout, LAYOUTS)


# The error is a property of the trained network, so it is always measured in the precision of the training.
AS_TRAINED = Deployment(batch=512, threads=1, precision="float64", layout="row")

Group = TypeVar("Group", Architecture, Training, Deployment)


def group_of(kind: type[Group], design: Design) -> Group:
    """The values of one group of options in a design.

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
    """The weights of a network: one matrix (inputs, outputs) and one bias per layer."""

    matrices: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]


@dataclass(frozen=True, slots=True)
class DigitImages:
    """Digits with their labels: pixels (number, 64) as whole numbers, labels (number,)."""

    pixels: PixelArray
    labels: IntArray

    def shifted(self) -> DigitImages:
        """The images in place and shifted by one pixel up, down, left and right."""
        side = math.isqrt(N_PIXELS)
        wide = np.pad(self.pixels.reshape(-1, side, side), ((0, 0), (1, 1), (1, 1)))
        moved = [wide[:, 1 + r : 1 + r + side, 1 + c : 1 + c + side].reshape(-1, N_PIXELS) for r, c in SHIFTS]
        return DigitImages(np.concatenate(moved), np.tile(self.labels, len(SHIFTS)))


def load_images() -> tuple[DigitImages, DigitImages]:
    """The training images and the test images: the same on every call, each digit equally frequent in both."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, labels = load_digits(return_X_y=True)
    parts = train_test_split(
        pixels.astype(np.uint8), labels.astype(np.int64), test_size=TEST_SHARE, stratify=labels, random_state=SEED
    )
    # Shifted after the split: no test image is a shifted training image.
    return DigitImages(parts[0], parts[2]).shifted(), DigitImages(parts[1], parts[3]).shifted()


def train(architecture: Architecture, training: Training, images: DigitImages) -> Any:
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
    # One thread, so that sums are the same on any number of cores. One epoch at a time, because fit() would warn that
    # the epochs of a design are too few.
    with threadpool_limits(limits=1):
        for _ in range(training.epochs):
            classifier.partial_fit(X, images.labels, classes=np.arange(N_CLASSES))
    return classifier


def trained_weights(classifier: Any) -> Weights:
    return Weights(tuple(classifier.coefs_), tuple(classifier.intercepts_))


def fresh_weights(architecture: Architecture, rng: np.random.Generator) -> Weights:
    sizes = (N_PIXELS, *(architecture.width,) * architecture.layers, N_CLASSES)
    matrices = [rng.standard_normal(shape) / math.sqrt(shape[0]) for shape in pairwise(sizes)]
    return Weights(tuple(matrices), tuple(np.zeros(size) for size in sizes[1:]))


class DigitPredictor:
    """A network prepared for a deployment; `activation` is a name in `ACTIVATIONS`."""

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
def serving(predictor: DigitPredictor, threads: int) -> Iterator[Callable[[PixelArray], IntArray]]:
    """A context with a function that labels images, divided evenly among some threads.

    Threads divide the images rather than the matrix products: threads inside a product wait for each other by spinning,
    which makes it a hundred times slower while another program uses one of the cores.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:

        def labels(pixels: PixelArray) -> IntArray:
            if threads == 1:
                return predictor.labels(pixels)
            return np.concatenate(list(pool.map(predictor.labels, np.array_split(pixels, min(threads, len(pixels))))))

        yield labels
