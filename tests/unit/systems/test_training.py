"""A training is seeded, kept after every epoch, gone on with, and fails with a sentence."""

from __future__ import annotations

import errno
import gc
import hashlib
import io
import logging
import math
import os
import re
import signal
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from flexibo._internal.files import write_atomically  # noqa: E402
from flexibo.errors import FlexiBOError, InvalidValueError  # noqa: E402
from flexibo.systems import training  # noqa: E402
from flexibo.systems.device_errors import OutOfMemoryError  # noqa: E402
from flexibo.systems.tasks.base import Optimiser, TrainingFailedError, adam, one_cycle, shuffled  # noqa: E402
from flexibo.systems.training import (  # noqa: E402
    CHECKPOINT,
    Trained,
    identity,
    let_signals_in,
    network_options,
    packed,
    seeded,
    train,
    unpacked,
)

DESIGN = {f"{what}_{layer}": 3 for layer in (1, 2, 3, 4) for what in ("filters", "filter_size")}
N_EXAMPLES, BATCH, EPOCHS = 24, 8, 4


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@dataclass(frozen=True)
class Parity:
    """A small task with everything that is random in real ones: initial weights, order, dropout."""

    network: str = "lenet"
    fingerprint: str = "parity"
    n_epochs: int = EPOCHS
    losses_seen: list[float] = field(default_factory=list)
    spoil: Callable[[int, Any], Any] = lambda step, loss: loss
    error: float | None = None

    def epochs(self, design: Any) -> int:
        return self.n_epochs

    def build(self, design: Any) -> Any:
        nn = torch.nn
        return nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))

    def _examples(self) -> tuple[Any, Any]:
        bits = torch.tensor(np.random.default_rng(0).integers(0, 2, (N_EXAMPLES, 5)), dtype=torch.float32)
        return bits, bits[:, :2].sum(dim=1).long() % 2

    def batches(self, design: Any, generator: Any, device: Any) -> Iterator[Any]:
        bits, labels = self._examples()
        for chosen in shuffled(N_EXAMPLES, BATCH, generator):
            yield bits[chosen], labels[chosen]

    def loss(self, model: Any, batch: Any) -> Any:
        loss = torch.nn.functional.cross_entropy(model(batch[0]), batch[1])
        self.losses_seen.append(float(loss.detach()))
        return self.spoil(len(self.losses_seen), loss)

    def optimiser(self, model: Any, design: Any) -> Optimiser:
        steps = self.n_epochs * N_EXAMPLES // BATCH
        return one_cycle(adam(model, learning_rate=0.02, weight_decay=0.01), steps, warm_share=0.25)

    def error_percent(self, model: Any, design: Any, device: Any) -> float:
        if self.error is not None:
            return self.error
        bits, labels = self._examples()
        model.eval()
        with torch.no_grad():
            return 100 * float((model(bits).argmax(dim=1) != labels).float().mean())

    def inputs(self, design: Any, count: int, device: Any) -> Any:
        return (self._examples()[0][:count],)


class StopsError(Exception):
    """Raised by a test in place of a kill."""


def interrupt_after(epoch: int, error: type[BaseException] = StopsError) -> Callable[[int, int, float], None]:
    def progress(done: int, total: int, loss: float) -> None:
        if done == epoch:
            raise error

    return progress


def weights(trained: Trained) -> dict[str, Any]:
    return dict(trained.model.state_dict())


