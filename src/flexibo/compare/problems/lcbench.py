"""Learning curves of LCBench: error after each of 52 epochs against the size of the network.

LCBench (Zimmer, Lindauer and Hutter 2021) trained 2,000 multilayer perceptrons on each of 35 tasks with Auto-PyTorch.
The curves here are those of YAHPO Gym's surrogate (Pfisterer et al. 2022), a network that was fitted to them: they are
smoother than real ones. They are known for every design, so nobody's suggestions have to be moved to a recorded one.
Epochs cost the seconds that the surrogate predicts. The front is the best known: that of `around_the_best`.

The size is the number of multiply-adds of one prediction, as a power of ten. A funnel of Auto-PyTorch has `num_layers`
layers, the last of which yields the classes; the first has `max_units` units, or as many as there are inputs if these
are more, and the others in between get smaller by equal whole numbers. A single layer is a linear model. The inputs are
the columns of the task's data set as OpenML describes it; one-hot encoding, of which the surrogate knows nothing, is
not counted. It is computed, and charged with the second that building the network takes, an assumption.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.candidates import around_the_best
from flexibo.compare.problems.base import (
    Curve,
    Family,
    Problem,
    ProblemParameter,
    true_front,
    typical_designs,
    worst_of_interest,
)
from flexibo.compare.problems.datasets import VARIABLE, data_folder
from flexibo.errors import InvalidValueError, missing_extra
from flexibo.objectives import Objective
from flexibo.pareto import hypervolume
from flexibo.space import Designs, Integer, Real, Space

FOLDER = "curves/lcbench"
MODEL, ENCODING, TASK = "model.onnx", "encoding.json", "OpenML_task_id"
SOURCE = "https://github.com/slds-lmu/yahpo_data"

EPOCHS = 52
SECONDS, BALANCED_ACCURACY = 0, 3
"""The columns of the surrogate's output that are used: seconds up to an epoch, balanced accuracy on validation data."""
BUILD_SECONDS = 1.0
LEAST_EPOCH_SECONDS = 1e-3
"""An epoch costs at least this; the surrogate's seconds do not always rise."""

SPACE = Space(
    {
        "batch_size": Integer(16, 512, log=True),
        "learning_rate": Real(1e-4, 1e-1, log=True),
        "momentum": Real(0.1, 0.99),
        "weight_decay": Real(1e-5, 1e-1, log=False),
        "num_layers": Integer(1, 5),
        "max_units": Integer(64, 1024, log=True),
        "max_dropout": Real(0.0, 1.0),
    }
)
"""In the order of the surrogate's inputs, after the epoch. As in YAHPO Gym, the weight decay is drawn evenly."""

Surrogate = Callable[[FloatArray], FloatArray]
"""Epochs and options (m, 8) to the surrogate's output (m, 6)."""


@dataclass(frozen=True, slots=True)
class TabularTask:
    """A task of LCBench: its number at OpenML, and the inputs and classes of its data set."""

    number: int
    dataset: str
    n_inputs: int
    n_classes: int


JUDGE = (
    TabularTask(168868, "APSFailure", 170, 2),
    TabularTask(189909, "jungle_chess_2pcs_raw_endgame_complete", 6, 3),
    TabularTask(167190, "phoneme", 5, 2),
    TabularTask(168330, "jannis", 54, 4),
    TabularTask(168910, "fabert", 800, 7),
    TabularTask(189862, "jasmine", 144, 2),
    TabularTask(189873, "dionis", 60, 355),
    TabularTask(167200, "higgs", 28, 2),
    TabularTask(168335, "MiniBooNE", 50, 2),
    TabularTask(189906, "segment", 19, 7),
)
"""Nothing is tuned on these."""
DEVELOPMENT = (
    TabularTask(3945, "KDDCup09_appetency", 230, 2),
    TabularTask(7593, "covertype", 54, 7),
    TabularTask(34539, "Amazon_employee_access", 9, 2),
    TabularTask(126025, "adult", 14, 2),
    TabularTask(126029, "bank-marketing", 16, 2),
    TabularTask(146212, "shuttle", 9, 7),
    TabularTask(167104, "Australian", 14, 2),
    TabularTask(167152, "mfeat-factors", 216, 10),
    TabularTask(167161, "credit-g", 20, 2),
    TabularTask(167181, "kc1", 21, 2),
    TabularTask(167185, "cnae-9", 856, 9),
    TabularTask(168329, "helena", 27, 100),
)
DEFAULT_TASK = 167104


