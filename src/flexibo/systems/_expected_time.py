"""What a training or a reading would take here, known before it begins.

The paper's widest networks need a thousand times the work of its narrowest, and a processor may sit over one of them
for an hour. The work of a design is counted on its network without memory (torch's device "meta", which takes
milliseconds), and how fast the device works is measured once, with a convolution. That is a guess from below: small
networks, and a machine that is busy otherwise, take longer.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from flexibo.errors import DesignError

if TYPE_CHECKING:
    from flexibo.systems.tasks.base import Design, Device, LearningTask

CHANNELS, SIDE, EXAMPLES = 256, 14, 4
"""The convolution that is timed: in the middle of the paper's tables, and less than a second on a small board."""
N_TIMES = 2


class TooSlowError(DesignError):
    """A design would take longer here than an evaluation may."""


@dataclass(frozen=True, slots=True)
class DeviceSpeed:
    """How much a device does in a second, in floating-point operations.

    Attributes:
        running: When a network runs.
        training: When it learns: forward, and backward, which is twice as much work.
    """

    running: float
    training: float


def work_of(task: LearningTask, design: Design) -> float | None:
    """The operations of one inference of a design's network; None where they cannot be counted in a moment.

    The steps of a recurrent layer are counted one by one, which takes longer than it is worth.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")  # a pretrained encoder's weights have no place to go
        model = task.build(design)
    if any(isinstance(part, torch.nn.RNNBase) for part in model.modules()):
        return None
    inputs = (tensor.to("meta") for tensor in task.inputs(design, 1, "cpu"))
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model.to("meta").eval()(*inputs)
    return float(counter.get_total_flops())


def speed_of(device: Device, clock: Callable[[], float] = time.perf_counter) -> DeviceSpeed:
    """How fast a device is now, with all threads that this process has; the best of a few attempts."""
    import torch

    with torch.random.fork_rng(devices=[]):  # a measurement of speed must not change what is drawn later
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


known_speed = lru_cache(speed_of)
"""The speed of a device, measured when it is first asked for."""


def check_training(
    task: Any, design: Design, device: Device, limit_seconds: float, *, speed: DeviceSpeed | None = None
) -> None:
    """Raise an error if training a design would take longer than it may.

    Args:
        task: What is learned.
        design: The values of its network's options.
        device: Where it would be trained.
        limit_seconds: How long it may take.
        speed: Of the device; measured if None.
    """
    work = work_of(task, design)
    if work is None:
        return
    examples = 3 * len(task.data.train) * task.epochs(design) + len(task.data.test)
    seconds = work * examples / (speed or known_speed(device)).training
    if seconds > limit_seconds:
        raise TooSlowError(
            f"Training this {task.network} would take about {seconds:,.0f} s on this {_kind(device)}, and an "
            f"evaluation may take {limit_seconds:g} s; choose a smaller design, fewer examples (--limit), "
            "fewer epochs (--epochs) or a larger --longest."
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
    """Raise an error if a single batch of a design would take longer than its reading may.

    Args:
        task: What its network learns.
        design: The values of its network's options.
        device: Where it would run.
        limit_seconds: How long a reading may take.
        batch: How many inferences are made at once.
        share: How many of the device's threads work on it.
        speed: Of the device; measured if None.
    """
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
    return "GPU" if _is_gpu(device) else "processor"


def _is_gpu(device: Device) -> bool:
    return str(device).startswith("cuda")


def _finished(device: Device) -> None:
    if _is_gpu(device):
        import torch

        torch.cuda.synchronize(device)
