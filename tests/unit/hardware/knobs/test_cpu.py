"""Cores and their frequency, on a machine in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import TX2_STEPS, FakeKernel, jetson, linux, make_policy, put

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs import ActiveCores, CpuFrequency, CpuGovernor, KnobUnavailableError, LinuxMachine, Roots


@pytest.fixture
def kernel(tmp_path: Path) -> FakeKernel:
    return FakeKernel(linux(tmp_path))


def apply(kernel: FakeKernel, writes: object) -> None:
    for write in writes:  # type: ignore[attr-defined]
        kernel.write(write.path, write.value)


def undo(kernel: FakeKernel, writes: object) -> None:
    for write in reversed(writes):  # type: ignore[call-overload]
        kernel.write(write.undo_path, write.before)


def names(writes: object) -> list[tuple[str, str]]:
    return [(Path(write.path).parent.name, write.value) for write in writes]  # type: ignore[attr-defined]


def limits(kernel: FakeKernel) -> list[tuple[int, int]]:
    policies = sorted(kernel.roots.sys.glob("devices/system/cpu/cpufreq/policy*"))
    ends = ("scaling_min_freq", "scaling_max_freq")
    return [tuple(int((policy / end).read_text()) for end in ends) for policy in policies]  # type: ignore[misc]


def test_cores_with_the_highest_numbers_go_first_and_the_first_core_never(kernel: FakeKernel) -> None:
    knob = ActiveCores(kernel)
    assert knob.values() == (1, 2, 3, 4)
    assert knob.read() == 4
    writes = knob.writes(2)
    assert names(writes) == [("cpu3", "0"), ("cpu2", "0")]
    apply(kernel, writes)
    assert knob.read() == 2
    assert knob.writes(2) == ()
    undo(kernel, writes)
    assert knob.read() == 4


def test_cores_come_online_before_others_go(tmp_path: Path) -> None:
    kernel = FakeKernel(jetson(tmp_path))
    for core in (1, 2):
        kernel.write(str(kernel.roots.sys / f"devices/system/cpu/cpu{core}/online"), "0")
    knob = ActiveCores(kernel)
    assert knob.read() == 4
    assert knob.values() == (1, 2, 3, 4, 5, 6)
    assert names(knob.writes(3)) == [("cpu1", "1"), ("cpu2", "1"), ("cpu5", "0"), ("cpu4", "0"), ("cpu3", "0")]


def test_cores_are_ordered_by_number_and_not_by_name(tmp_path: Path) -> None:
    kernel = FakeKernel(linux(tmp_path, cores=12, groups=((0,),)))
    assert names(ActiveCores(kernel).writes(10)) == [("cpu11", "0"), ("cpu10", "0")]


def test_a_core_without_a_switch_always_counts(kernel: FakeKernel) -> None:
    (kernel.roots.sys / "devices/system/cpu/cpu1/online").unlink()
    knob = ActiveCores(kernel)
    assert knob.values() == (2, 3, 4)
    assert names(knob.writes(3)) == [("cpu3", "0")]


def test_the_first_core_stays_online_though_boards_show_a_switch_for_it(kernel: FakeKernel) -> None:
    put(kernel.roots.sys / "devices/system/cpu/cpu0/online", 1)
    (kernel.roots.sys / "devices/system/cpu/cpu1/online").unlink()
    knob = ActiveCores(kernel)
    assert knob.values() == (2, 3, 4)
    assert names(knob.writes(2)) == [("cpu3", "0"), ("cpu2", "0")]


def test_the_number_of_cores_offered_can_be_limited(kernel: FakeKernel) -> None:
    knob = ActiveCores(kernel, highest=3)
    assert knob.values() == (1, 2, 3)
    assert ActiveCores(kernel, highest=9).values() == (1, 2, 3, 4)
    with pytest.raises(InvalidValueError, match=r"'active_cores'.*\b4\b.*\b1\b.*\b3\b"):
        knob.writes(4)


@pytest.mark.parametrize("value", [0, 5, 2.5, "2", True])
def test_no_other_number_of_cores_is_taken(kernel: FakeKernel, value: object) -> None:
    with pytest.raises(InvalidValueError, match="between 1 and 4"):
        ActiveCores(kernel).writes(value)  # type: ignore[arg-type]


def test_a_machine_whose_cores_stay_online_says_so(tmp_path: Path) -> None:
    one = LinuxMachine(linux(tmp_path / "one", cores=1, groups=()))
    with pytest.raises(KnobUnavailableError, match=rf"{one.roots.sys}/devices/system/cpu\b.*offline"):
        ActiveCores(one).values()
    with pytest.raises(KnobUnavailableError, match=rf"no .*cores.*{tmp_path / 'none'}/devices/system/cpu\b"):
        ActiveCores(LinuxMachine(Roots(tmp_path / "none", tmp_path))).read()


@pytest.mark.parametrize("present", [(345600, 2035200), (345600, 652800), (1574400, 2035200), (960000, 960000)])
@pytest.mark.parametrize("value", [0.3456, 0.96, 1.1136, 2.0352])
def test_the_lower_limit_is_never_above_the_upper(kernel: FakeKernel, present: tuple[int, int], value: float) -> None:
    for policy in kernel.roots.sys.glob("devices/system/cpu/cpufreq/policy*"):
        put(policy / "scaling_min_freq", present[0])
        put(policy / "scaling_max_freq", present[1])
    seen: list[tuple[int, int]] = []
    kernel.watch = lambda: seen.extend(limits(kernel))
    knob = CpuFrequency(kernel)
    writes = knob.writes(value)
    apply(kernel, writes)
    assert limits(kernel) == [(round(value * 1e6),) * 2] * 2
    assert knob.read() == value
    undo(kernel, writes)
    assert limits(kernel) == [present] * 2
    assert all(low <= high for low, high in seen)
    assert len(writes) == len(seen) // 4


def test_the_steps_offered_are_the_machines_own_and_evenly_spread(kernel: FakeKernel) -> None:
    assert CpuFrequency(kernel, steps=99).values() == tuple(step / 1e6 for step in TX2_STEPS)
    assert CpuFrequency(kernel, steps=3).values() == (0.3456, 1.1136, 2.0352)
    assert CpuFrequency(kernel, steps=2, bounds=(0.9, 1.6)).values() == (0.96, 1.5744)
    assert CpuFrequency(kernel, steps=1).values() == (2.0352,)


@pytest.mark.parametrize("value", [1.2, 3.0, "fast", True, float("nan")])
def test_a_frequency_that_is_no_step_is_refused_with_the_steps(kernel: FakeKernel, value: object) -> None:
    with pytest.raises(InvalidValueError, match=rf"'cpu_frequency'.*{value!r}.*0\.3456, 0\.4992,"):
        CpuFrequency(kernel).writes(value)  # type: ignore[arg-type]


def test_slower_cores_take_their_own_nearest_step(tmp_path: Path) -> None:
    kernel = FakeKernel(linux(tmp_path, groups=((0, 1),)))
    make_policy(kernel.roots.sys / "devices/system/cpu/cpufreq/policy2", (2, 3), (300000, 1000000, 3000000))
    knob = CpuFrequency(kernel)
    assert knob.values() == (0.3, 1.0, 3.0)
    assert knob.read() == 3.0
    apply(kernel, knob.writes(3.0))
    assert limits(kernel) == [(2035200, 2035200), (3000000, 3000000)]


def test_a_driver_without_steps_takes_any_frequency_in_its_range(kernel: FakeKernel) -> None:
    for policy in kernel.roots.sys.glob("devices/system/cpu/cpufreq/policy*"):
        (policy / "scaling_available_frequencies").unlink()
        put(policy / "cpuinfo_min_freq", 800000)
        put(policy / "cpuinfo_max_freq", 4800000)
    knob = CpuFrequency(kernel, steps=5)
    assert knob.values() == (0.8, 1.8, 2.8, 3.8, 4.8)
    writes = knob.writes(2.345)
    assert {write.value for write in writes} == {"2345000"}
    assert {write.tolerance for write in writes} == {0.05}
    for value in knob.values():
        knob.writes(value)
    for wrong in (0.7, 5.0, "2"):
        with pytest.raises(InvalidValueError, match=rf"{wrong!r}.*0\.8 and 4\.8"):
            knob.writes(wrong)


def test_where_the_user_governs_the_speed_is_set_too_and_put_back(kernel: FakeKernel) -> None:
    policy = kernel.roots.sys / "devices/system/cpu/cpufreq/policy0"
    put(policy / "scaling_governor", "userspace")
    put(policy / "scaling_setspeed", 652800)
    writes = CpuFrequency(kernel).writes(1.1136)
    apply(kernel, writes)
    assert kernel.read(str(policy / "scaling_setspeed")) == "1113600"
    assert Path(writes[-1].path).name != "scaling_setspeed"  # the other group has its own governor
    undo(kernel, writes)
    assert kernel.read(str(policy / "scaling_setspeed")) == "652800"
    assert (policy / "scaling_governor").read_text() == "userspace\n"


def test_cores_that_are_offline_have_no_frequency(kernel: FakeKernel) -> None:
    apply(kernel, ActiveCores(kernel).writes(2))
    assert names(CpuFrequency(kernel).writes(0.96)) == [("policy0", "960000")] * 2


def test_a_machine_that_does_not_control_frequencies_says_so(tmp_path: Path) -> None:
    machine = LinuxMachine(linux(tmp_path, groups=()))
    with pytest.raises(KnobUnavailableError, match=rf"frequency.*{machine.roots.sys}/devices/system/cpu/cpufreq"):
        CpuFrequency(machine).values()


def test_the_governor_of_all_groups_is_set_and_put_back(kernel: FakeKernel) -> None:
    knob = CpuGovernor(kernel)
    assert knob.values() == ("conservative", "powersave", "performance", "schedutil")
    assert knob.read() == "schedutil"
    writes = knob.writes("powersave")
    assert names(writes) == [("policy0", "powersave"), ("policy2", "powersave")]
    apply(kernel, writes[:1])
    assert knob.read() == "mixed"
    assert len(knob.writes("powersave")) == 1
    apply(kernel, writes)
    assert (knob.read(), knob.writes("powersave")) == ("powersave", ())
    undo(kernel, writes)
    assert knob.read() == "schedutil"
    with pytest.raises(InvalidValueError, match=r"'cpu_governor'.*'turbo'.*powersave"):
        knob.writes("turbo")


def test_a_governor_must_be_common_to_all_groups(kernel: FakeKernel) -> None:
    folder = kernel.roots.sys / "devices/system/cpu/cpufreq"
    put(folder / "policy2/scaling_available_governors", "performance schedutil")
    assert CpuGovernor(kernel).values() == ("performance", "schedutil")
    put(folder / "policy2/scaling_available_governors", "ondemand")
    with pytest.raises(KnobUnavailableError):
        CpuGovernor(kernel).values()
    (folder / "policy0/scaling_available_governors").unlink()
    with pytest.raises(KnobUnavailableError, match="scaling_available_governors"):
        CpuGovernor(kernel).writes("performance")