def assert_same(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


def test_the_same_seed_gives_the_same_weights_bit_for_bit() -> None:
    first, second = train(Parity(), DESIGN, seed=3), train(Parity(), DESIGN, seed=3)
    assert_same(weights(first), weights(second))
    assert first.losses == second.losses


def test_another_seed_gives_other_weights() -> None:
    first, second = train(Parity(), DESIGN, seed=3), train(Parity(), DESIGN, seed=4)
    assert not torch.equal(first.model[0].weight, second.model[0].weight)


def test_the_callers_random_numbers_are_left_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    train(Parity(), DESIGN, seed=3)
    assert torch.equal(torch.rand(3), expected)


def test_what_was_drawn_before_does_not_change_a_training() -> None:
    first = train(Parity(), DESIGN, seed=3)
    torch.rand(5)
    assert_same(weights(first), weights(train(Parity(), DESIGN, seed=3)))


def test_each_epoch_has_its_own_randomness() -> None:
    def draws(stage: int) -> list[float]:
        with seeded(1, stage, "cpu") as generator:
            return [float(torch.rand(1)), float(torch.rand(1, generator=generator))]

    assert draws(1) == draws(1)
    drawn = [*draws(0), *draws(1), *draws(2)]
    assert len(set(drawn)) == len(drawn)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="seed is -1;"):
        train(Parity(), DESIGN, seed=-1)


def test_the_losses_are_the_means_of_the_epochs_and_the_loss_falls() -> None:
    task = Parity(n_epochs=12)
    trained = train(task, DESIGN, seed=0)
    seen = np.reshape(task.losses_seen, (12, N_EXAMPLES // BATCH))
    assert trained.losses == pytest.approx(tuple(seen.mean(axis=1)))
    assert trained.epochs == 12
    assert trained.losses[-1] < 0.8 * trained.losses[0]


@pytest.mark.parametrize("epoch", [1, 4])
def test_an_interrupted_training_ends_with_the_weights_of_an_uninterrupted_one(tmp_path: Path, epoch: int) -> None:
    whole = train(Parity(), DESIGN, seed=3)
    with pytest.raises(StopsError):
        train(Parity(), DESIGN, seed=3, folder=tmp_path, progress=interrupt_after(epoch))
    again = Parity()
    resumed = train(again, DESIGN, seed=3, folder=tmp_path)
    assert len(again.losses_seen) == (EPOCHS - epoch) * N_EXAMPLES // BATCH
    assert_same(weights(whole), weights(resumed))
    assert resumed.losses == whole.losses
    assert resumed.error_percent == whole.error_percent


def test_ctrl_c_in_the_middle_of_an_epoch_leaves_the_checkpoint_of_the_one_before(tmp_path: Path) -> None:
    def spoil(step: int, loss: Any) -> Any:
        if step == 5:
            raise KeyboardInterrupt
        return loss

    with pytest.raises(KeyboardInterrupt):
        train(Parity(spoil=spoil), DESIGN, seed=3, folder=tmp_path)
    resumed = train(Parity(), DESIGN, seed=3, folder=tmp_path)
    assert_same(weights(train(Parity(), DESIGN, seed=3)), weights(resumed))


def test_the_seconds_of_the_interrupted_part_are_counted(tmp_path: Path) -> None:
    ticks = iter(range(100))
    with pytest.raises(StopsError):
        train(Parity(), DESIGN, seed=3, folder=tmp_path, clock=lambda: 10.0 * next(ticks), progress=interrupt_after(2))
    # Start, epoch 1, epoch 2: 20 seconds are in the checkpoint.
    times = iter((1000.0, 1003.0, 1006.0, 1007.0))
    assert train(Parity(), DESIGN, seed=3, folder=tmp_path, clock=lambda: next(times)).seconds == 27.0


def test_a_training_says_on_which_machines_its_time_was_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "machine_name", lambda device: f"there, {device}")
    with pytest.raises(StopsError):
        train(Parity(), DESIGN, seed=3, folder=tmp_path, progress=interrupt_after(2))
    monkeypatch.setattr(training, "machine_name", lambda device: f"here, {device}")
    assert train(Parity(), DESIGN, seed=3, folder=tmp_path).machines == ("there, cpu", "here, cpu")
    assert train(Parity(), DESIGN, seed=3).machines == ("here, cpu",)


def test_the_network_is_in_training_mode_in_every_epoch() -> None:
    modes: list[bool] = []

    @dataclass(frozen=True)
    class Watched(Parity):
        def loss(self, model: Any, batch: Any) -> Any:
            modes.append(model.training)
            return super().loss(model, batch)

    def leaves_it_in_evaluation_mode(done: int, total: int, loss: float) -> None:
        model.eval()

    task = Watched()
    model = task.build(DESIGN)
    object.__setattr__(task, "build", lambda design: model.eval())
    train(task, DESIGN, seed=3, progress=leaves_it_in_evaluation_mode)
    assert modes == [True] * (EPOCHS * N_EXAMPLES // BATCH)


def test_progress_is_told_each_epoch() -> None:
    told: list[tuple[int, int, float]] = []
    trained = train(Parity(), DESIGN, seed=3, progress=lambda *what: told.append(what))
    assert told == [(epoch, EPOCHS, trained.losses[epoch - 1]) for epoch in range(1, EPOCHS + 1)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: b"",
        lambda content: b"no checkpoint at all, but as long as one would be" * 10,
        lambda content: hashlib.sha256(b"").digest(),
        lambda content: hashlib.sha256(packed({"losses": []})).digest() + packed({"losses": []}),
    ],
)
def test_a_damaged_checkpoint_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[bytes], bytes]
) -> None:
    whole = train(Parity(), DESIGN, seed=3, folder=tmp_path)
    path = tmp_path / CHECKPOINT
    path.write_bytes(damage(path.read_bytes()))
    task = Parity()
    assert_same(weights(whole), weights(train(task, DESIGN, seed=3, folder=tmp_path)))
    assert len(task.losses_seen) == EPOCHS * N_EXAMPLES // BATCH
    assert f"{CHECKPOINT} is damaged" in caplog.text


