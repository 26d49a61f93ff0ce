"""The energy of a command, on a machine in a folder whose counter the command itself moves."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.command_line import call, good, mentions, refusal
from tests.unit._internal.processes import until_gone
from tests.unit.hardware.fake_linux import put
from tests.unit.hardware.fake_sensors import make_chip
from tests.unit.hardware.test_rapl import make_zone

from flexibo.hardware import METERS, IdlePower, MeterError, TooShortError


@pytest.fixture
def sys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a processor that is metered; programs are those of this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLEXIBO_SYS", str(tmp_path / "sys"))
    make_zone(tmp_path / "sys/class/powercap", "intel-rapl:0", "package-0", 1_000_000)
    (tmp_path / "counter").write_text("100\n")
    return tmp_path / "sys"


def burn(joules: int, then: str = "true") -> list[str]:
    """A command that uses energy."""
    file = "sys/class/powercap/intel-rapl:0/energy_uj"
    return ["sh", "-c", f"echo $(( $(cat {file}) + {joules}000000 )) > {file}; {then}"]


def facts(*arguments: object) -> dict[str, object]:
    found = json.loads(good("meter", "--json", *arguments))
    assert isinstance(found, dict)
    return found


def test_the_energy_of_a_command_is_that_which_the_meter_gained(sys: Path) -> None:
    found = facts("--", *burn(42))
    assert found["joules"] == pytest.approx(42.0)
    assert (found["meter"], found["repeats"], found["status"]) == ("RAPL, 1 package", 1, 0)
    assert found["watts"] == pytest.approx(42.0 / found["seconds"])  # type: ignore[operator]
    assert (found["joules_spread"], found["joules_above_idle"], found["celsius_before"]) == (None, None, None)


def test_the_report_goes_to_standard_error_and_the_output_is_the_commands(
    sys: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make_chip(sys, 0, "coretemp", temp1_input=61_000)
    outcome = call("meter", "--repeats", 3, "--", *burn(5, "echo hello"))
    assert outcome.exit_code == 0, (outcome.output, outcome.exception)
    assert capfd.readouterr().out == "hello\n" * 3
    assert outcome.stdout == ""
    assert mentions(outcome.stderr, "RAPL, 1 package", "5 J", "3 runs")
    assert mentions(outcome.stderr, "61 °C before", "61 °C after", "coretemp")


def test_repeats_have_a_mean_and_a_spread(sys: Path) -> None:
    file = "sys/class/powercap/intel-rapl:0/energy_uj"
    script = f"n=$(cat n); echo $((n + 1)) > n; echo $(( $(cat {file}) + n * 10000000 )) > {file}"
    Path("n").write_text("1\n")
    found = facts("--repeats", 3, "--", "sh", "-c", script)
    assert [run["joules"] for run in found["runs"]] == pytest.approx([10.0, 20.0, 30.0])  # type: ignore[attr-defined]
    assert (found["joules"], found["joules_spread"]) == pytest.approx((20.0, 10.0))


def test_the_exit_status_is_the_commands_and_nothing_runs_again_after_a_failure(sys: Path) -> None:
    outcome = call("meter", "--repeats", 5, "--json", "--", *burn(2, "exit 7"))
    assert outcome.exit_code == 7
    found = json.loads(outcome.stdout)
    assert (found["status"], found["repeats"], found["joules"]) == (7, 1, pytest.approx(2.0))


@pytest.mark.parametrize(("name", "status"), [("TERM", 143), ("INT", 130)])
def test_a_signal_ends_the_command_with_all_that_it_started(sys: Path, name: str, status: int) -> None:
    outcome = call("meter", "--", "sh", "-c", f"sleep 1000 & echo $! > child; kill -{name} $PPID; wait")
    assert outcome.exit_code == status
    assert outcome.stdout == ""
    until_gone(Path("child"))


@pytest.mark.parametrize(("name", "status"), [("TERM", 143), ("INT", 130)])
def test_a_signal_ends_a_meter_that_hangs(sys: Path, name: str, status: int) -> None:
    plug = f"sleep 1000 & echo $! > child; kill -{name} {os.getpid()}; wait"
    assert call("meter", "--meter", plug, "--", "touch", "ran").exit_code == status
    until_gone(Path("child"))
    assert not Path("ran").exists()


def test_a_command_is_a_meter(sys: Path) -> None:
    found = facts("--meter", "cat counter | sed s/$/J/", "--", "sh", "-c", "echo 130 > counter")
    assert (found["joules"], found["meter"]) == (pytest.approx(30.0), "command cat counter | sed s/$/J/")
    assert mentions(refusal("meter", "--meter", "echo 3", "--", "true"), "'3'", "J", "W")
    assert mentions(refusal("meter", "--meter", "rapll", "--", "true"), "'rapll'", "'rapl'")


def test_idle_power_is_subtracted(sys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.hardware.measured_idle", lambda meter, seconds: IdlePower(2.0, 0.1, seconds))
    found = facts("--idle", "5s", "--", *burn(42))
    assert found["joules_above_idle"] == pytest.approx(42.0 - 2.0 * found["seconds"])  # type: ignore[operator]
    assert (found["idle_watts"], found["idle_watts_spread"]) == (2.0, 0.1)
    assert mentions(call("meter", "--idle", "5s", "--", *burn(3)).stderr, "2 W", "0.1 W", "5 s")


def test_a_hot_machine_is_not_measured(sys: Path) -> None:
    assert isinstance(call("meter", "--cool", 60, "--", "true").exception, MeterError)  # no temperature can be read
    put(sys / "class/thermal/thermal_zone0/type", "cpu-thermal")
    put(sys / "class/thermal/thermal_zone0/temp", 75_000)
    text = refusal("meter", "--cool", 60, "--cool-limit", "0.01s", "--", "touch", "ran")
    assert mentions(text, "cpu-thermal", "75", "60")
    assert not Path("ran").exists()
    assert facts("--cool", 80, "--", *burn(1))["celsius_after"] == 75.0


def test_slowdowns_are_noted(sys: Path) -> None:
    count = put(sys / "devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", 3)
    found = facts("--", *burn(1, f"echo 8 > {count}"))
    assert list(found["slowed_down"].values()) == [5.0]  # type: ignore[attr-defined]
    assert any("5 times" in note for note in found["notes"])  # type: ignore[attr-defined]


def test_where_nothing_can_be_read_one_sentence_says_what_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEXIBO_SYS", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    text = refusal("meter", "--", "/bin/touch", str(tmp_path / "ran"))
    assert all(kind in text for kind in METERS)
    assert "\n" not in text
    assert not (tmp_path / "ran").exists()


def test_a_run_that_the_meter_cannot_resolve_is_told(sys: Path) -> None:
    outcome = call("meter", "--meter", "cat counter | sed s/$/J/", "--", "true")
    assert isinstance(outcome.exception, TooShortError)
    failed = call("meter", "--meter", "cat counter | sed s/$/J/", "--", "false")
    assert failed.exit_code == 1  # the command's own
    assert mentions(failed.stderr, "command cat counter", "1 s")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["--"]),
        (["--", "/no/such/program"], ["'/no/such/program'"]),
        (["--idle", "soon", "--", "true"], ["--idle", "'soon'"]),
        (["--cool-limit", "x", "--", "true"], ["--cool-limit", "'x'"]),
        (["--repeats", "0", "--", "true"], ["--repeats", "'0'"]),
        (["--meter", "rapl+rapl", "--", "true"], ["rapl", "twice"]),
        (["--meter", " ", "--", "true"], ["meter"]),
    ],
)
def test_a_mistake_is_one_sentence(sys: Path, arguments: list[str], expected: list[str]) -> None:
    text = refusal("meter", *arguments)
    assert mentions(text, *expected)
    assert "\n" not in text
