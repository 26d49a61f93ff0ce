from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.hardware.fake_linux import linux

from flexibo import Study
from flexibo.errors import DesignError, InvalidValueError, MissingExtraError, UnknownNameError
from flexibo.hardware import EstimatedMeter, MeterError
from flexibo.hardware.knobs import Journal, JournalError, LinuxMachine, Roots, Write, linux_knobs, settings
from flexibo.systems import build
from flexibo.systems.build import SystemRequest, build_runner, task_of
from flexibo.systems.catalogue import SYSTEMS, find_system
from flexibo.systems.data.base import Dataset, Images, MissingDataError
from flexibo.systems.dnn import dnn_system
from flexibo.systems.network_runner import NetworkRunner
from flexibo.systems.options import NETWORKS
from flexibo.systems.platforms import LinuxCpu, Serving

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def images(count: int = 40) -> Dataset[Images]:
    rng = np.random.default_rng(0)
    labels = np.arange(count) % 2
    pixels = (rng.integers(0, 60, (count, 1, 12, 12)) + 150 * labels[:, None, None, None]).astype(np.uint8)
    part = Images(pixels, labels.astype(np.int64), ("dark", "light"))
    return Dataset("shades", part, part, "f00d", note="Made up.")


class FakeMeter:
    """One joule per second of a clock that moves a millisecond at each look."""

    name = "a fake"
    update_seconds = 0.001
    is_estimate = False

    def __init__(self) -> None:
        self.joules = 0.0

    def read_joules(self) -> float:
        self.joules += 0.001
        return self.joules


@dataclass(frozen=True)
class FakeTask:
    """A network whose size is the sum of its design's filters."""

    data: Any = field(default_factory=images)
    network: str = "lenet"
    fingerprint: str = "abc"
    built: list[dict[str, Any]] = field(default_factory=list)

    def build(self, design: Mapping[str, Any]) -> Any:
        self.built.append(dict(design))
        return torch.nn.Identity()

    def inputs(self, design: Mapping[str, Any], count: int, device: str) -> tuple[Any, ...]:
        return (torch.zeros(count, 1, 4, 4),)


@dataclass(frozen=True)
class Outcome:
    error_percent: float
    seconds: float
    cost_seconds: float = 0.5
    machines: tuple[str, ...] = ("there, a GPU", "here\n, cpu")


class FakeStore:
    """Has all models or none."""

    def __init__(self, *, is_empty: bool = False) -> None:
        self.asked: list[dict[str, Any]] = []
        self.is_empty = is_empty

    def trained(self, task: Any, design: Mapping[str, Any], *, seed: int, device: str, train: Any) -> Any:
        self.asked.append(dict(design))
        return train(task, design, seed=seed, device=device) if self.is_empty else Outcome(7.5, 3.25)


class FakePlatform(LinuxCpu):
    """A processor whose memory ends at a batch of 64."""

    @contextmanager
    def serving(self, model: Any, inputs: Any, design: Mapping[str, Any]) -> Iterator[Serving]:
        if design["batch"] > 64:
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 10 bytes.\nTrace")
        yield Serving(lambda: None, lambda: None, int(design["batch"]))


@dataclass(frozen=True)
class FakeKnob:
    name: str = "swappiness"

    def values(self) -> tuple[int, ...]:
        return (10, 60)

    def read(self) -> int:
        return 60

    def writes(self, value: Any) -> tuple[Write, ...]:
        return ()


def runner_of(tmp_path: Path, system: str = "lenet", **changed: Any) -> NetworkRunner:
    parts: dict[str, Any] = {
        "system": find_system(system),
        "task": FakeTask(),
        "platform": FakePlatform(cores=2),
        "store": FakeStore(),
        "meter": FakeMeter(),
        "journal": Journal(tmp_path / "knobs.json"),
    }
    return NetworkRunner(**{**parts, **changed})


def lenet(**changed: Any) -> dict[str, Any]:
    design = {name: values[0] for name, values in NETWORKS["lenet"].items()}
    return {**design, "threads": 1, "precision": "fp32", "batch": 4, "layout": "contiguous", **changed}


def test_the_catalogue_has_the_papers_eight_systems() -> None:
    assert len(SYSTEMS) == 8
    assert [len(entry.options) for entry in SYSTEMS.values()] == [5, 6, 8, 5, 5, 5, 5, 5]
    with pytest.raises(UnknownNameError, match="did you mean 'lenet'"):
        find_system("lennet")


def test_a_design_has_options_of_network_platform_and_machine(tmp_path: Path) -> None:
    system = dnn_system(runner_of(tmp_path, knobs=(FakeKnob(),)))
    assert system.space.names == (*NETWORKS["lenet"], "threads", "precision", "batch", "layout", "swappiness")


def test_each_objective_names_its_own_options(tmp_path: Path) -> None:
    error, energy = dnn_system(runner_of(tmp_path)).objectives
    assert tuple(error.depends_on) == tuple(NETWORKS["lenet"])
    assert set(energy.depends_on) == {*NETWORKS["lenet"], "threads", "precision", "batch", "layout"}


