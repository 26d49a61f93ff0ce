"""The expected time of a training or an inference on this machine, before it starts.

The paper's widest networks need a thousand times the work of its narrowest, and one of them may take an hour on a
processor. The operations of a design are counted on torch's device "meta", which takes milliseconds, and the speed of
the device is measured once, with a convolution. The result is a lower bound: small networks, and busy machines, take
longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from flexibo.errors import DesignError

if TYPE_CHECKING:
    from flexibo.systems.tasks.base import Design, Device, LearningTask

CHANNELS, SIDE, EXAMPLES = 256, 14, 4  # the timed convolution: less than a second on a small board
N_TIMES = 2


class TooSlowError(DesignError):
    """An evaluation of the design would exceed the time limit on this machine."""


@dataclass(frozen=True, slots=True)
class DeviceSpeed:
    """Floating-point operations per second, in inference and in training: its backward pass is twice the work."""

    running: float
    training: float


def work_of(task: LearningTask, design: Design) -> float | None:
    """The operations of one inference of a design's network; None for recurrent networks, which take long to count."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with torch.device("meta"):
        model = task.build(design)
    if any(isinstance(part, torch.nn.RNNBase) for part in model.modules()):
        return None
    inputs = (tensor.to("meta") for tensor in task.inputs(design, 1, "cpu"))
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model.to("meta").eval()(*inputs)
    return float(counter.get_total_flops())


def speed_of(device: Device, clock: Callable[[], float] = time.perf_counter) -> DeviceSpeed:
    """The present speed of a device with all threads of this process; the best of a few attempts."""
    import torch

    with torch.random.fork_rng(devices=[]):  # must not change later random numbers
        layer = torch.nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1).to(device)
    images = torch.ones(EXAMPLES, CHANNELS, SIDE, SIDE, device=device, requires_grad=True)
    work = 2.0 * EXAMPLES * (3 * CHANNELS * SIDE) ** 2
    running, training = [], []
    for _ in range(1 + N_TIMES):
        start = clock()
        outputs = layer(images)
        _finished(device)
        middle = clock()
        outputs.sum().backward()
        _finished(device)
        running.append(middle - start)
        training.append(clock() - start)
    return DeviceSpeed(work / min(running[1:]), 3 * work / min(training[1:]))


known_speed = lru_cache(speed_of)  # the speed of a device, measured on the first call


def check_training(
    task: Any, design: Design, device: Device, limit_seconds: float, *, speed: DeviceSpeed | None = None
) -> None:
    """Raise an error if training a design would exceed the time limit; the speed is measured if None."""
    work = work_of(task, design)
    if work is None:
        return
    examples = 3 * len(task.data.train) * task.epochs(design) + len(task.data.test)
    seconds = work * examples / (speed or known_speed(device)).training
    if seconds > limit_seconds:
        raise TooSlowError(
            f"Training this {task.network} would take about {seconds:,.0f} s on this {_kind(device)}, and an "
            f"evaluation may take {limit_seconds:g} s; choose a smaller design, fewer examples (limit), "
            "fewer epochs (epochs) or allow longer evaluations (longest)."
        )


def check_reading(
    task: LearningTask,
    design: Design,
    device: Device,
    limit_seconds: float,
    *,
    batch: int,
    share: float = 1.0,
    speed: DeviceSpeed | None = None,
) -> None:
    """Raise an error if a batch would exceed the time limit with this share of the device's threads."""
    work = work_of(task, design)
    if work is None:
        return
    seconds = work * batch / ((speed or known_speed(device)).running * share)
    if seconds > limit_seconds:
        raise TooSlowError(
            f"A batch of {batch} of this {task.network} would take about {seconds:,.0f} s on this {_kind(device)}, and "
            f"an evaluation may take {limit_seconds:g} s; choose a smaller design or a smaller batch."
        )


def _kind(device: Device) -> str:
    return "GPU" if str(device).startswith("cuda") else "processor"


def _finished(device: Device) -> None:
    if _kind(device) == "GPU":
        import torch

        torch.cuda.synchronize(device)
