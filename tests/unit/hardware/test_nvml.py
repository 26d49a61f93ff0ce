"""The NVML meter on a library that plays back counters, and the table of all meters."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from flexibo.errors import FlexiBOError, InvalidTypeError, InvalidValueError, MissingExtraError, UnknownNameError
from flexibo.hardware import (
    METERS,
    MeterError,
    MeterPlaces,
    NvmlMeter,
    NvmlUnavailableError,
    SampledMeter,
    find_meter,
    meters_report,
    open_meter,
)

NOT_SUPPORTED, NO_PERMISSION, DRIVER_NOT_LOADED, LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND, GPU_IS_LOST = (
    3,
    4,
    9,
    12,
    13,
    15,
)


class FakeNvmlError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"NVML error {value}")
        self.value = value


@dataclass
class Gpu:
    """One GPU: what it answers, number by number or error by error; the last answer stays."""

    uuid: str
    name: str = "NVIDIA H200"
    millijoules: list[int | FakeNvmlError] = field(default_factory=lambda: [5_000_000])
    milliwatts: list[int | FakeNvmlError] = field(default_factory=lambda: [120_000])


class FakeNvml:
    """The functions of `pynvml` that the meter calls, with its error codes."""

    NVMLError = FakeNvmlError
    NVML_ERROR_NOT_SUPPORTED = NOT_SUPPORTED
    NVML_ERROR_NO_PERMISSION = NO_PERMISSION
    NVML_ERROR_DRIVER_NOT_LOADED = DRIVER_NOT_LOADED
    NVML_ERROR_LIBRARY_NOT_FOUND = LIBRARY_NOT_FOUND
    NVML_ERROR_FUNCTION_NOT_FOUND = FUNCTION_NOT_FOUND
    NVML_ERROR_GPU_IS_LOST = GPU_IS_LOST
    NVML_ERROR_RESET_REQUIRED = 16
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18

    def __init__(self, *gpus: Gpu, init: int | None = None) -> None:
        self.gpus = gpus
        self.init = init
        self.n_open = 0

    def nvmlInit(self) -> None:  # noqa: N802
        if self.init is not None:
            raise FakeNvmlError(self.init)
        self.n_open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.n_open -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Gpu:  # noqa: N802
        return self.gpus[index]

    def nvmlDeviceGetUUID(self, gpu: Gpu) -> bytes:  # noqa: N802
        return gpu.uuid.encode()

    def nvmlDeviceGetName(self, gpu: Gpu) -> str:  # noqa: N802
        return gpu.name

    def nvmlDeviceGetTotalEnergyConsumption(self, gpu: Gpu) -> int:  # noqa: N802
        return played(gpu.millijoules)

    def nvmlDeviceGetPowerUsage(self, gpu: Gpu) -> int:  # noqa: N802
        return played(gpu.milliwatts)

    def nvmlDeviceGetEnforcedPowerLimit(self, gpu: Gpu) -> int:  # noqa: N802
        return 700_000

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "570.86.15"

    def nvmlSystemGetNVMLVersion(self) -> bytes:  # noqa: N802
        return b"12.570.86.15"

    def nvmlSystemGetCudaDriverVersion(self) -> int:  # noqa: N802
        return 12080


def played(answers: list[int | FakeNvmlError]) -> int:
    answer = answers.pop(0) if len(answers) > 1 else answers[0]
    if isinstance(answer, FakeNvmlError):
        raise answer
    return answer


def three() -> FakeNvml:
    return FakeNvml(
        Gpu("GPU-aaaa-1", millijoules=[1_000_000]),
        Gpu("GPU-bbbb-2", millijoules=[2_000_000]),
        Gpu("GPU-bbcc-3", "NVIDIA T4", [3_000_000]),
    )


def meter_of(library: FakeNvml, index: int | str | Sequence[int | str] = 0, **environment: str) -> NvmlMeter:
    return NvmlMeter(index, library=library, environment=environment)


def gpu_read(meter: NvmlMeter, library: FakeNvml) -> list[str]:
    """The UUIDs of the GPUs whose energy the meter counts: each is given one more joule in turn."""
    read = []
    for gpu in library.gpus:
        before = meter.read_joules()
        gpu.millijoules[0] += 1000  # type: ignore[operator]
        if meter.read_joules() - before == pytest.approx(1.0):
            read.append(gpu.uuid)
    return read


def test_the_counter_is_millijoules_and_the_meter_joules_since_it_was_made() -> None:
    library = three()
    meter = meter_of(library)
    assert meter.read_joules() == 0.0
    library.gpus[0].millijoules = [1_002_500]
    assert meter.read_joules() == pytest.approx(2.5)
    assert (meter.name, meter.update_seconds, meter.is_estimate) == ("NVML, NVIDIA H200", 0.1, False)


def test_several_gpus_add_up_and_the_name_says_which() -> None:
    library = three()
    meter = meter_of(library, [0, 1, 2])
    library.gpus[0].millijoules = [1_001_000]
    library.gpus[2].millijoules = [3_000_500]
    assert meter.read_joules() == pytest.approx(1.5)
    assert meter.name == "NVML, 2 x NVIDIA H200 + NVIDIA T4"


def test_a_counter_that_falls_is_one_sentence_never_a_negative_energy_and_then_the_meter_goes_on() -> None:
    library = three()
    meter = meter_of(library, [0, 1])
    library.gpus[0].millijoules = [1_004_000]
    assert meter.read_joules() == pytest.approx(4.0)
    library.gpus[0].millijoules = [500]
    library.gpus[1].millijoules = [700]
    with pytest.raises(NvmlUnavailableError, match=r"GPU 0 \(NVIDIA H200\) .*\b1004 J .*\b0\.5 J"):
        meter.read_joules()
    assert meter.read_joules() == pytest.approx(4.0)
    library.gpus[1].millijoules = [1_700]
    assert meter.read_joules() == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("index", "visible", "expected"),
    [
        (0, None, "GPU-aaaa-1"),
        (2, None, "GPU-bbcc-3"),
        (0, "2,0", "GPU-bbcc-3"),
        (1, "2, 0", "GPU-aaaa-1"),
        (0, "GPU-bbbb-2", "GPU-bbbb-2"),
        (1, "0,GPU-bbc", "GPU-bbcc-3"),
        (0, "1,-1,0", "GPU-bbbb-2"),
        ("GPU-bbbb-2", "0", "GPU-bbbb-2"),
        ("GPU-bbc", None, "GPU-bbcc-3"),
    ],
)
def test_a_gpu_is_an_index_among_the_visible_ones_or_a_uuid(
    index: int | str, visible: str | None, expected: str
) -> None:
    library = three()
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert gpu_read(meter_of(library, index, **environment), library) == [expected]


@pytest.mark.parametrize(
    ("index", "visible", "facts"),
    [
        (3, None, r"no GPU 3;.* has 3,"),
        (-1, None, r"no GPU -1;.* has 3,"),
        (0, "", r"No GPU.*CUDA_VISIBLE_DEVICES is ''"),
        (0, "-1", r"No GPU.*CUDA_VISIBLE_DEVICES is '-1'"),
        (0, "7,0", r"No GPU.*CUDA_VISIBLE_DEVICES is '7,0'"),
        (0, "GPU-zz", r"No GPU.*CUDA_VISIBLE_DEVICES is 'GPU-zz'"),
        (1, "2", r"GPU 1 .*the 1\b.*CUDA_VISIBLE_DEVICES=2 "),
        (1, "1,-1,0", r"GPU 1 .*the 1\b.*CUDA_VISIBLE_DEVICES=1,-1,0 "),
        ("GPU-bb", None, r"^2 GPUs.*'GPU-bb'.*GPU-aaaa-1, GPU-bbbb-2, GPU-bbcc-3\b"),
        ("", None, r"^No GPUs.*''.*GPU-aaaa-1, GPU-bbbb-2, GPU-bbcc-3\b"),
    ],
)
def test_a_gpu_that_is_not_there_is_one_sentence(index: int | str, visible: str | None, facts: str) -> None:
    library = three()
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    with pytest.raises(NvmlUnavailableError, match=facts):
        meter_of(library, index, **environment)
    assert library.n_open == 0


def test_a_slice_of_a_gpu_has_no_counter() -> None:
    with pytest.raises(NvmlUnavailableError, match=r"CUDA_VISIBLE_DEVICES.*slice MIG-1234"):
        meter_of(three(), CUDA_VISIBLE_DEVICES="MIG-1234")


@pytest.mark.parametrize(
    ("index", "error", "facts"),
    [
        ([0, 0], InvalidValueError, r"twice.*\[0, 0\]"),
        (["GPU-aaaa", 0], InvalidValueError, r"twice.*\['GPU-aaaa', 0\]"),
        ([], InvalidValueError, "No GPU .*UUID"),
        ([1.5], InvalidTypeError, r"GPU .*\b1\.5;.*UUID"),
        ([True], InvalidTypeError, "GPU .*True;.*UUID"),
    ],
)
def test_a_wrong_choice_of_gpus_is_refused(index: Any, error: type[FlexiBOError], facts: str) -> None:
    with pytest.raises(error, match=facts):
        meter_of(three(), index)


@pytest.mark.parametrize(
    ("code", "facts"),
    [
        (LIBRARY_NOT_FOUND, "libnvidia-ml .*install"),
        (DRIVER_NOT_LOADED, "driver .*not loaded"),
        (18, "different versions"),
        (999, r"error 999\b"),
    ],
)
def test_a_machine_without_a_working_driver_is_one_sentence(code: int, facts: str) -> None:
    with pytest.raises(NvmlUnavailableError, match=f"^NVML .*{facts}"):
        meter_of(FakeNvml(init=code))


def test_a_counter_that_this_user_may_not_read_is_one_sentence_and_nvml_is_let_go() -> None:
    library = FakeNvml(Gpu("GPU-a", millijoules=[FakeNvmlError(NO_PERMISSION)]))
    with pytest.raises(NvmlUnavailableError, match=r"GPU 0 \(NVIDIA H200\) .*/dev/nvidia"):
        meter_of(library)
    assert library.n_open == 0


def test_a_gpu_that_is_lost_in_the_middle_is_one_sentence() -> None:
    library = three()
    meter = meter_of(library)
    library.gpus[0].millijoules = [FakeNvmlError(GPU_IS_LOST)]
    with pytest.raises(NvmlUnavailableError, match=r"GPU 0 \(NVIDIA H200\) .*\blost\b"):
        meter.read_joules()


@pytest.mark.parametrize("code", [NOT_SUPPORTED, FUNCTION_NOT_FOUND])
def test_a_gpu_without_a_counter_has_its_power_sampled(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.hardware.nvml.SAMPLE_SECONDS", 3600.0)  # the thread never comes to sample
    old = Gpu("GPU-a", "Tesla P100", [FakeNvmlError(code)])
    library, now = FakeNvml(old), [0.0]
    with NvmlMeter(library=library, environment={}, clock=lambda: now[0]) as meter:
        assert meter.read_joules() == 0.0
        now[0], old.milliwatts = 2.0, [180_000]
        assert meter.read_joules() == pytest.approx(2.0 * (120 + 180) / 2)
        assert re.fullmatch(r"NVML, Tesla P100 \(.*samples\)", meter.name)
        assert meter.update_seconds == 3600.0
        assert meter.describe()["source"] == "power samples"
        old.milliwatts = [FakeNvmlError(GPU_IS_LOST)]
        with pytest.raises(MeterError, match=r"Tesla P100.*\blost\b"):
            meter.read_joules()
        sampler = meter._devices[0]
        assert isinstance(sampler, SampledMeter)
        assert sampler.is_sampling
    assert not sampler.is_sampling
    assert library.n_open == 0


def test_a_gpu_with_neither_counter_nor_power_is_one_sentence() -> None:
    blind = Gpu("GPU-a", millijoules=[FakeNvmlError(NOT_SUPPORTED)], milliwatts=[FakeNvmlError(NOT_SUPPORTED)])
    with pytest.raises(NvmlUnavailableError, match=r"GPU 0 .*neither"):
        meter_of(FakeNvml(blind))


def test_a_data_card_is_told_gpu_driver_and_versions() -> None:
    assert meter_of(three()).describe() == {
        "gpus": "NVIDIA H200",
        "source": "energy counter",
        "driver": "570.86.15",
        "nvml": "12.570.86.15",
        "cuda": "12.8",
        "power_limit_watts": "700",
    }


def test_what_a_driver_does_not_tell_is_left_out_of_the_data_card() -> None:
    library = three()

    def refuse(*_: object) -> int:
        raise FakeNvmlError(NOT_SUPPORTED)

    library.nvmlDeviceGetEnforcedPowerLimit = refuse  # type: ignore[method-assign]
    library.nvmlSystemGetCudaDriverVersion = refuse  # type: ignore[method-assign]
    assert set(meter_of(library).describe()) == {"gpus", "source", "driver", "nvml"}


def test_closing_twice_lets_nvml_go_once() -> None:
    library = three()
    meter = meter_of(library)
    assert library.n_open == 1
    meter.close()
    meter.close()
    assert library.n_open == 0


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(MissingExtraError, match=r"nvidia-ml-py.*flexibo\[nvml\]"):
        NvmlMeter()
    assert find_meter("nvml") is None
    assert "flexibo[nvml]" in meters_report()["nvml"].reason


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., MeterPlaces]:
    """Places without any meter, but for what the test gives."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def places(nvml: FakeNvml | None = None, powercap: Path | None = None) -> MeterPlaces:
        no_driver = FakeNvml(init=DRIVER_NOT_LOADED)
        return MeterPlaces(nvml=nvml or no_driver, powercap=powercap or tmp_path / "none", sys=tmp_path / "sys")

    return places