def lcbench_problem(task: TabularTask, *, surrogate: Surrogate | None = None) -> Problem:
    """The problem of a task; the surrogate is by default the one in the folder that FLEXIBO_DATA names."""
    predicted = _read_surrogate(data_folder() / FOLDER, task.number) if surrogate is None else surrogate
    data = f"task {task.number} of {_digest(data_folder() / FOLDER)}" if surrogate is None else ""
    curves = _Curves(predicted)
    sizes = partial(_sizes, task)

    def values(designs: Designs) -> FloatArray:
        return np.column_stack([curves.last(designs)[:, 0], sizes(designs)])

    def costs(designs: Designs) -> FloatArray:
        return np.column_stack([curves.last(designs)[:, 1], np.full(len(designs), BUILD_SECONDS)])

    front = true_front(values(around_the_best(SPACE, values)))
    reference = worst_of_interest(values(typical_designs(SPACE)), front)
    return Problem(
        name=FAMILY.full_name({"task": task.number}),
        summary=f"Perceptrons on {task.dataset}: error after {EPOCHS} epochs and size",
        space=SPACE,
        objectives=(Objective("balanced_error"), Objective("log10_multiply_adds")),
        values=values,
        costs=costs,
        reference=reference,
        front=front,
        best=hypervolume(front, reference),
        exact=False,
        source=f"YAHPO Gym's surrogate of LCBench, smoother than real curves. {SOURCE}, Apache-2.0.",
        group="curves",
        curves={"balanced_error": Curve(EPOCHS, curves.errors, curves.seconds)},
        data=data,
    )