def test_a_checkpoint_that_would_run_code_is_not_used(tmp_path: Path) -> None:
    import pickle

    class Evil:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "ran",))

    buffer = io.BytesIO()
    torch.save({"identity": Evil()}, buffer, pickle_module=pickle)
    content = buffer.getvalue()
    (tmp_path / CHECKPOINT).write_bytes(hashlib.sha256(content).digest() + content)
    train(Parity(), DESIGN, seed=3, folder=tmp_path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("other", ["seed", "design", "data"])
def test_the_checkpoint_of_another_training_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, other: str
) -> None:
    train(Parity(), DESIGN, seed=3, folder=tmp_path)
    task = Parity(fingerprint="other" if other == "data" else "parity")
    design = DESIGN | ({"filters_1": 64} if other == "design" else {})
    train(task, design, seed=4 if other == "seed" else 3, folder=tmp_path)
    assert len(task.losses_seen) == EPOCHS * N_EXAMPLES // BATCH
    assert "another training" in caplog.text


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_fails_with_epoch_and_step(tmp_path: Path, value: float) -> None:
    task = Parity(spoil=lambda step, loss: loss * value if step == 5 else loss)
    with pytest.raises(TrainingFailedError, match=rf"lenet .*loss is {value} .*step 2 .*epoch 2\."):
        train(task, DESIGN, seed=3, folder=tmp_path)


def test_the_checkpoint_of_a_failed_epoch_is_not_written(tmp_path: Path) -> None:
    task = Parity(spoil=lambda step, loss: loss * math.nan if step == 1 else loss)
    with pytest.raises(TrainingFailedError):
        train(task, DESIGN, seed=3, folder=tmp_path)
    assert not (tmp_path / CHECKPOINT).exists()


def test_a_gradient_that_is_not_finite_fails_though_the_loss_is() -> None:
    # The square root of nothing: its value is fine, its slope is not.
    task = Parity(spoil=lambda step, loss: loss + torch.sqrt(loss - loss) if step == 12 else loss)
    with pytest.raises(TrainingFailedError, match=r"lenet .*gradient is nan .*step 3 .*epoch 4"):
        train(task, DESIGN, seed=3)


