"""A network on a platform: trained, measured, and limited in time."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.unit.hardware.fake_sensors import make_chip

from flexibo import Objective, Study
from flexibo.errors import DesignError, MachineError
from flexibo.executors.measure import measured
from flexibo.hardware import cool_down
from flexibo.hardware.knobs import LinuxMachine, Roots
from flexibo.systems import _expected_time
from flexibo.systems.build import task_of
from flexibo.systems.catalogue import find_system
from flexibo.systems.dnn import dnn_system
from flexibo.systems.options import NETWORKS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.executors.questions import question  # noqa: E402
from tests.unit.systems.fake_runner import FakePlatform, FakeStore, FakeTask, images, lenet, runner_of, short_readings  # noqa: E402

from flexibo.systems.tasks.base import TrainingFailedError  # noqa: E402


@pytest.fixture(autouse=True)
def _short_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    short_readings(monkeypatch)


def test_a_network_that_would_take_too_long_to_train_is_not_begun(tmp_path: Path) -> None:
    task = task_of(find_system("lenet"), images(), epochs=1)
    parts: dict[str, Any] = {"task": task, "longest_seconds": 1e-6}
    for store in (None, FakeStore(is_empty=True)):
        runner = runner_of(tmp_path, store=store, **parts)
        with pytest.raises(DesignError, match=r"^Training .*lenet .* s .*\b1e-06 s;.*longest"):
            runner.error_percent(lenet())
        assert float(runner.error(lenet())["error_percent"]) >= 0  # a recording measures what it is asked to
    # What is in the store need not be trained.
    assert runner_of(tmp_path, **parts).error_percent(lenet()) == (7.5, 0.5)
    assert runner_of(tmp_path, task=task, store=None, longest_seconds=3600.0).error_percent(lenet())[0] >= 0


def test_a_reading_waits_until_the_machine_is_cool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_chip(tmp_path, 0, "coretemp", temp1_input=70_000)
    waited: list[float] = []

    def cooling(seconds: float) -> None:
        waited.append(seconds)
        make_chip(tmp_path, 0, "coretemp", temp1_input=55_000)

    monkeypatch.setattr("flexibo.systems.network_runner.cool_down", partial(cool_down, sleep=cooling))
    monkeypatch.setattr("flexibo.systems.network_runner.measure", lambda *work, **rest: list(waited))
    platform = FakePlatform(cores=2, machine=LinuxMachine(Roots(sys=tmp_path)))
    design, parts = lenet(), {"task": task_of(find_system("lenet"), images(), epochs=1), "platform": platform}
    assert runner_of(tmp_path, **parts).inference(design) == [], "it does not wait unless it is told to"
    assert len(runner_of(tmp_path, **parts, cool_celsius=60.0).inference(design)) == 1, "it waits before it measures"


def test_a_batch_that_would_take_too_long_is_not_begun_and_a_reading_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    task = task_of(find_system("lenet"), images(), epochs=1)
    with pytest.raises(DesignError, match=r"^A batch of 16 .*lenet .*\b1e-09 s;"):
        runner_of(tmp_path, task=task, longest_seconds=1e-9).inference(lenet(batch=16))
    limits: list[float | None] = []
    monkeypatch.setattr(
        "flexibo.systems.network_runner.measure", lambda *work, limit_seconds, **rest: limits.append(limit_seconds)
    )
    runner_of(tmp_path, task=task, longest_seconds=60.0).inference(lenet())
    runner_of(tmp_path, task=task).inference(lenet())
    assert limits == [60.0, None]


def test_a_design_that_needs_too_much_memory_fails_and_the_study_goes_on(tmp_path: Path) -> None:
    system = dnn_system(runner_of(tmp_path))
    with pytest.raises(MemoryError, match=r"memory .*run lenet .*'batch': 256"):
        system.functions["energy_millijoules"](lenet(batch=256))
    large, small = lenet(batch=256), lenet(batch=16)
    study = Study(system.space, system.objectives, initial_designs=[large, small], n_initial=2, seed=0)
    for _ in range(4):
        evaluation = study.ask()
        assert evaluation is not None
        try:
            found = system.functions[evaluation.objective](evaluation.design)
            value, cost = found if isinstance(found, tuple) else (found, 1.0)
            study.tell(evaluation, value, cost=cost)
        except MemoryError as error:
            study.fail(evaluation, str(error), cost=1.0)
    assert study.history.count(1) == 1


def test_a_recording_gets_plain_numbers(tmp_path: Path) -> None:
    runner = runner_of(tmp_path)
    network = {name: lenet()[name] for name in NETWORKS["lenet"]}
    deployment = {name: value for name, value in lenet().items() if name not in network}
    assert runner.error(network) == {
        "error_percent": 7.5,
        "training_seconds": 3.25,
        "trained_on": "there, a GPU and here\\n, cpu",
    }
    reading = runner.reading(network, deployment)
    measured = {"energy_joules", "latency_ms", "power_watts", "reading_seconds", "windows"}
    assert set(reading) == {*measured, "energy_spread", "latency_spread"}
    assert all(type(reading[name]) is float and reading[name] > 0 for name in measured)


def test_without_a_store_each_request_trains(tmp_path: Path) -> None:
    task = task_of(find_system("lenet"), images(), epochs=2)
    runner = runner_of(tmp_path, task=task, store=None)
    first, second = runner.error(lenet()), runner.error(lenet())
    assert first["error_percent"] == second["error_percent"]
    assert all(float(one["training_seconds"]) > 0 and one["trained_on"] for one in (first, second))
    error, cost = runner.error_percent(lenet())
    assert error == first["error_percent"] <= 50.0
    assert cost > 0


def test_a_warm_up_leaves_no_trace(tmp_path: Path) -> None:
    task = task_of(find_system("lenet"), images(), epochs=1)
    runner = runner_of(tmp_path, task=task, store=None)
    before = torch.random.get_rng_state()
    expected = runner.error(lenet())["error_percent"]
    runner.warm_up(lenet())
    assert torch.equal(torch.random.get_rng_state(), before)
    assert runner.error(lenet())["error_percent"] == expected


@dataclass(eq=False)
class SlowToStart:
    """A task whose first batch and first loading on a device take 8 s, and every batch 1 s, of a clock of its own."""

    inner: Any
    seconds: float = 0.0
    loaded: set[str] = field(default_factory=set)
    has_begun: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def load(self, device: str) -> None:
        self.seconds += 0.0 if device in self.loaded else 8.0
        self.loaded.add(device)

    def batches(self, design: Any, generator: Any, device: str) -> Iterator[Any]:
        self.load(device)
        for batch in self.inner.batches(design, generator, device):
            self.seconds += 1.0 if self.has_begun else 9.0
            self.has_begun = True
            yield batch


def test_the_first_training_is_not_charged_for_the_start(tmp_path: Path) -> None:
    from flexibo.systems.model_store import ModelStore

    task = SlowToStart(task_of(find_system("lenet"), images(), epochs=2))
    store = ModelStore(tmp_path / "models", clock=lambda: task.seconds)
    runner = runner_of(tmp_path, task=task, store=store, longest_seconds=3600.0)
    costs = [runner.error_percent(lenet(filters_1=filters))[1] for filters in (16, 32)]
    assert costs[0] == costs[1] == 2 * 1.0  # two epochs of one batch
    begun = task.seconds
    assert runner.error_percent(lenet(filters_1=16))[1] == 0.0
    assert task.seconds == begun
    # What is stored already needs no start: neither data nor kernels.
    other = SlowToStart(task.inner)
    again = runner_of(tmp_path, task=other, store=ModelStore(store.folder, clock=lambda: other.seconds))
    assert again.error_percent(lenet(filters_1=16))[1] == 0.0
    assert other.seconds == 0.0
    # A test in the precision of the deployment needs the data, and is not charged for loading it.
    again = runner_of(tmp_path, task=other, store=store, clock=lambda: other.seconds)
    assert again.deployed_error_percent(lenet(filters_1=16))[1] == 0.0
    assert other.seconds > 0.0


@pytest.mark.parametrize("objective", ["error_percent", "energy_millijoules"])
def test_a_refusal_is_charged_for_the_decision_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, objective: str
) -> None:
    task = SlowToStart(task_of(find_system("lenet"), images(), epochs=1))
    count = _expected_time.work_of

    def work_of(*what: Any) -> float | None:
        task.seconds += 0.5  # what the decision takes
        return count(*what)

    def known_speed(device: str) -> _expected_time.DeviceSpeed:
        task.seconds += 0.0 if "timed" in task.loaded else 16.0
        task.loaded.add("timed")
        return _expected_time.DeviceSpeed(1.0, 1.0)

    monkeypatch.setattr(_expected_time, "work_of", work_of)
    monkeypatch.setattr(_expected_time, "known_speed", known_speed)
    runner = runner_of(tmp_path, task=task, store=None, longest_seconds=1e-6, clock=lambda: task.seconds)
    measure, costs = dnn_system(runner).functions[objective], []
    for design in (lenet(), lenet(filters_1=32)):
        asked = replace(question(), design=design, objective=objective, yields=(objective,))
        outcome = measured(asked, Objective(objective), measure, clock=lambda: task.seconds)
        assert "may take 1e-06 s" in outcome.reason
        costs.append(outcome.cost)
    assert costs == [0.5, 0.5]
    assert task.seconds >= 16.0  # the device was timed, at nobody's cost


FRESH = """
import sys, time
from pathlib import Path
from flexibo.systems.build import task_of
from flexibo.systems.catalogue import find_system
from flexibo.systems.model_store import ModelStore
from tests.unit.systems.fake_runner import images, lenet, runner_of

