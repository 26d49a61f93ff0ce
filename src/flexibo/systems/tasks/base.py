"""What a task is: what a network learns on some data, how, and how its error is measured."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor, nn

from flexibo.errors import DesignError, InvalidValueError

Design: TypeAlias = Mapping[str, Any]
Batch: TypeAlias = tuple[Tensor, ...]
Device: TypeAlias = Any
"""A torch.device or its name, such as "cuda" or "cpu"."""


class TrainingFailedError(DesignError, RuntimeError):
    """A training led to numbers that are not finite; there is no error to report, and none is invented."""


@dataclass(frozen=True, slots=True)
class Optimiser:
    """What moves the weights after each batch.

    Attributes:
        steps: The torch optimiser.
        schedule: Its learning rate over the whole training; moved after each batch.
    """

    steps: Any
    schedule: Any


class LearningTask(Protocol):
    """What a network learns on some data.

    A task is immutable and knows nothing of seeds: randomness comes from the generator it is given and, for initial
    weights and dropout, from torch's own generator, which the caller seeds.
    """

    @property
    def network(self) -> str:
        """The name of the network, a key of `flexibo.systems.options.NETWORKS`."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes with the data and with every setting that changes the result."""
        ...

    @property
    def chance_percent(self) -> float:
        """The error of the best answer that does not look at its input."""
        ...

    def epochs(self, design: Design) -> int:
        """How often the training examples are seen."""
        ...

    def build(self, design: Design) -> nn.Module:
        """The design's network with fresh weights (or with a pretrained encoder), on the CPU."""
        ...

    def batches(self, design: Design, generator: torch.Generator, device: Device) -> Iterator[Batch]:
        """One epoch of shuffled training batches."""
        ...

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The loss of one batch, a number that gradients flow from."""
        ...

    def optimiser(self, model: nn.Module, design: Design) -> Optimiser:
        """The optimiser of one training, with its schedule."""
        ...

    def error_percent(self, model: nn.Module, design: Design, device: Device) -> float:
        """The error on the held-out examples, in evaluation mode."""
        ...

    def inputs(self, design: Design, count: int, device: Device) -> tuple[Tensor, ...]:
        """Held-out inputs to measure inference with, called as `model(*inputs)`; repeated where there are too few."""
        ...


def shuffled(count: int, batch: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """The numbers below `count` in random order, in parts of nearly equal size, none larger than `batch`.

    Equal parts, because batch normalisation fails on a last batch of one example.
    """
    order = torch.randperm(count, generator=generator)
    return tuple(torch.tensor_split(order, n_steps(count, batch)))


def n_steps(count: int, batch: int) -> int:
    """How many batches an epoch has."""
    return math.ceil(count / batch)


def one_cycle(optimiser: Any, steps: int, *, warm_share: float) -> Optimiser:
    """An optimiser whose learning rate rises linearly for a share of the steps and then falls linearly towards zero."""
    warm = max(1, round(steps * warm_share))

    def factor(step: int) -> float:
        return (step + 1) / warm if step < warm else max(steps - step, 0) / max(steps - warm, 1)

    return Optimiser(optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, factor))


def adam(model: nn.Module, *, learning_rate: float, weight_decay: float) -> Any:
    """AdamW; biases and the weights of normalisations are not drawn to zero."""
    matrices = [weights for weights in model.parameters() if weights.ndim > 1]
    vectors = [weights for weights in model.parameters() if weights.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    # On a GPU one kernel for all weights: a small network's training is little else than starting kernels.
    is_on_gpu = torch.device(device_of(model)).type == "cuda"
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=learning_rate, fused=is_on_gpu)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """A context in which the model is in evaluation mode and keeps no gradients; its former mode is restored."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)


def autocast(device: Device) -> AbstractContextManager[Any]:
    """A context in which a GPU multiplies in bfloat16; it changes nothing on a CPU."""
    kind = torch.device(device).type
    context: AbstractContextManager[Any] = torch.autocast(kind, dtype=torch.bfloat16, enabled=kind == "cuda")
    return context


def device_of(model: nn.Module) -> Device:
    """Where the model's weights are."""
    return next(model.parameters()).device


def place_of(device: Device) -> str:
    """A device's full name: "cuda" is the "cuda:0" that tensors made there say they are on."""
    return str(torch.empty(0, device=device).device)


def check_finite(outputs: Tensor) -> None:
    """Raise an error if a trained network's output is not a number."""
    if not bool(torch.isfinite(outputs).all()):
        raise TrainingFailedError(
            "The trained network's outputs on the held-out examples are not finite; lower the learning rate."
        )


def cycled(values: Tensor, count: int) -> Tensor:
    """The first `count` rows, begun again from the first where there are too few."""
    return values[torch.arange(count, device=values.device) % len(values)]


def check_examples(what: str, n_train: int, n_test: int) -> None:
    """Raise an error if there is nothing to learn from or nothing to be judged by."""
    if not n_train or not n_test:
        raise InvalidValueError(
            f"{what} has {n_train} training and {n_test} held-out examples; both must have at least one."
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
