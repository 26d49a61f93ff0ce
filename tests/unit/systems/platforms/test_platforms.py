"""What platforms offer, by the names that users type, and how the processor runs a network."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from flexibo.errors import UnknownNameError
from flexibo.hardware.knobs import LinuxMachine, Roots
from flexibo.systems.catalogue import SYSTEMS, NetworkTraits, PaperSystem
from flexibo.systems.platforms import PLATFORMS, Jetson, LinuxCpu, NvidiaGpu, find_platform

IMAGES, TEXT = NetworkTraits(), NetworkTraits(images=False, own_batch=True)


@pytest.mark.parametrize("platform", [LinuxCpu(cores=4), NvidiaGpu(), Jetson()])
def test_a_network_that_decides_its_batch_leaves_none_to_choose(platform: Any) -> None:
    assert "batch" in platform.options(IMAGES)
    assert "batch" not in platform.options(TEXT)


@pytest.mark.parametrize("platform", [LinuxCpu(cores=4), NvidiaGpu()])
def test_only_images_have_a_layout(platform: Any) -> None:
    assert "layout" in platform.options(IMAGES)
    assert "layout" not in platform.options(TEXT)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
def test_the_work_of_every_network_can_be_recorded_as_a_graph(system: PaperSystem) -> None:
    assert NvidiaGpu().options(system.traits)["cuda_graphs"] == (False, True)


def test_clocks_are_left_alone_unless_allowed() -> None:
    assert NvidiaGpu().knobs() == ()
    assert {knob.name for knob in NvidiaGpu(allow_clocks=True).knobs()} == {
        "gpu_clock",
        "gpu_memory_clock",
        "power_limit",
    }
    assert find_platform("nvidia-gpu", allow_clocks=True) == NvidiaGpu(allow_clocks=True)
    assert find_platform("nvidia-gpu").knobs() == ()
    assert find_platform("jetson-tx2", allow_clocks=True) == find_platform("jetson-tx2")


def test_a_meter_that_is_missing_is_a_sentence(tmp_path: Path) -> None:
    machine = LinuxMachine(Roots(sys=tmp_path, proc=tmp_path))
    for platform in (LinuxCpu(machine=machine), Jetson(machine=machine)):
        with pytest.raises(OSError, match=str(tmp_path)):
            platform.meter()


def test_platforms_have_the_names_that_users_type() -> None:
    assert {name: make().name for name, make in PLATFORMS.items()} == {name: name for name in PLATFORMS}


def test_an_unknown_platform_is_a_sentence() -> None:
    with pytest.raises(UnknownNameError, match=r"'nvidia'.*'nvidia-gpu'"):
        find_platform("nvidia")


@pytest.mark.torch
def test_auto_is_the_processor_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert find_platform("auto").name == "linux-cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert find_platform("auto").name == "nvidia-gpu"


@pytest.mark.torch
class TestServing:
    """A small network on the processor, and on a GPU that is not there."""

    def design(self, **changed: Any) -> dict[str, Any]:
        return {"batch": 4, "threads": 1, "precision": "fp32", "layout": "contiguous", **changed}

    def serving(self, seen: list[Any], **changed: Any) -> AbstractContextManager[Any]:
        torch = pytest.importorskip("torch")

        class Watched(torch.nn.Conv2d):  # type: ignore[misc, name-defined]  # torch has no types here
            def forward(self, x: Any) -> Any:
                seen.append((x, torch.get_num_threads(), torch.is_inference_mode_enabled(), self.training))
                return super().forward(x)

        model = Watched(3, 2, 3)
        design = self.design(**changed)
        return LinuxCpu(cores=2).serving(model, lambda count, device: (torch.zeros(count, 3, 8, 8),), design)

    def test_a_run_is_one_batch_without_gradients(self) -> None:
        seen: list[Any] = []
        with self.serving(seen, batch=16) as ready:
            ready.run()
            ready.synchronise()
        assert ready.count == 16
        ((x, _, inference, training),) = seen
        assert (x.shape[0], inference, training) == (16, True, False)

    def test_the_batch_size_of_the_network_is_taken_where_it_has_one(self) -> None:
        torch = pytest.importorskip("torch")
        model, design = torch.nn.Identity(), {"batch_size": 6, "threads": 1, "precision": "fp32"}
        with LinuxCpu(cores=2).serving(model, lambda count, device: (torch.zeros(count, 3),), design) as ready:
            assert (ready.count, tuple(ready.run().shape)) == (6, (6, 3))

    @pytest.mark.filterwarnings("ignore:mkldnn")  # a processor that imitates bf16 may say so
    @pytest.mark.parametrize(("precision", "name"), [("fp32", "float32"), ("bf16", "bfloat16")])
    def test_numbers_have_the_precision(self, precision: str, name: str) -> None:
        seen: list[Any] = []
        with self.serving(seen, precision=precision) as ready:
            assert str(ready.run().dtype) == f"torch.{name}"
        assert str(seen[0][0].dtype) == f"torch.{name}"

    def test_images_have_the_layout(self) -> None:
        torch = pytest.importorskip("torch")
        for layout, wanted in (("contiguous", torch.contiguous_format), ("channels_last", torch.channels_last)):
            seen: list[Any] = []
            with self.serving(seen, layout=layout) as ready:
                ready.run()
            assert seen[0][0].is_contiguous(memory_format=wanted)

    def test_threads_are_set_and_put_back(self) -> None:
        torch = pytest.importorskip("torch")
        before, seen = torch.get_num_threads(), list[Any]()
        with pytest.raises(ZeroDivisionError), self.serving(seen, threads=before + 1) as ready:
            _ = ready.run(), 1 / 0
        assert seen[0][1] == before + 1
        assert torch.get_num_threads() == before
