"""The contract of a task: what a network learns on some data, how, and how its error is measured."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from flexibo._internal.arrays import IntArray
from flexibo.errors import DesignError, InvalidValueError, unknown_name
from flexibo.systems.data.base import AnyDataset

Design: TypeAlias = Mapping[str, Any]
Batch: TypeAlias = tuple[Tensor, ...]
Device: TypeAlias = Any  # a torch.device or its name, such as "cuda" or "cpu"
Value = TypeVar("Value")
PARTS = ("train", "test")  # the parts of a dataset


class TrainingFailedError(DesignError, RuntimeError):
    """A training led to numbers that are not finite, so there is no error to report."""


@dataclass(frozen=True, slots=True)
class Optimiser:
    """Updates the weights after each batch; the schedule of its learning rate is advanced after each batch."""

    steps: Any
    schedule: Any


class LearningTask(Protocol):
    """What a network learns on some data.

    A task is immutable and has no seed: randomness comes from the generator it is given and, for initial weights and
    dropout, from torch's own generator, which the caller seeds.
    """

    @property
    def network(self) -> str:
        """The name of the network, a key of `flexibo.systems.options.NETWORKS`."""

    @property
    def fingerprint(self) -> str:
        """Changes with the data and with every setting that changes the result."""

    @property
    def chance_percent(self) -> float:
        """The error of the best answer without learning on the held-out examples, such as always the same label."""

    def load(self, device: Device) -> None:
        """Load all examples for a training on a device; otherwise the first training loads them."""

    def epochs(self, design: Design) -> int:
        """The number of passes over the training examples."""

    def build(self, design: Design) -> nn.Module:
        """The design's network with fresh weights, on the CPU."""

    def batches(self, design: Design, generator: torch.Generator, device: Device) -> Iterator[Batch]:
        """One epoch of shuffled training batches."""

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The loss of one batch, to compute gradients from."""

    def optimiser(self, model: nn.Module, design: Design) -> Optimiser:
        """The optimiser of one training, with its learning rate schedule."""

    def error_percent(self, model: nn.Module, design: Design, device: Device) -> float:
        """The error on the held-out examples, in evaluation mode."""

    def inputs(self, design: Design, count: int, device: Device) -> tuple[Tensor, ...]:
        """Held-out inputs to measure inference with, called as `model(*inputs)`; repeated if there are too few.

        No other examples are moved to the device: a machine that only reads energy needs no more.
        """


def chance_percent(labels: IntArray) -> float:
    """The error of always giving the most frequent label.

    >>> chance_percent(np.array([0, 1, 2, 2]))
    50.0
    """
    return 100 * (1 - float(np.bincount(labels).max()) / len(labels))


def shuffled(count: int, batch: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """The numbers below `count` in random order, in nearly equal parts of at most `batch`, for batch normalisation."""
    order = torch.randperm(count, generator=generator)
    return tuple(torch.tensor_split(order, n_steps(count, batch)))


def n_steps(count: int, batch: int) -> int:
    """The number of batches in an epoch."""
    return math.ceil(count / batch)


def one_cycle(optimiser: Any, steps: int, *, warm_share: float) -> Optimiser:
    """An optimiser whose learning rate rises linearly for a share of the steps and then falls linearly towards zero."""
    warm = max(1, round(steps * warm_share))

    def factor(step: int) -> float:
        return (step + 1) / warm if step < warm else max(steps - step, 0) / max(steps - warm, 1)

    return Optimiser(optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, factor))


def adam(model: nn.Module, *, learning_rate: float, weight_decay: float) -> Any:
    """AdamW, without weight decay on biases and normalisation weights."""
    matrices = [weights for weights in model.parameters() if weights.ndim > 1]
    vectors = [weights for weights in model.parameters() if weights.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    # One kernel for all weights on a GPU: the training of a small network spends most of its time starting kernels.
    is_on_gpu = _device_of(model).type == "cuda"
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=learning_rate, fused=is_on_gpu)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """A context in which the model is in evaluation mode, without gradients and with `autocast`."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad(), autocast(_device_of(model)):
            yield
    finally:
        model.train(was_training)


def autocast(device: Device) -> AbstractContextManager[Any]:
    """A context in which a GPU multiplies in bfloat16; no effect on a CPU."""
    kind = torch.device(device).type
    context: AbstractContextManager[Any] = torch.autocast(kind, dtype=torch.bfloat16, enabled=kind == "cuda")
    return context


def _device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


def remembered(memory: dict[tuple[str, str], Any], what: str, device: Device, make: Callable[[], Value]) -> Value:
    """What a task keeps on a device; made on the first request."""
    key = what, str(torch.empty(0, device=device).device)  # "cuda" and "cuda:0" are the same device
    if key not in memory:
        memory[key] = make()
    value: Value = memory[key]
    return value


def check_finite(outputs: Tensor) -> None:
    """Raise an error if an output of a trained network is not finite."""
    if not bool(torch.isfinite(outputs).all()):
        raise TrainingFailedError(
            "The trained network's outputs on the held-out examples are not finite; lower the learning rate."
        )


def cycled(values: Tensor, count: int) -> Tensor:
    """The first `count` rows, starting over from the first if there are too few."""
    return values[torch.arange(count, device=values.device) % len(values)]


def check_task(kind: str, network: str, known: Collection[str], data: AnyDataset) -> None:
    """Raise an error if a task's network is not one of the known ones, or if a part of its data is empty."""
    if network not in known:
        raise unknown_name(f"{kind} network", network, known)
    if not len(data.train) or not len(data.test):
        raise InvalidValueError(
            f"Data {data.name!r} has {len(data.train)} training and {len(data.test)} held-out examples; "
            "both must have at least one."
        )


def check_positive(settings: object, *names: str) -> None:
    """Raise an error if one of these settings is not a positive number."""
    for name in names:
        value = getattr(settings, name)
        if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
            raise InvalidValueError(f"{type(settings).__name__}.{name} is {value!r}; it must be a positive number.")


def fingerprint_of(*parts: object) -> str:
    """A short hash of plain values.

    >>> fingerprint_of("mnist", 1) == fingerprint_of("mnist", 2)
    False
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