@pytest.fixture
def powercap(tmp_path: Path) -> Path:
    zone = tmp_path / "powercap" / "intel-rapl:0"
    zone.mkdir(parents=True)
    for file, text in (("name", "package-0"), ("energy_uj", "7"), ("max_energy_range_uj", "1000000")):
        (zone / file).write_text(f"{text}\n")
    return zone.parent


def names(*meters: object) -> list[str | None]:
    return [getattr(meter, "name", None) for meter in meters]


def test_auto_takes_the_first_meter_of_the_table_that_can_be_read(
    nothing: Callable[..., MeterPlaces], powercap: Path
) -> None:
    assert list(METERS)[:3] == ["nvml", "rapl", "ina3221"]
    both, rapl_only, none = nothing(three(), powercap), nothing(None, powercap), nothing()
    found = [find_meter("auto", places) for places in (both, rapl_only, none)]
    assert names(*found) == ["NVML, NVIDIA H200", "RAPL, 1 package", None]


def test_a_named_kind_is_opened_and_no_other(nothing: Callable[..., MeterPlaces], powercap: Path) -> None:
    places = nothing(three(), powercap)
    found = [find_meter(kind, places) for kind in METERS]
    assert names(*found) == ["NVML, NVIDIA H200", "RAPL, 1 package", *[None] * (len(METERS) - 2)]