@pytest.mark.parametrize(
    ("system", "silent"),
    [
        ("bert-imdb", {"dropout", "learning_rate", "weight_decay"}),
        ("bert-squad", {"dropout", "learning_rate", "weight_decay"}),
        ("deepspeech", {"epochs", "dropout", "learning_rate"}),
    ],
)
def test_what_changes_the_training_alone_does_not_change_energy(tmp_path: Path, system: str, silent: set[str]) -> None:
    found = dnn_system(runner_of(tmp_path, system))
    error, energy = found.objectives
    assert set(found.space.names) - set(energy.depends_on) == silent
    assert silent <= set(error.depends_on)


def test_the_error_comes_from_the_store_and_depends_on_the_network_alone(tmp_path: Path) -> None:
    runner = runner_of(tmp_path)
    found = dnn_system(runner).functions["error_percent"](lenet(batch=16))
    assert found == (7.5, 0.5)  # what the request cost here, and not the 3.25 s that the training took
    assert runner.store.asked == [{name: lenet()[name] for name in NETWORKS["lenet"]}]


def test_a_reading_gives_millijoules_and_what_lies_beside_them(tmp_path: Path) -> None:
    system = dnn_system(runner_of(tmp_path), beside=["latency_ms", "power_watts"])
    found = system.functions["energy_millijoules"](lenet())
    assert isinstance(found, Mapping)
    assert list(found) == ["energy_millijoules", "latency_ms", "power_watts"]
    assert all(value > 0 for value in found.values())
    assert [objective.measured_with for objective in system.objectives[2:]] == ["energy_millijoules"] * 2


def test_an_objective_that_no_reading_gives_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'latency_ms'"):
        dnn_system(runner_of(tmp_path), beside=["latency"])


def test_an_estimate_is_called_one(tmp_path: Path) -> None:
    system = dnn_system(runner_of(tmp_path, meter=EstimatedMeter(15)))
    assert [objective.name for objective in system.objectives] == ["error_percent", "estimated_energy_millijoules"]
    assert "estimate: 15 W x time" in system.notes[2]


def test_a_report_says_what_the_data_is(tmp_path: Path) -> None:
    notes = dnn_system(runner_of(tmp_path)).notes
    assert "40 held-out examples of shades" in notes[0]
    assert notes[1] == "Made up."
    assert "read from a fake" in notes[2]


def test_a_report_says_what_is_not_offered_and_what_is_not_measured(tmp_path: Path) -> None:
    machine = LinuxMachine(Roots(sys=tmp_path, proc=tmp_path))
    notes = dnn_system(runner_of(tmp_path, platform=FakePlatform(2, machine), longest_seconds=60.0)).notes
    assert "no instructions for bf16" in notes[3]
    assert notes[4].startswith(
        "An evaluation may take about 60 s here: designs that would take longer are not measured"
    )
    (tmp_path / "cpuinfo").write_text("flags : avx512_bf16\n")
    assert len(dnn_system(runner_of(tmp_path, platform=FakePlatform(2, machine))).notes) == 3


def test_a_network_that_would_take_too_long_to_train_is_not_begun(tmp_path: Path) -> None:
    task = task_of(find_system("lenet"), images(), epochs=1)
    parts: dict[str, Any] = {"task": task, "longest_seconds": 1e-6}
    for store in (None, FakeStore(is_empty=True)):
        runner = runner_of(tmp_path, store=store, **parts)
        with pytest.raises(DesignError, match=r"^Training this lenet would take about .* s on this processor, and an"):
            runner.error_percent(lenet())
        assert float(runner.error(lenet())["error_percent"]) >= 0  # a recording measures what it is asked to
    # What is in the store need not be trained.
    assert runner_of(tmp_path, **parts).error_percent(lenet()) == (7.5, 0.5)
    assert runner_of(tmp_path, task=task, store=None, longest_seconds=3600.0).error_percent(lenet())[0] >= 0


def test_a_batch_that_would_take_too_long_is_not_begun_and_a_reading_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    task = task_of(find_system("lenet"), images(), epochs=1)
    with pytest.raises(DesignError, match=r"^A batch of 16 of this lenet would take about .*smaller batch\.$"):
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
    with pytest.raises(MemoryError, match=r"The memory does not suffice to run lenet .*'batch': 256"):
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


def test_values_that_were_made_otherwise_are_another_study(tmp_path: Path) -> None:
    runners = [
        runner_of(tmp_path),
        runner_of(tmp_path, seed=1),
        runner_of(tmp_path, task=FakeTask(fingerprint="def")),
        runner_of(tmp_path, meter=EstimatedMeter(15)),
        runner_of(tmp_path, meter=EstimatedMeter(16)),
    ]
    assert len({dnn_system(runner).identity for runner in runners}) == 5
    assert dnn_system(runner_of(tmp_path)).identity == dnn_system(runners[0]).identity