folder = Path(sys.argv[1])
task = task_of(find_system("lenet"), images(400), epochs=2)
store = ModelStore(folder / "models", clock=time.process_time)
runner = runner_of(folder, task=task, store=store, longest_seconds=3600.0)
print(*(runner.error_percent(lenet(filters_1=32, filters_2=32, filters_3=n))[1] for n in (16, 32)))
"""


@pytest.mark.slow
def test_the_first_training_of_a_process_takes_as_much_processor_time_as_the_second(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FRESH, str(tmp_path)], capture_output=True, text=True, check=True)
    first, second = map(float, done.stdout.split())
    assert 0 < first < 2 * second


class TestPrecision:
    """The error is that of the trained network in the precision of the design, and precision needs no training."""

    def test_a_stored_network_is_tested_in_each_precision(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from flexibo.systems import training
        from flexibo.systems.model_store import ModelStore

        trained: list[Any] = []
        train = training.train
        monkeypatch.setattr(training, "train", lambda *task, **how: trained.append(task) or train(*task, **how))
        task, ticks = task_of(find_system("lenet"), images(), epochs=2), itertools.count()
        store = ModelStore(tmp_path / "models", clock=lambda: 1000.0 * len(trained))
        runner = runner_of(tmp_path, task=task, store=store, clock=lambda: float(next(ticks)))
        designs = [lenet(precision=precision) for precision in ("fp32", "bf16", "fp32", "tf32")]
        found = [runner.deployed_error_percent(design) for design in designs]
        assert len(trained) == 1
        assert [cost for _, cost in found] == [1001.0, 1.0, 1.0, 1.0]  # a training and a test, then tests
        assert found[0][0] == found[2][0] == found[3][0] == runner.error_percent(lenet())[0]

    def test_a_precision_that_costs_accuracy_is_no_free_lunch(self, tmp_path: Path) -> None:
        runner = runner_of(tmp_path)
        errors = [runner.deployed_error_percent(lenet(precision=one))[0] for one in ("fp32", "bf16", "fp16")]
        assert errors == [7.5, 23.5, 23.5]
        assert runner.error_percent(lenet(precision="bf16"))[0] == 7.5  # as trained

    def test_without_a_store_each_precision_is_a_training(self, tmp_path: Path) -> None:
        task, ticks = task_of(find_system("lenet"), images(), epochs=1), itertools.count()
        runner = runner_of(tmp_path, task=task, store=None, clock=lambda: float(next(ticks)))
        assert runner.deployed_error_percent(lenet(precision="bf16"))[1] > 1.0

    @pytest.mark.parametrize(
        ("raised", "expected"), [(TrainingFailedError("nan"), DesignError), (NotImplementedError("Half"), MachineError)]
    )
    def test_what_cannot_be_tested_says_in_which_precision(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception, expected: type[Exception]
    ) -> None:
        def fail(*args: Any) -> float:
            raise raised

        monkeypatch.setattr(FakeTask, "error_percent", fail)
        with pytest.raises(expected, match=r"lenet .*\bfp16\b"):
            runner_of(tmp_path).deployed_error_percent(lenet(precision="fp16"))
