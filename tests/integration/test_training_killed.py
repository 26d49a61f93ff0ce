"""Real processes: a training that is killed ends as if it had not been, and two that want one model train it once."""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.forked import forked, imported
from tests.integration.training_process import EPOCHS, NEEDED, dying, stored, trained

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install flexibo[dnn]"),
]
TIMEOUT_SECONDS = 120


class Training:
    """A training in a process of its own, which says how far it is."""

    def __init__(self, target: Callable[[Path, Connection], None], folder: Path) -> None:
        self._heard, told = multiprocessing.Pipe(duplex=False)
        self.process = forked(target, folder, told)
        told.close()

    def _next(self) -> int | str:
        assert self._heard.poll(TIMEOUT_SECONDS)
        said: int | str = self._heard.recv()
        return said

    def ended(self) -> tuple[list[int | str], int | None]:
        """What the process says until its end, and its status."""
        said = []
        try:
            while True:
                said.append(self._next())
        except EOFError:
            self.process.join(TIMEOUT_SECONDS)
        return said, self.process.exitcode

    def finished(self) -> tuple[list[int | str], int | str]:
        """The epochs that the process trained, and the hash of its weights with their error."""
        (*epochs, result), status = self.ended()
        assert status == 0
        return epochs, result

    def killed_after(self, epoch: int) -> None:
        """Kill the process as soon as it says that it has finished an epoch: in the middle of the next."""
        while self._next() != epoch:
            pass
        self.process.kill()
        assert self.ended()[1] == -signal.SIGKILL


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with imported(*NEEDED):
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> int | str:
    """The hash and the error of the training that nobody disturbed."""
    epochs, result = Training(trained, tmp_path_factory.mktemp("whole")).finished()
    assert epochs == list(range(1, EPOCHS + 1))
    return result


def test_a_training_killed_twice_ends_with_the_same_weights(tmp_path: Path, whole: str) -> None:
    Training(trained, tmp_path).killed_after(2)
    Training(trained, tmp_path).killed_after(5)
    epochs, result = Training(trained, tmp_path).finished()
    assert epochs[0] in (6, 7, 8)
    assert epochs == list(range(epochs[0], EPOCHS + 1))
    assert result == whole


def test_a_training_killed_while_it_wrote_a_checkpoint_goes_on_from_the_one_before(tmp_path: Path, whole: str) -> None:
    assert Training(dying, tmp_path).ended() == ([1, 2, 3], -signal.SIGKILL)
    assert any(path.name.endswith(".part") for path in tmp_path.iterdir())
    epochs, result = Training(trained, tmp_path).finished()
    assert epochs == list(range(4, EPOCHS + 1))
    assert result == whole


def test_two_processes_that_want_the_same_model_train_it_once(tmp_path: Path, whole: str) -> None:
    both = [Training(stored, tmp_path) for _ in range(2)]
    results = [training.finished() for training in both]
    assert sorted(len(epochs) for epochs, _ in results) == [0, EPOCHS]
    assert [result for _, result in results] == [whole, whole]


def test_a_killed_process_leaves_its_lock_and_the_next_takes_over_where_it_was(tmp_path: Path, whole: str) -> None:
    Training(stored, tmp_path).killed_after(3)
    (lock,) = tmp_path.glob("*.lock")
    assert json.loads(lock.read_text())["pid"] > 0
    epochs, result = Training(stored, tmp_path).finished()
    assert epochs[0] > 3
    assert epochs[-1] == EPOCHS
    assert result == whole
    left = sorted(path.suffix for path in tmp_path.rglob("*") if path.is_file())
    assert left == [".json", ".pt"]