def multiply_adds(n_inputs: int, n_classes: int, n_layers: int, max_units: int) -> int:
    """The number of multiply-adds of a funnel of Auto-PyTorch.

    >>> multiply_adds(10, 2, 1, 64), multiply_adds(10, 2, 3, 64)
    (20, 2818)
    """
    widest = max(n_inputs, max_units)
    less = max(0, (widest - n_classes) // max(1, n_layers - 1))
    widths = [n_inputs, *(widest - layer * less for layer in range(n_layers - 1)), n_classes]
    return sum(before * after for before, after in pairwise(widths))


def _sizes(task: TabularTask, designs: Designs) -> FloatArray:
    """The powers of ten (m,) that the multiply-adds of designs are."""
    layers, units = (
        designs.codes[:, SPACE.names.index(name)].astype(int).tolist() for name in ("num_layers", "max_units")
    )
    counts = [multiply_adds(task.n_inputs, task.n_classes, *own) for own in zip(layers, units, strict=True)]
    return np.log10(np.array(counts, dtype=np.float64))


class _Curves:
    """Errors and seconds of designs by the surrogate; what was asked for once is kept."""

    def __init__(self, surrogate: Surrogate) -> None:
        self._surrogate = surrogate
        self._known: dict[int, tuple[float, float]] = {}
        self._latest: tuple[bytes, FloatArray] = b"", np.empty(0)

    def errors(self, designs: Designs) -> FloatArray:
        """Balanced errors (m, EPOCHS)."""
        return 1.0 - np.clip(self._output(designs)[:, :, BALANCED_ACCURACY], 0.0, 1.0)

    def seconds(self, designs: Designs) -> FloatArray:
        """The seconds (m, EPOCHS) up to each epoch, which rise."""
        return _rising(self._output(designs)[:, :, SECONDS])

    def last(self, designs: Designs) -> FloatArray:
        """Error and seconds (m, 2) after the last epoch."""
        keys = designs.keys().tolist()
        new = [i for i, key in enumerate(keys) if key not in self._known]
        if new:
            rows = designs[np.array(new)]
            found = self._surrogate(_inputs(rows, np.full((len(new), 1), float(EPOCHS))))
            errors = 1.0 - np.clip(found[:, BALANCED_ACCURACY], 0.0, 1.0)
            least = EPOCHS * LEAST_EPOCH_SECONDS
            self._known |= zip(
                (keys[i] for i in new),
                zip(errors.tolist(), np.maximum(found[:, SECONDS], least).tolist(), strict=True),
                strict=True,
            )
        return np.array([self._known[key] for key in keys]).reshape(len(keys), 2)

    def _output(self, designs: Designs) -> FloatArray:
        """The surrogate's output (m, EPOCHS, 6)."""
        asked = designs.codes.tobytes()
        if self._latest[0] != asked:  # values and costs of a design are looked up one after the other
            epochs = np.tile(np.arange(1.0, EPOCHS + 1.0), (len(designs), 1))
            self._latest = asked, self._surrogate(_inputs(designs, epochs)).reshape(len(designs), EPOCHS, -1)
        return self._latest[1]


def _rising(seconds: FloatArray) -> FloatArray:
    """Seconds (m, EPOCHS) that rise by at least `LEAST_EPOCH_SECONDS`, and end where these do, or above."""
    least = LEAST_EPOCH_SECONDS * np.arange(1, EPOCHS + 1)
    last = np.maximum(seconds[:, -1:], least[-1])
    rising = np.maximum.accumulate(np.maximum(seconds - least, 0.0), axis=1) + least
    return np.asarray(np.minimum(rising, last - least[-1] + least))


def _inputs(designs: Designs, epochs: FloatArray) -> FloatArray:
    """The surrogate's inputs (m * e, 8) for the epochs (m, e) of designs (m)."""
    rows = np.repeat(designs.codes, epochs.shape[1], axis=0)
    return np.column_stack([epochs.ravel(), rows])


@lru_cache(maxsize=1)
def _session(path: Path) -> Any:
    """The surrogate of all tasks, with one thread."""
    try:
        import onnxruntime
    except ImportError:
        raise missing_extra("onnxruntime", "bench") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InvalidValueError(f"{path} is not a network that onnxruntime can run: {str(error)[:200]}.") from None


def _read_surrogate(folder: Path, task: int) -> Surrogate:
    """The surrogate of one task."""
    for name in (MODEL, ENCODING):
        if not (folder / name).is_file():
            raise InvalidValueError(
                f"{FOLDER}/{name} is missing from the folder that {VARIABLE} names; it is lcbench/{name} of {SOURCE}."
            )
    try:
        code = int(json.loads((folder / ENCODING).read_text(encoding="utf-8"))[TASK][str(task)])
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidValueError(
            f"{folder / ENCODING} does not name task {task}; copy it from {SOURCE} again."
        ) from None
    session = _session(folder / MODEL)

    def predicted(inputs: FloatArray) -> FloatArray:
        tasks = np.full((len(inputs), 1), code, dtype=np.int32)
        (found,) = session.run(None, {"x_cat": tasks, "x_cont": inputs.astype(np.float32)})
        return np.asarray(found, dtype=np.float64)

    return predicted


def _digest(folder: Path) -> str:
    """What identifies the surrogate."""
    return hashlib.sha256(b"".join((folder / name).read_bytes() for name in (MODEL, ENCODING))).hexdigest()


def _made(*, task: int = DEFAULT_TASK) -> Problem:
    chosen = next((one for one in (*JUDGE, *DEVELOPMENT) if one.number == task), None)
    if chosen is None:
        known = ", ".join(str(one.number) for one in (*DEVELOPMENT, *JUDGE))
        raise InvalidValueError(f"Parameter 'task' of 'lcbench' is {task}; it must be one of {known}.")
    return lcbench_problem(chosen)


FAMILY = Family(
    "lcbench",
    f"LCBench's perceptrons on tabular data: error after {EPOCHS} epochs, with its curve, and size",
    _made,
    {"task": ProblemParameter(DEFAULT_TASK, "the number of the task at OpenML", 1, 1e6)},
    "curves",
)
FAMILIES: tuple[Family, ...] = (FAMILY,)
