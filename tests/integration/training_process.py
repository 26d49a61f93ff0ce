"""A training in a process of its own, which tells its epochs and its end through a pipe.

Torch and what needs it are imported in the functions: the test that names them does without, which saves it seconds.
"""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexibo._internal.files import write_atomically

if TYPE_CHECKING:
    import torch

    from flexibo.systems.tasks.images import ImageTask

NEEDED = ["torch._dynamo", "flexibo.systems.model_store", "flexibo.systems.tasks.images", "flexibo.systems.training"]
"""What takes long to import; the first optimiser imports torch's compiler, which costs as much as torch itself."""
EPOCHS = 12
DESIGN = {f"{what}_{i}": n for i in (1, 2, 3, 4) for what, n in (("filters", 8), ("filter_size", 3))}


def trained(folder: Path, told: Connection) -> None:
    """Train; the hash of the weights and their error are the last to be told."""
    from flexibo.systems.training import train

    result = train(_task(), DESIGN, seed=5, folder=folder, progress=_telling(told))
    told.send(f"{_digest(result.model)} {result.error_percent}")


def stored(folder: Path, told: Connection) -> None:
    """Take a model from a store, which trains it if nobody has."""
    from flexibo.systems.model_store import ModelStore

    task = _task()
    result = ModelStore(folder).trained(task, DESIGN, seed=5, progress=_telling(told))
    told.send(f"{_digest(result.load(task))} {result.error_percent}")


def dying(folder: Path, told: Connection) -> None:
    """Train, and die in the middle of writing the fourth checkpoint."""
    from flexibo.systems.training import train

    written = 0

    def write(path: Path, content: Any) -> None:
        nonlocal written
        written += 1
        if written == 4:
            write_atomically(path, content, open_file=_Dying)  # type: ignore[arg-type]
        else:
            write_atomically(path, content)

    train(_task(), DESIGN, seed=5, folder=folder, progress=_telling(told), write=write)


class _Dying:
    """A file whose writer dies half-way."""

    def __init__(self, path: Path, mode: str) -> None:
        self.file = open(path, mode)  # noqa: SIM115  # closed at the end of the with statement

    def __enter__(self) -> _Dying:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def write(self, content: bytes) -> None:
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        os.kill(os.getpid(), signal.SIGKILL)


def _task() -> ImageTask:
    import torch

    from flexibo.systems.data.base import Dataset, Images
    from flexibo.systems.tasks.images import ImageTask, ImageTraining

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 3
    pixels = (rng.integers(0, 100, (120, 1, 12, 12)) + 70 * labels[:, None, None, None]).astype(np.uint8)
    images = Images(pixels, labels, ("dark", "grey", "bright"))
    return ImageTask("lenet", Dataset("noise", images, images, "noise"), ImageTraining(epochs=EPOCHS, batch=10))


def _telling(told: Connection) -> Callable[[int, int, float], None]:
    return lambda done, total, loss: told.send(done)


def _digest(model: torch.nn.Module) -> str:
    content = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    return hashlib.sha256(content).hexdigest()