def test_an_error_that_is_not_finite_is_not_reported() -> None:
    with pytest.raises(TrainingFailedError, match=r"error .*lenet is nan"):
        train(Parity(error=math.nan), DESIGN, seed=3)


def raised(error: Exception) -> Callable[[int, Any], Any]:
    def spoil(step: int, loss: Any) -> Any:
        if step == 2:
            raise error
        return loss

    return spoil


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB."),
        RuntimeError("[enforce fail at alloc_cpu.cpp:1] . DefaultCPUAllocator: can't allocate memory: you tried"),
        MemoryError(),
    ],
)
def test_out_of_memory_is_our_error_and_nothing_is_kept_in_memory(error: Exception) -> None:
    built: list[Any] = []

    @dataclass(frozen=True)
    class Watched(Parity):
        def build(self, design: Any) -> Any:
            model = super().build(design)
            built.append(weakref.ref(model))
            return model

    gc.disable()
    try:
        with pytest.raises(OutOfMemoryError, match=r"memory .*train lenet with ") as raising:
            train(Watched(spoil=raised(error)), DESIGN, seed=3)
    finally:
        gc.enable()
    assert isinstance(raising.value, FlexiBOError)
    assert raising.value.__context__ is None
    error.__traceback__ = None  # the test itself holds the error that it made
    assert built[0]() is None


def test_other_errors_are_passed_on() -> None:
    with pytest.raises(RuntimeError, match="other shapes"):
        train(Parity(spoil=raised(RuntimeError("other shapes"))), DESIGN, seed=3)


def full_disk(path: Path, content: bytes) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_keeps_the_old_checkpoint_and_the_training_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(StopsError):
        train(Parity(), DESIGN, seed=3, folder=tmp_path, progress=interrupt_after(2))
    before = (tmp_path / CHECKPOINT).read_bytes()
    with caplog.at_level(logging.WARNING):
        trained = train(Parity(), DESIGN, seed=3, folder=tmp_path, write=full_disk)
    assert re.search(f"{tmp_path} .*epoch 3: {os.strerror(errno.ENOSPC)}", caplog.text)
    assert (tmp_path / CHECKPOINT).read_bytes() == before
    assert_same(weights(trained), weights(train(Parity(), DESIGN, seed=3)))


class _FullFile(io.FileIO):
    def write(self, content: Any) -> int:
        super().write(bytes(content)[:3])
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_write_that_fails_half_way_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new content", open_file=_FullFile)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_packing_and_unpacking_is_the_identity() -> None:
    state = {"a": torch.arange(3), "b": [1.5, 2], "c": {"d": None}}
    again = unpacked(packed(state))
    assert torch.equal(again.pop("a"), torch.arange(3))
    assert again == {"b": [1.5, 2], "c": {"d": None}}


def test_only_the_networks_options_identify_a_training() -> None:
    task = Parity()
    design = DESIGN | {"threads": 4, "precision": "bf16"}
    assert network_options(task, design) == DESIGN
    assert identity(task, design, 1) == identity(task, DESIGN, 1)
    assert identity(task, DESIGN | {"filters_1": np.int64(3)}, 1) == identity(task, DESIGN | {"filters_1": 3.0}, 1)


def test_a_design_without_an_option_is_refused() -> None:
    design = {name: value for name, value in DESIGN.items() if name != "filter_size_2"}
    with pytest.raises(InvalidValueError, match=r"no value for filter_size_2; lenet .*filters_1"):
        train(Parity(), design, seed=0, folder=Path("unused"))


def test_a_backward_pass_on_a_processor_ends_at_ctrl_c_after_the_layer_that_it_is_in() -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(4)))
    let_signals_in(model)
    model[2].bias.register_post_accumulate_grad_hook(lambda _: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        model(torch.ones(1, 2)).sum().backward()
    assert model[3].weight.grad is not None
    assert model[0].weight.grad is None
