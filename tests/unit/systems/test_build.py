"""What is requested is built, or what is missing is named before anything is measured."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.unit.hardware.fake_linux import linux
from tests.unit.systems.data.review_files import write_archive
from tests.unit.systems.data.test_speech import write_digits

from flexibo.errors import InvalidValueError, MissingExtraError, UnknownNameError
from flexibo.hardware import MeterError
from flexibo.hardware.knobs import Journal, JournalError, LinuxMachine, Roots, linux_knobs, settings
from flexibo.systems import build
from flexibo.systems.build import SystemRequest, build_runner, shape_of, task_of
from flexibo.systems.catalogue import find_system
from flexibo.systems.data.base import Dataset, MissingDataError
from flexibo.systems.platforms import LinuxCpu

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.fake_runner import images  # noqa: E402


def test_epochs_are_given_where_they_are_no_option() -> None:
    assert task_of(find_system("lenet"), images(), epochs=2).settings.epochs == 2
    with pytest.raises(InvalidValueError, match=r"epochs .*option of deepspeech"):
        task_of(find_system("deepspeech"), _speech(), epochs=2)


def _speech() -> Any:
    from flexibo.systems.data.base import Recordings

    waves = tuple(np.zeros(800, dtype=np.float32) for _ in range(4))
    part = Recordings(waves, 8000, ("one", "two", "one", "two"))
    return Dataset("words", part, part, "beef")


class TestBuilding:
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
        with pytest.raises(InvalidValueError, match=r"'nvidia-gpu' .*torch.*--platform linux-cpu"):
            build_runner(SystemRequest("lenet", tmp_path, platform="nvidia-gpu"))

    def test_a_meter_is_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def nothing(self: object) -> None:
            raise MeterError("No meter.")

        monkeypatch.setattr(LinuxCpu, "meter", nothing)
        with pytest.raises(MeterError, match=r"^No meter\.$"):
            build_runner(SystemRequest("lenet", tmp_path, platform="linux-cpu"))

    def test_a_temperature_to_wait_for_that_cannot_be_or_cannot_be_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        request = SystemRequest("lenet", tmp_path, platform="linux-cpu", estimate_watts=10, cool_celsius=999)
        with pytest.raises(InvalidValueError, match=r"999 .*-50 to 150"):
            build_runner(request)
        monkeypatch.setattr("flexibo.hardware.Thermals.hottest", lambda self: None)
        with pytest.raises(MeterError, match="No temperature"):
            build_runner(replace(request, cool_celsius=60))

    def test_data_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(MissingDataError, match="fashion-mnist"):
            build_runner(SystemRequest("lenet", tmp_path, platform="linux-cpu", estimate_watts=10))

    def test_data_of_another_system(self, tmp_path: Path) -> None:
        with pytest.raises(UnknownNameError, match="dataset of lenet"):
            build_runner(SystemRequest("lenet", tmp_path, platform="linux-cpu", estimate_watts=10, dataset="squad"))

    def test_a_knob_that_is_unknown_or_cannot_be_set(self, tmp_path: Path) -> None:
        platform = LinuxCpu(machine=LinuxMachine(Roots(sys=tmp_path, proc=tmp_path)))
        with pytest.raises(UnknownNameError, match=r"'swapiness'.*'swappiness'"):
            build._knobs(platform, ["swapiness"])
        with pytest.raises(InvalidValueError, match=f"'swappiness' .*{tmp_path}/sys/vm/swappiness"):
            build._knobs(platform, ["swappiness"])
        assert build._knobs(platform, ["all"]) == ()

    @pytest.mark.parametrize("longest", [0.0, -1.0, float("nan")])
    def test_a_limit_that_is_no_time(self, tmp_path: Path, longest: float) -> None:
        with pytest.raises(InvalidValueError, match=rf"{longest!r} s;.*positive"):
            build._limit(longest)

    def test_a_limit_is_the_platforms_own_unless_one_is_named(self) -> None:
        assert [build._limit(longest) for longest in (None, 60.0, float("inf"))] == [None, 60.0, None]


def test_a_run_with_knobs_is_refused_at_once_where_another_session_holds_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = linux(tmp_path)
    machine = LinuxMachine(roots)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(build, "find_platform", lambda name, **_: LinuxCpu(cores=2, machine=machine))
    monkeypatch.setattr(build, "_dataset", lambda system, request: images())
    request = SystemRequest("lenet", tmp_path, estimate_watts=10, models=tmp_path, knobs=("swappiness",))
    assert [knob.name for knob in build_runner(request).knobs] == ["swappiness"]
    other = Journal(tmp_path / "other.json", roots)
    with (
        settings(linux_knobs(machine), {"swappiness": 10}, machine=machine, journal=other),
        pytest.raises(JournalError, match=rf"This process .*\b{os.getpid()}\b.*session"),
    ):
        build_runner(request)
    assert build_runner(request).longest_seconds == 60.0
    assert build_runner(replace(request, longest_seconds=float("inf"))).longest_seconds is None


class TestMachinesThatOnlyRun:
    """What measures energy loads the batch that it feeds, and no training data."""

    @pytest.mark.parametrize("objective", ["energy_millijoules", "latency_ms"])
    def test_a_few_held_out_photographs_are_decoded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, objective: str
    ) -> None:
        read: list[str] = []

        def image(path: Path, side: int) -> Any:
            read.append(path.parent.parent.name)
            return np.zeros((side, side, 3), dtype=np.uint8)

        monkeypatch.setattr("flexibo.systems.data.image_folder.read_image", image)
        monkeypatch.setattr("flexibo.systems.data.image_folder.SIDE", 8)
        for part, kind, n in ((part, kind, n) for part in ("train", "val") for kind in "ab" for n in range(300)):
            (tmp_path / part / kind).mkdir(parents=True, exist_ok=True)
            (tmp_path / part / kind / f"{n}.jpeg").touch()
        request = SystemRequest("mobilenet", tmp_path, dataset="imagenet", platform="linux-cpu", estimate_watts=10)
        runner = build_runner(replace(request, objectives=(objective,)))
        assert (read.count("train"), read.count("val")) == (1, 200)
        assert runner.task.data.train.classes == ("a", "b")
        read.clear()
        build_runner(replace(request, limit=400))
        assert read.count("train") == 400

    @pytest.mark.parametrize("system", ["deepspeech", "bert-imdb"])
    def test_the_network_and_its_inputs_are_those_of_the_whole_data(self, tmp_path: Path, system: str) -> None:
        write_digits(tmp_path)
        write_archive(tmp_path)
        request = SystemRequest(system, tmp_path, platform="linux-cpu", estimate_watts=10, size="tiny", models=None)
        whole, part = (build_runner(replace(request, objectives=only)) for only in ((), ("energy_millijoules",)))
        assert shape_of(part) == shape_of(whole)
        assert shape_of(part) != shape_of(replace(whole, task=task_of(whole.system, whole.task.data)))  # another size
        assert part.task.chance_percent == whole.task.chance_percent
        design = {name: min(values) for name, values in part.system.options.items()}
        inputs = zip(part.task.inputs(design, 2, "cpu"), whole.task.inputs(design, 2, "cpu"), strict=True)
        assert all(torch.equal(mine, same) for mine, same in inputs)

    def test_with_an_encoder_no_review_is_read_for_its_words(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_archive(tmp_path)
        monkeypatch.setattr(build, "task_of", lambda system, data, **how: SimpleNamespace(data=data))
        request = SystemRequest("bert-imdb", tmp_path, platform="linux-cpu", estimate_watts=10, size="small")
        runner = build_runner(replace(request, objectives=("energy_millijoules",)))
        assert (runner.task.data.train.texts, len(runner.task.data.test.texts)) == ((), 4)
        assert len(build_runner(request).task.data.train.texts) == 16