def test_a_folder_in_the_place_of_a_kind_is_where_rapl_is_read(powercap: Path) -> None:
    assert names(find_meter(powercap), find_meter(str(powercap))) == ["RAPL, 1 package"] * 2


def test_opening_a_meter_that_is_not_there_says_why_and_an_unknown_kind_names_the_nearest(
    nothing: Callable[..., MeterPlaces],
) -> None:
    with pytest.raises(MeterError, match=r"no RAPL .*/none"):
        open_meter("rapl", nothing())
    for opener in (open_meter, find_meter):
        with pytest.raises(UnknownNameError, match=r"meter 'nvlm'.*'nvml'"):
            opener("nvlm")


def test_the_report_says_of_each_kind_what_is_read_or_why_not(
    nothing: Callable[..., MeterPlaces], powercap: Path
) -> None:
    report = meters_report(nothing(None, powercap))
    assert list(report) == list(METERS)
    assert [kind for kind, available in report.items() if available] == ["rapl"]
    assert report["rapl"].reason == "RAPL, 1 package"
    assert re.search("NVIDIA driver .*not loaded", report["nvml"].reason)
    assert re.search("no INA3221 .*/bus/i2c/drivers", report["ina3221"].reason)


def test_all_visible_gpus_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert open_meter("nvml:all", MeterPlaces(nvml=three())).name == "NVML, 2 x NVIDIA H200 + NVIDIA T4"
    assert " + " in open_meter("nvml:0,2", MeterPlaces(nvml=three())).name
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert open_meter("nvml:all", MeterPlaces(nvml=three())).name == "NVML, NVIDIA H200"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(NvmlUnavailableError, match="CUDA_VISIBLE_DEVICES"):
        open_meter("nvml:all", MeterPlaces(nvml=three()))
