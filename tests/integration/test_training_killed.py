"""Real processes: a training that is killed ends as if it had not been, and two that want one model train it once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

TIMEOUT_SECONDS = 120

PRELUDE = """
import hashlib, os, signal, sys
from pathlib import Path
import numpy as np
import torch
from flexibo._internal.files import write_atomically
from flexibo.systems.data.base import Dataset, Images
from flexibo.systems.model_store import ModelStore
from flexibo.systems.tasks.images import ImageTask, ImageTraining
from flexibo.systems.training import CHECKPOINT, packed, train

torch.set_num_threads(1)
rng = np.random.default_rng(0)
labels = np.arange(120) % 3
pixels = (rng.integers(0, 100, (120, 1, 12, 12)) + 70 * labels[:, None, None, None]).astype(np.uint8)
images = Images(pixels, labels, ("dark", "grey", "bright"))
task = ImageTask("lenet", Dataset("noise", images, images, "noise"), ImageTraining(epochs=12, batch=10))
design = {f"{what}_{i}": n for i in (1, 2, 3, 4) for what, n in (("filters", 8), ("filter_size", 3))}
folder = Path(sys.argv[1])

def tell(done, total, loss):
    print(done, flush=True)

def digest(model):
    content = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    return hashlib.sha256(content).hexdigest()
"""

TRAIN = """
trained = train(task, design, seed=5, folder=folder, progress=tell)
print(digest(trained.model), trained.error_percent)
"""

DIE_WHILE_WRITING = """
class Dying:
    def __init__(self, path, mode):
        self.file = open(path, mode)
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self.file.close()
    def write(self, content):
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        os.kill(os.getpid(), signal.SIGKILL)

def write(path, content):
    write.count += 1
    write_atomically(path, content, **({"open_file": Dying} if write.count == 4 else {}))

write.count = 0
train(task, design, seed=5, folder=folder, progress=tell, write=write)
"""

STORE = """
stored = ModelStore(folder).trained(task, design, seed=5, progress=tell)
print(digest(stored.load(task)), stored.error_percent)
"""


def start(script: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + script, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def finished(process: subprocess.Popen[str]) -> tuple[list[int], str]:
    """The epochs that a process trained, and the hash of its weights with their error."""
    output, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0
    *epochs, result = output.splitlines()
    return [int(epoch) for epoch in epochs], result


def killed_after(process: subprocess.Popen[str], epoch: int) -> None:
    """Kill a process as soon as it says that it has finished an epoch: in the middle of the next."""
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) == epoch:
            break
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == -signal.SIGKILL


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash and the error of the training that nobody disturbed."""
    epochs, result = finished(start(TRAIN, tmp_path_factory.mktemp("whole")))
    assert epochs == list(range(1, 13))
    return result


@pytest.mark.slow
def test_a_training_killed_twice_ends_with_the_same_weights(tmp_path: Path, whole: str) -> None:
    killed_after(start(TRAIN, tmp_path), 2)
    killed_after(start(TRAIN, tmp_path), 5)
    epochs, result = finished(start(TRAIN, tmp_path))
    assert epochs[0] in (6, 7, 8)
    assert epochs == list(range(epochs[0], 13))
    assert result == whole


@pytest.mark.slow
def test_a_training_killed_while_it_wrote_a_checkpoint_goes_on_from_the_one_before(tmp_path: Path, whole: str) -> None:
    process = start(DIE_WHILE_WRITING, tmp_path)
    output, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == -signal.SIGKILL
    assert output.split() == ["1", "2", "3"]
    assert any(path.name.endswith(".part") for path in tmp_path.iterdir())
    epochs, result = finished(start(TRAIN, tmp_path))
    assert epochs == list(range(4, 13))
    assert result == whole


@pytest.mark.slow
def test_two_processes_that_want_the_same_model_train_it_once(tmp_path: Path, whole: str) -> None:
    both = [start(STORE, tmp_path) for _ in range(2)]
    results = [finished(process) for process in both]
    assert sorted(len(epochs) for epochs, _ in results) == [0, 12]
    assert [result for _, result in results] == [whole, whole]


@pytest.mark.slow
def test_a_killed_process_leaves_its_lock_and_the_next_takes_over_where_it_was(tmp_path: Path, whole: str) -> None:
    killed_after(start(STORE, tmp_path), 3)
    (lock,) = tmp_path.glob("*.lock")
    assert json.loads(lock.read_text())["pid"] > 0
    epochs, result = finished(start(STORE, tmp_path))
    assert epochs[0] > 3
    assert epochs[-1] == 12
    assert result == whole
    left = sorted(path.suffix for path in tmp_path.rglob("*") if path.is_file())
    assert left == [".json", ".pt"]
