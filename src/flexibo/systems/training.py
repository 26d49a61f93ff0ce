"""Training a design's network: seeded, with a checkpoint after every epoch, resumed after a kill.

The randomness of an epoch depends only on the seed and the number of the epoch. So a checkpoint holds no generator, and
a resumed training ends with the weights of an uninterrupted one: bit for bit on a CPU with the same number of threads.
On a GPU the order of sums varies, and two trainings differ in the last digits.

A kill loses the current epoch. If a checkpoint cannot be written, because the disk is full, the previous one stays and
the training continues with a warning in the log.
"""

from __future__ import annotations

import hashlib
import io
import logging
import math
import pickle
import platform
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from flexibo._internal.arrays import plain
from flexibo._internal.files import write_atomically
from flexibo.errors import InvalidValueError
from flexibo.systems.device_errors import within_memory
from flexibo.systems.options import NETWORKS
from flexibo.systems.tasks.base import (
    Batch,
    Design,
    Device,
    LearningTask,
    Optimiser,
    TrainingFailedError,
    fingerprint_of,
)

CHECKPOINT = "checkpoint.pt"
PARTS = {"identity", "model", "optimiser", "schedule", "losses", "seconds", "machines"}  # the keys of a checkpoint
LARGEST_GRADIENT = 1.0
_BUILDING = 0
_DIGEST_LENGTH = hashlib.sha256().digest_size
_log = logging.getLogger(__name__)

Writer = Callable[[Path, bytes], None]
Progress = Callable[[int, int, float], None]


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained network."""

    model: nn.Module  # the network, on the device it was trained on
    error_percent: float  # its error on the held-out examples
    seconds: float  # the time of training and testing, including the finished epochs of earlier attempts
    epochs: int  # the number of passes over the training examples
    losses: tuple[float, ...]  # the mean loss of each epoch
    machines: tuple[str, ...] = ()  # those it was trained on; several if a training was resumed on another one
    errors: tuple[float, ...] = ()  # the held-out error after each epoch, if it was requested


def train(
    task: LearningTask,
    design: Design,
    *,
    seed: int,
    device: Device = "cpu",
    folder: Path | None = None,
    clock: Callable[[], float] = time.perf_counter,
    progress: Progress | None = None,
    write: Writer | None = None,
    each_epoch: bool = False,
) -> Trained:
    """Train a design's network, from the last checkpoint in `folder` if there is one, and measure its error.

    Dropout and initial weights come from torch's global generator, which is seeded and restored afterwards. So there
    can be one training at a time in a process. `progress` is called after each epoch with the number of finished
    epochs, of all epochs, and the loss. With `each_epoch` the error is measured after every epoch, which takes time
    and is not stored in checkpoints: it is for trainings without a folder.
    """
    training = _Training(task, design, seed, device, folder, clock, progress, write or write_atomically, each_epoch)
    return within_memory(training.run, f"to train {task.network} with {network_options(task, design)} on {device}")


@dataclass(frozen=True, slots=True)
class _Training:
    task: LearningTask
    design: Design
    seed: int
    device: Device
    folder: Path | None
    clock: Callable[[], float]
    progress: Progress | None
    write: Writer
    each_epoch: bool = False

    def run(self) -> Trained:
        start = self.clock()
        n_epochs = self.task.epochs(self.design)
        with seeded(self.seed, _BUILDING, self.device):
            model = self.task.build(self.design).to(self.device)
        let_signals_in(model)
        optimiser = self.task.optimiser(model, self.design)
        losses, earlier, machines = self._resume(model, optimiser)
        here = machine_name(self.device)
        machines = machines if here in machines else (*machines, here)
        errors: list[float] = []
        for epoch in range(len(losses) + 1, n_epochs + 1):
            losses.append(self._epoch(model, optimiser, epoch))
            self._keep(model, optimiser, losses, earlier + self.clock() - start, machines)
            if self.progress is not None:
                self.progress(epoch, n_epochs, losses[-1])
            if self.each_epoch:
                errors.append(self.task.error_percent(model, self.design, self.device))
        error = errors[-1] if errors else self.task.error_percent(model, self.design, self.device)
        if not math.isfinite(error):
            raise TrainingFailedError(f"The error of the trained {self.task.network} is {error}; it must be a number.")
        seconds = earlier + self.clock() - start
        return Trained(model, error, seconds, n_epochs, tuple(losses), machines, tuple(errors))

    def _epoch(self, model: nn.Module, optimiser: Optimiser, epoch: int) -> float:
        """The mean loss of an epoch, read once at its end: reading it per batch would make the GPU wait."""
        losses, norms = [], []
        model.train()
        with seeded(self.seed, epoch, self.device) as generator:
            for batch in self.task.batches(self.design, generator, self.device):
                loss, norm = step(self.task, model, optimiser, batch)
                losses.append(loss)
                norms.append(norm)
        values = torch.stack([torch.stack(losses).float(), torch.stack(norms).float()]).cpu().numpy()
        for number, (loss, norm) in enumerate(values.T, 1):
            if not (math.isfinite(loss) and math.isfinite(norm)):
                what, value = ("loss", loss) if not math.isfinite(loss) else ("gradient", norm)
                raise TrainingFailedError(
                    f"Training {self.task.network} failed: the {what} is {value} in step {number} of epoch {epoch}."
                )
        return float(np.mean(values[0], dtype=np.float64))

    def _keep(
        self, model: nn.Module, optimiser: Optimiser, losses: list[float], seconds: float, machines: tuple[str, ...]
    ) -> None:
        if self.folder is None:
            return
        state = {
            "identity": identity(self.task, self.design, self.seed),
            "model": model.state_dict(),
            "optimiser": optimiser.steps.state_dict(),
            "schedule": optimiser.schedule.state_dict(),
            "losses": list(losses),
            "seconds": seconds,
            "machines": list(machines),
        }
        content = packed(state)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.write(self.folder / CHECKPOINT, hashlib.sha256(content).digest() + content)
        except OSError as error:
            _log.warning("No checkpoint in %s after epoch %d: %s.", self.folder, len(losses), error.strerror or error)

    def _resume(self, model: nn.Module, optimiser: Optimiser) -> tuple[list[float], float, tuple[str, ...]]:
        """Load the checkpoint into model and optimiser; returns the losses so far, their time and the machines."""
        path = None if self.folder is None else self.folder / CHECKPOINT
        state = None if path is None else _checkpoint(path)
        if state is None:
            return [], 0.0, ()
        if state["identity"] != identity(self.task, self.design, self.seed):
            _log.warning("The checkpoint %s belongs to another training and is ignored.", path)
            return [], 0.0, ()
        model.load_state_dict(state["model"])
        optimiser.steps.load_state_dict(state["optimiser"])
        optimiser.schedule.load_state_dict(state["schedule"])
        return list(state["losses"]), float(state["seconds"]), tuple(map(str, state["machines"]))


def step(task: LearningTask, model: nn.Module, optimiser: Optimiser, batch: Batch) -> tuple[Tensor, Tensor]:
    """Update the weights from one batch; returns the loss and the norm of the gradient."""
    optimiser.steps.zero_grad(set_to_none=True)
    loss = task.loss(model, batch)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), LARGEST_GRADIENT)
    optimiser.steps.step()
    optimiser.schedule.step()
    return loss.detach(), norm


def let_signals_in(model: nn.Module) -> None:
    """Make Ctrl-C and SIGTERM end a backward pass on a processor after the layer that it is in.

    Python handles a signal when it next runs code of its own, and torch runs a backward pass, which takes minutes for
    the widest networks, without any. On a GPU the pass is another thread's, and only its start is waited for.
    """
    for weights in model.parameters():
        if weights.device.type == "cpu":
            weights.register_post_accumulate_grad_hook(_nothing)


def _nothing(_weights: Tensor) -> None:
    return None


@contextmanager
def seeded(seed: int, stage: int, device: Device) -> Iterator[torch.Generator]:
    """A context in which torch's generators are seeded from (seed, stage); yields another generator, on the CPU."""
    if seed < 0:
        raise InvalidValueError(f"The seed is {seed}; it must not be negative.")
    first, second = (int(word) for word in np.random.SeedSequence((seed, stage)).generate_state(2, np.uint64))
    devices = [torch.empty(0, device=device).device] if torch.device(device).type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(first)
        yield torch.Generator().manual_seed(second)


