"""The store trains each model once, and trusts nothing that does not agree with its hash."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from flexibo._internal.files import write_atomically  # noqa: E402
from flexibo.systems import model_store  # noqa: E402
from flexibo.systems.data.base import Dataset, Images  # noqa: E402
from flexibo.systems.device_errors import OutOfMemoryError  # noqa: E402
from flexibo.systems.model_store import POLL_SECONDS, ModelStore, UnwritableStoreError, sources_of  # noqa: E402
from flexibo.systems.options import NETWORKS  # noqa: E402
from flexibo.systems.tasks.base import TrainingFailedError  # noqa: E402
from flexibo.systems.tasks.images import ImageTask, ImageTraining  # noqa: E402
from flexibo.systems.training import CHECKPOINT, Trained  # noqa: E402

DESIGN = {name: 16 if name.startswith("filters") else 1 for name in NETWORKS["lenet"]}
FAILURE = "The loss is nan."


def make_task(fingerprint: str = "data", **settings: Any) -> ImageTask:
    images = Images(np.zeros((4, 1, 8, 8), dtype=np.uint8), np.array([0, 1, 0, 1]), ("no", "yes"))
    return ImageTask("lenet", Dataset("small", images, images, fingerprint), ImageTraining(**settings))


TASK = make_task()


@dataclass
class Trainer:
    """Trains nothing, and counts how often it was asked to."""

    error_percent: float = 12.5
    before: Callable[[], None] = lambda: None
    asked: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, task: Any, design: Any, **rest: Any) -> Trained:
        self.asked.append({"design": dict(design), **rest})
        self.before()
        model = task.build(design)
        return Trained(model, self.error_percent, 3.0, 2, (0.9, 0.5), ("there, a GPU", "here, cpu"))


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self, at_sleep: Callable[[], None] = lambda: None) -> None:
        self.now = 0.0
        self._at_sleep = at_sleep

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._at_sleep()


@pytest.fixture
def trainer() -> Trainer:
    return Trainer()


STALE_SECONDS = 30 * POLL_SECONDS


@pytest.fixture(autouse=True)
def _short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_store, "STALE_SECONDS", STALE_SECONDS)


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models")


def only(store: ModelStore, pattern: str) -> Path:
    (path,) = store.folder.glob(pattern)
    return path


def test_a_model_is_trained_once_and_then_read(store: ModelStore, trainer: Trainer) -> None:
    first = store.trained(TASK, DESIGN, seed=1, device="cpu", train=trainer)
    second = ModelStore(store.folder).trained(TASK, DESIGN, seed=1, device="cpu", train=trainer)
    assert len(trainer.asked) == 1
    assert replace(first, cost_seconds=0.0) == replace(second, cost_seconds=0.0)
    assert second.machines == ("there, a GPU", "here, cpu")
    assert (second.error_percent, second.seconds, second.epochs, second.losses) == (12.5, 3.0, 2, (0.9, 0.5))
    assert second.design == DESIGN


def test_the_trained_weights_are_loaded_in_evaluation_mode_and_torchs_generator_is_left_alone(
    store: ModelStore,
) -> None:
    model = TASK.build(DESIGN)
    stored = store.put(TASK, DESIGN, Trained(model, 1.0, 1.0, 1, (0.1,)), seed=0)
    torch.manual_seed(7)
    loaded = stored.load(TASK)
    drawn = torch.rand(1)
    torch.manual_seed(7)
    assert torch.equal(drawn, torch.rand(1))
    assert not loaded.training
    for name, value in model.state_dict().items():
        assert torch.equal(value, loaded.state_dict()[name]), name


@pytest.mark.parametrize("option", list(DESIGN))
def test_another_value_of_a_network_option_is_another_model(store: ModelStore, trainer: Trainer, option: str) -> None:
    store.trained(TASK, DESIGN, seed=1, train=trainer)
    store.trained(TASK, DESIGN | {option: 3}, seed=1, train=trainer)
    assert len(trainer.asked) == 2


def test_a_deployment_option_is_not_looked_at(store: ModelStore, trainer: Trainer) -> None:
    for threads in (1, 2, 4):
        store.trained(TASK, DESIGN | {"threads": threads, "precision": "bf16"}, seed=1, train=trainer)
    assert len(trainer.asked) == 1


@pytest.mark.parametrize("training_option", ["dropout", "learning_rate", "weight_decay", "batch_size"])
def test_a_training_option_of_the_network_is_looked_at(training_option: str, store: ModelStore) -> None:
    @dataclass(frozen=True)
    class Bert:
        network: str = "bert"
        fingerprint: str = "data"

    design = {name: values[0] for name, values in NETWORKS["bert"].items()}
    other = design | {training_option: NETWORKS["bert"][training_option][1]}
    task: Any = Bert()
    store = ModelStore(store.folder, sources=lambda network: ())
    store.put(task, design, Trained(torch.nn.Linear(1, 1), 1.0, 1.0, 1, ()), seed=0)
    assert store.get(task, design, seed=0) is not None
    assert store.get(task, other, seed=0) is None


def test_the_order_and_type_of_values_do_not_matter(store: ModelStore, trainer: Trainer) -> None:
    store.trained(TASK, DESIGN, seed=1, train=trainer)
    same = {name: np.int64(value) for name, value in reversed(DESIGN.items())}
    store.trained(TASK, same, seed=1, train=trainer)
    store.trained(TASK, {name: float(value) for name, value in DESIGN.items()}, seed=1, train=trainer)
    assert len(trainer.asked) == 1


@pytest.mark.parametrize("other", [make_task("other data"), make_task(epochs=7), make_task(batch=16)])
def test_other_data_or_settings_are_another_model(store: ModelStore, trainer: Trainer, other: ImageTask) -> None:
    store.trained(TASK, DESIGN, seed=1, train=trainer)
    assert store.get(other, DESIGN, seed=1) is None


def test_another_seed_is_another_model(store: ModelStore, trainer: Trainer) -> None:
    store.trained(TASK, DESIGN, seed=1, train=trainer)
    assert store.get(TASK, DESIGN, seed=2) is None


def test_other_code_is_another_model(tmp_path: Path, trainer: Trainer) -> None:
    code = tmp_path / "lenet.py"
    code.write_text("filters = 1")
    store = ModelStore(tmp_path / "models", sources=lambda network: (code,))
    store.trained(TASK, DESIGN, seed=1, train=trainer)
    assert store.get(TASK, DESIGN, seed=1) is not None
    code.write_text("filters = 2")
    assert store.get(TASK, DESIGN, seed=1) is None
    code.write_text("filters = 1")
    assert store.get(TASK, DESIGN, seed=1) is not None


def test_the_code_is_that_of_the_network_its_layers_the_tasks_and_the_training() -> None:
    names = [path.name for path in sources_of("lenet")]
    assert names[:3] == ["lenet.py", "layers.py", "training.py"]
    assert {"base.py", "images.py", "reviews.py", "answers.py", "speech.py"} < set(names[3:])
    assert {"bert.py", "tokens.py"} < {path.name for path in sources_of("bert")}
    assert all(path.exists() for path in sources_of("bert"))


@pytest.mark.parametrize("part", ["*.pt", "*.json"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: b"",
        lambda content: content[:50] + bytes([content[50] ^ 255]) + content[51:],
        lambda content: b"[1, 2]",
        None,
    ],
)
def test_a_damaged_entry_is_trained_again(
    store: ModelStore, trainer: Trainer, part: str, damage: Callable[[bytes], bytes] | None
) -> None:
    store.trained(TASK, DESIGN, seed=1, train=trainer)
    path = only(store, part)
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    assert store.get(TASK, DESIGN, seed=1) is None
    store.trained(TASK, DESIGN, seed=1, train=trainer)
    assert len(trainer.asked) == 2
    assert store.get(TASK, DESIGN, seed=1) is not None


@pytest.mark.parametrize(
    "change",
    [
        {"error_percent": None},
        {"error_percent": float("nan")},
        {"error_percent": 10**400},
        {"error_percent": -1.0},
        {"epochs": float("inf")},
        {"losses": 3},
        {"weights_sha256": "0" * 64},
        {"design": {"filters_1": 1}},
        {"name": "lenet-of-another-name"},
        {"epochs": "many"},
        {"machines": None},
    ],
)
def test_an_entry_that_does_not_say_what_it_should_is_not_trusted(
    store: ModelStore, trainer: Trainer, change: dict[str, Any]
) -> None:
    store.trained(TASK, DESIGN, seed=1, train=trainer)
    path = only(store, "*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert store.get(TASK, DESIGN, seed=1) is None


def test_an_entry_names_what_it_is_and_no_date(store: ModelStore, trainer: Trainer) -> None:
    store.trained(TASK, DESIGN, seed=1, train=trainer)
    entry = json.loads(only(store, "*.json").read_text())
    assert entry["network"] == "lenet"
    assert entry["design"] == DESIGN
    assert entry["fingerprint"] == TASK.fingerprint
    assert set(entry) == {
        "name", "network", "design", "fingerprint", "seed", "error_percent", "seconds", "epochs", "losses",
        "machines", "weights_sha256",
    }  # fmt: skip


def fails() -> None:
    raise TrainingFailedError(FAILURE)


def test_a_failed_training_is_remembered_with_its_sentence(store: ModelStore) -> None:
    trainer = Trainer(before=fails)
    for _ in range(2):
        with pytest.raises(TrainingFailedError, match=f"^{FAILURE}$"):
            store.trained(TASK, DESIGN, seed=1, train=trainer)
    assert len(trainer.asked) == 1
    assert store.get(TASK, DESIGN, seed=1) is None
    assert store.failure(TASK, DESIGN, seed=1) == FAILURE
    assert store.failure(TASK, DESIGN, seed=2) is None


def test_running_out_of_memory_is_not_remembered_and_the_lock_is_free(store: ModelStore, trainer: Trainer) -> None:
    def full() -> None:
        raise OutOfMemoryError("The memory does not suffice.")

    with pytest.raises(OutOfMemoryError):
        store.trained(TASK, DESIGN, seed=1, train=Trainer(before=full))
    assert not list(store.folder.glob("*.lock"))
    store.trained(TASK, DESIGN, seed=1, train=trainer)
    assert len(trainer.asked) == 1


def test_ctrl_c_frees_the_lock_and_keeps_the_checkpoint(store: ModelStore) -> None:
    def interrupted(task: Any, design: Any, *, folder: Path, **rest: Any) -> Trained:
        folder.mkdir(parents=True)
        (folder / CHECKPOINT).touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.trained(TASK, DESIGN, seed=1, train=interrupted)
    assert not list(store.folder.glob("*.lock"))
    assert list(store.folder.glob(f"training/*/{CHECKPOINT}"))


def test_after_training_nothing_but_the_entry_is_left(store: ModelStore) -> None:
    def untidy(task: Any, design: Any, *, folder: Path, **rest: Any) -> Trained:
        folder.mkdir(parents=True)
        (folder / CHECKPOINT).touch()
        (store.folder / f".{folder.name}.pt.0.part").touch()
        return Trainer()(task, design, **rest)

    store.trained(TASK, DESIGN, seed=1, train=untidy)
    names = sorted(path.suffix for path in store.folder.rglob("*") if path.is_file())
    assert names == [".json", ".pt"]


def test_the_arguments_of_a_training_are_passed_on(store: ModelStore, trainer: Trainer) -> None:
    def progress(done: int, total: int, loss: float) -> None: ...

    store.trained(TASK, DESIGN, seed=5, device="meta", train=trainer, progress=progress)
    (asked,) = trainer.asked
    assert (asked["seed"], asked["device"], asked["progress"]) == (5, "meta", progress)
    assert asked["folder"].parent == store.folder / "training"


@pytest.mark.parametrize("fails_at", [0, 1])
def test_a_full_disk_is_a_sentence_and_the_entry_is_absent(tmp_path: Path, trainer: Trainer, fails_at: int) -> None:
    written: list[Path] = []

    def write(path: Path, content: bytes) -> None:
        written.append(path)
        if len(written) > fails_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_atomically(path, content)

    store = ModelStore(tmp_path, write=write)
    with pytest.raises(UnwritableStoreError, match=f"{tmp_path}: {os.strerror(errno.ENOSPC)}"):
        store.trained(TASK, DESIGN, seed=1, train=trainer)
    assert store.get(TASK, DESIGN, seed=1) is None
    assert not list(tmp_path.glob("*.lock"))


def test_the_weights_are_on_the_disk_before_the_entry_names_them(tmp_path: Path, trainer: Trainer) -> None:
    written: list[str] = []

    def write(path: Path, content: bytes) -> None:
        written.append(path.suffix)
        write_atomically(path, content)

    ModelStore(tmp_path, write=write).trained(TASK, DESIGN, seed=1, train=trainer)
    assert written == [".pt", ".json"]


def test_a_full_disk_while_an_entry_is_replaced_keeps_the_old_one(store: ModelStore) -> None:
    model = TASK.build(DESIGN)
    store.put(TASK, DESIGN, Trained(model, 1.0, 1.0, 1, ()), seed=0)

    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(UnwritableStoreError):
        ModelStore(store.folder, write=full).put(TASK, DESIGN, Trained(model, 2.0, 1.0, 1, ()), seed=0)
    kept = store.get(TASK, DESIGN, seed=0)
    assert kept is not None
    assert kept.error_percent == 1.0


def test_a_folder_that_is_a_file_is_a_sentence(tmp_path: Path, trainer: Trainer) -> None:
    (tmp_path / "models").touch()
    with pytest.raises(UnwritableStoreError, match=f"{tmp_path}/models: "):
        ModelStore(tmp_path / "models").trained(TASK, DESIGN, seed=1, train=trainer)
    assert not trainer.asked


def locked(store: ModelStore, **holder: Any) -> Path:
    """The lock of the model, held by somebody else."""
    probe = ModelStore(store.folder / "probe")
    probe.put(TASK, DESIGN, Trained(TASK.build(DESIGN), 1.0, 1.0, 1, ()), seed=1)
    lock = store.folder / only(probe, "*.json").with_suffix(".lock").name
    lock.write_text(json.dumps({"host": "elsewhere", "pid": os.getpid(), "token": "theirs"} | holder))
    return lock


def test_one_waits_while_another_trains_and_then_reads_its_model(store: ModelStore, trainer: Trainer) -> None:
    lock = locked(store)

    def other_finishes() -> None:
        if clock.now >= 3 * POLL_SECONDS:
            lock.unlink()
            store.put(TASK, DESIGN, Trained(TASK.build(DESIGN), 77.0, 1.0, 1, ()), seed=1)

    clock = Clock(other_finishes)
    waiting = ModelStore(store.folder, clock=clock, sleep=clock.sleep)
    assert waiting.trained(TASK, DESIGN, seed=1, train=trainer).error_percent == 77.0
    assert clock.now == 3 * POLL_SECONDS
    assert not trainer.asked


def test_a_request_is_charged_with_what_it_took_here(store: ModelStore) -> None:
    clock = Clock()
    here = ModelStore(store.folder, clock=clock)

    def train(task: Any, design: Any, **rest: Any) -> Trained:
        clock.now += 7.0
        # The checkpoint of another host had 100 s behind it: they are the model's, and not this request's.
        return Trained(task.build(design), 12.5, 107.0, 2, (), ("there", "here"))

    first = here.trained(TASK, DESIGN, seed=1, train=train)
    assert (first.seconds, first.cost_seconds) == (107.0, 7.0)
    second = ModelStore(store.folder, clock=clock).trained(TASK, DESIGN, seed=1, train=train)
    assert (second.seconds, second.cost_seconds, second.machines) == (107.0, 0.0, ("there", "here"))


def test_waiting_for_anothers_training_is_not_charged(store: ModelStore, trainer: Trainer) -> None:
    lock = locked(store)

    def other_finishes() -> None:
        if clock.now >= 20 * POLL_SECONDS:
            lock.unlink(missing_ok=True)
            store.put(TASK, DESIGN, Trained(TASK.build(DESIGN), 77.0, 10.0, 1, (), ("there",)), seed=1)

    clock = Clock(other_finishes)
    found = ModelStore(store.folder, clock=clock, sleep=clock.sleep).trained(TASK, DESIGN, seed=1, train=trainer)
    assert clock.now == 20 * POLL_SECONDS
    assert (found.cost_seconds, found.seconds, found.machines) == (0.0, 10.0, ("there",))


def test_who_takes_over_from_a_dead_host_is_charged_with_the_training_and_not_with_the_wait(store: ModelStore) -> None:
    locked(store)
    clock = Clock()

    def passes() -> None:
        clock.now += 7.0

    taken = ModelStore(store.folder, host="here", clock=clock, sleep=clock.sleep)
    assert taken.trained(TASK, DESIGN, seed=1, train=Trainer(before=passes)).cost_seconds == 7.0
    assert clock.now > STALE_SECONDS


def test_the_sentence_of_another_hosts_failure_is_one_printable_line(store: ModelStore) -> None:
    with pytest.raises(TrainingFailedError):
        store.trained(TASK, DESIGN, seed=1, train=Trainer(before=fails))
    path = only(store, "*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"failed": "nan\nflexibo: fine\x1b[2J"}))
    with pytest.raises(TrainingFailedError, match=r"^nan\\nflexibo: fine\\x1b\[2J$"):
        store.trained(TASK, DESIGN, seed=1, train=Trainer())


def test_one_that_waits_gets_the_failure_of_the_one_that_trains(store: ModelStore, trainer: Trainer) -> None:
    results: list[str] = []

    def ask() -> None:
        try:
            store.trained(TASK, DESIGN, seed=1, train=trainer)
        except TrainingFailedError as error:
            results.append(str(error))

    waiter = threading.Thread(target=ask)

    def fails_while_another_waits() -> None:
        waiter.start()
        fails()

    with pytest.raises(TrainingFailedError):
        store.trained(TASK, DESIGN, seed=1, train=Trainer(before=fails_while_another_waits))
    waiter.join(timeout=20)
    assert results == [FAILURE]
    assert not trainer.asked


def test_the_lock_of_a_dead_process_on_this_host_is_taken_over_at_once(store: ModelStore, trainer: Trainer) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for pid in (dead.pid, 10**30):
        lock = locked(store, host="here", pid=pid)
        assert model_store._Watch(lock, "here", Clock()).holder_is_dead()
    clock = Clock()
    ModelStore(store.folder, host="here", clock=clock, sleep=clock.sleep).trained(TASK, DESIGN, seed=1, train=trainer)
    assert len(trainer.asked) == 1
    assert clock.now == 0
    assert not list(store.folder.glob("*.lock"))


@pytest.mark.parametrize("content", ["", "[]", "[" * 99_999, '{"host": "elsewhere", "pid": 1, "token": "theirs"}'])
def test_a_lock_that_nobody_touches_is_taken_over_after_a_while(
    store: ModelStore, trainer: Trainer, content: str
) -> None:
    locked(store).write_text(content)
    clock = Clock()
    ModelStore(store.folder, host="here", clock=clock, sleep=clock.sleep).trained(TASK, DESIGN, seed=1, train=trainer)
    assert STALE_SECONDS < clock.now <= STALE_SECONDS + 2 * POLL_SECONDS
    assert len(trainer.asked) == 1


def test_a_lock_that_is_touched_is_respected_however_long_it_takes(store: ModelStore, trainer: Trainer) -> None:
    # The holder's own clock is far behind ours; what counts is that its touches differ.
    lock = locked(store)

    def at_sleep() -> None:
        if clock.now > 5 * STALE_SECONDS:
            store.put(TASK, DESIGN, Trained(TASK.build(DESIGN), 77.0, 1.0, 1, ()), seed=1)
        os.utime(lock, (clock.now, clock.now))

    clock = Clock(at_sleep)
    waiting = ModelStore(store.folder, host="here", clock=clock, sleep=clock.sleep)
    assert waiting.trained(TASK, DESIGN, seed=1, train=trainer).error_percent == 77.0
    assert not trainer.asked
    assert lock.exists()


def test_who_trains_touches_the_lock(store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_store, "HEARTBEAT_SECONDS", 0.001)
    touched = threading.Event()
    monkeypatch.setattr(model_store.os, "utime", lambda path: touched.set())
    waited: list[bool] = []
    trainer = Trainer(before=lambda: waited.append(touched.wait(timeout=20)))
    store.trained(TASK, DESIGN, seed=1, train=trainer)
    assert waited == [True]


def test_a_lock_that_was_taken_over_meanwhile_is_not_removed(store: ModelStore) -> None:
    def taken_over() -> None:
        only(store, "*.lock").write_text('{"token": "theirs"}')

    store.trained(TASK, DESIGN, seed=1, train=Trainer(before=taken_over))
    assert only(store, "*.lock").read_text() == '{"token": "theirs"}'


def test_a_lock_that_changed_hands_while_it_was_found_dead_is_put_back(store: ModelStore) -> None:
    lock = locked(store)
    clock = Clock()
    watch = model_store._Watch(lock, "here", clock)
    assert not watch.holder_is_dead()
    clock.now = 2 * STALE_SECONDS
    assert watch.holder_is_dead()
    lock.write_text('{"token": "the next one"}')
    watch.remove()
    assert lock.read_text() == '{"token": "the next one"}'
    assert not list(store.folder.glob(".*.part"))


def test_threads_that_ask_for_the_same_model_train_it_once(store: ModelStore) -> None:
    together = threading.Barrier(4, timeout=20)
    trainer = Trainer()
    errors: list[float] = []

    def ask() -> None:
        together.wait()
        errors.append(store.trained(TASK, DESIGN, seed=1, train=trainer).error_percent)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert errors == [12.5] * 4
    assert len(trainer.asked) == 1


def test_the_real_training_runs_through_the_store(store: ModelStore) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    pixels = (rng.integers(0, 60, (40, 1, 8, 8)) + 150 * labels[:, None, None, None]).astype(np.uint8)
    images = Images(pixels, labels, ("dark", "bright"))
    task = replace(make_task(epochs=8, batch=10, learning_rate=0.02), data=Dataset("d", images, images, "d"))
    stored = store.trained(task, DESIGN, seed=0)
    assert stored.losses[-1] < 0.5 * stored.losses[0]
    assert task.error_percent(stored.load(task), DESIGN, "cpu") == stored.error_percent < 10


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