def test_an_error_that_is_not_about_memory_is_not_hidden() -> None:
    from flexibo.systems.device_errors import within_memory

    def broken() -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1"):
        within_memory(broken, "to do it")


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
    assert set(reading) == {"energy_joules", "latency_ms", "power_watts", "reading_seconds"}
    assert all(type(value) is float and value > 0 for value in reading.values())


def test_a_bench_without_a_store_trains_each_time(tmp_path: Path) -> None:
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


def test_epochs_are_given_where_they_are_no_option() -> None:
    assert task_of(find_system("lenet"), images(), epochs=2).settings.epochs == 2
    with pytest.raises(InvalidValueError, match="an option of deepspeech"):
        task_of(find_system("deepspeech"), _speech(), epochs=2)


def _speech() -> Any:
    from flexibo.systems.data.base import Recordings

    waves = tuple(np.zeros(800, dtype=np.float32) for _ in range(4))
    part = Recordings(waves, 8000, ("one", "two", "one", "two"))
    return Dataset("words", part, part, "beef")


class TestAssembling:
    """Whatever is missing is a sentence, before anything is measured."""

    def test_an_unknown_system(self, tmp_path: Path) -> None:
        with pytest.raises(UnknownNameError, match="Unknown system 'alexnet'"):
            build_runner(SystemRequest("alexnet", tmp_path))

    def test_torch_is_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(build, "find_spec", lambda name: None)
        with pytest.raises(MissingExtraError, match=r"flexibo\[dnn\]"):
            build_runner(SystemRequest("lenet", tmp_path))

    def test_a_gpu_is_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(InvalidValueError, match="torch sees none here"):
            build_runner(SystemRequest("lenet", tmp_path, platform="nvidia-gpu"))

    def test_a_meter_is_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def nothing(self: object) -> None:
            raise MeterError("There is no meter.")

        monkeypatch.setattr(LinuxCpu, "meter", nothing)
        with pytest.raises(MeterError, match=r"There is no meter\."):
            build_runner(SystemRequest("lenet", tmp_path, platform="linux-cpu"))

    def test_data_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(MissingDataError, match="fashion-mnist"):
            build_runner(SystemRequest("lenet", tmp_path, platform="linux-cpu", estimate_watts=10))

    def test_data_of_another_system(self, tmp_path: Path) -> None:
        with pytest.raises(UnknownNameError, match="dataset of lenet"):
            build_runner(SystemRequest("lenet", tmp_path, platform="linux-cpu", estimate_watts=10, dataset="squad"))

    def test_a_knob_that_is_unknown_or_cannot_be_set(self, tmp_path: Path) -> None:
        platform = LinuxCpu(machine=LinuxMachine(Roots(sys=tmp_path, proc=tmp_path)))
        with pytest.raises(UnknownNameError, match="did you mean 'swappiness'"):
            build._knobs(platform, ["swapiness"])
        with pytest.raises(InvalidValueError, match="'swappiness' cannot be set"):
            build._knobs(platform, ["swappiness"])
        assert build._knobs(platform, ["all"]) == ()

    @pytest.mark.parametrize("longest", [0.0, -1.0, float("nan")])
    def test_a_limit_that_is_no_time(self, tmp_path: Path, longest: float) -> None:
        with pytest.raises(InvalidValueError, match=r"The longest evaluation is .* s; it must be a positive number"):
            build._limit(longest)

    def test_a_limit_is_the_platforms_own_unless_one_is_named(self) -> None:
        assert [build._limit(longest) for longest in (None, 60.0, float("inf"))] == [None, 60.0, None]


def test_a_run_with_knobs_is_refused_at_once_where_another_session_holds_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = linux(tmp_path)
    machine = LinuxMachine(roots)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(build, "find_platform", lambda name: LinuxCpu(cores=2, machine=machine))
    monkeypatch.setattr(build, "_dataset", lambda system, request: images())
    request = SystemRequest("lenet", tmp_path, estimate_watts=10, models=tmp_path, knobs=("swappiness",))
    assert [knob.name for knob in build_runner(request).knobs] == ["swappiness"]
    other = Journal(tmp_path / "other.json", roots)
    with (
        settings(linux_knobs(machine), {"swappiness": 10}, machine=machine, journal=other),
        pytest.raises(JournalError, match="has a session already"),
    ):
        build_runner(request)
    assert build_runner(request).longest_seconds == 60.0
    assert build_runner(replace(request, longest_seconds=float("inf"))).longest_seconds is None


@pytest.mark.torch
def test_a_gpu_that_failed_fails_one_evaluation_and_then_stops_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from flexibo.errors import MachineError
    from flexibo.systems import device_errors

    def broken() -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nSearch for it elsewhere.")

    monkeypatch.setattr(device_errors, "_failures", [])
    assert device_errors.within_memory(lambda: 1, "to do it") == 1
    with pytest.raises(
        device_errors.BrokenGpuError, match=r"to do it \(CUDA error: an illegal memory access was encountered\)\.$"
    ):
        device_errors.within_memory(broken, "to do it")
    with pytest.raises(MachineError, match="run the same command again"):
        device_errors.within_memory(lambda: 1, "to do it")