def machine_name(device: Device) -> str:
    """Where a training takes its time: the name of the host and the kind of device."""
    host, kind = socket.gethostname(), str(device).partition(":")[0]
    if kind != "cuda":
        return f"{host}, {kind} ({platform.machine()})"
    return f"{host}, {torch.cuda.get_device_name(device)}"


def network_options(task: LearningTask, design: Design) -> dict[str, Any]:
    """The design's values of its network's options, in the order of the table, whole numbers as int."""
    table = NETWORKS[task.network]
    missing = [name for name in table if name not in design]
    if missing:
        raise InvalidValueError(
            f"The design has no value for {', '.join(missing)}; {task.network} has the options {', '.join(table)}."
        )
    values = {name: plain(design[name]) for name in table}
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value for name, value in values.items()
    }


def identity(task: LearningTask, design: Design, seed: int) -> str:
    """A hash of everything that decides a trained network, except the code."""
    return fingerprint_of(task.network, network_options(task, design), task.fingerprint, seed)


def packed(state: Mapping[str, Any]) -> bytes:
    """A state of tensors and plain values as torch writes it."""
    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    return buffer.getvalue()


def unpacked(content: bytes, device: Device = "cpu") -> dict[str, Any]:
    """The state from `packed`; only tensors and plain values are read from a file."""
    state: dict[str, Any] = torch.load(io.BytesIO(content), map_location=device, weights_only=True)
    return state


def _checkpoint(path: Path) -> dict[str, Any] | None:
    """The state in a checkpoint; None if there is none or it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:  # no checkpoint, or something else with its name, which writing one will report
        return None
    digest, content = content[:_DIGEST_LENGTH], content[_DIGEST_LENGTH:]
    if hashlib.sha256(content).digest() == digest:
        try:
            state = unpacked(content)
            if state.keys() >= PARTS:
                return state
        except (RuntimeError, EOFError, TypeError, AttributeError, pickle.UnpicklingError):
            pass
    _log.warning("The checkpoint %s is damaged; training starts from the beginning.", path)
    return None
