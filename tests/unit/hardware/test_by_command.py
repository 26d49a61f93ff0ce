"""Meters by command: programs that print joules or watts."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.unit._internal.processes import until, until_gone

from flexibo._internal.shell import ScriptResult
from flexibo.hardware import CommandMeter, CommandMeterError, MeterError
from flexibo.hardware import by_command as module
from flexibo.hardware.by_command import parsed_line


@pytest.mark.parametrize(
    ("line", "number", "unit"),
    [
        ("12.5 W", 12.5, "W"),
        ("12.5W", 12.5, "W"),
        ("1e3 mJ", 1.0, "mJ"),
        ("2 Wh", 7200.0, "Wh"),
        (".5 kJ", 500.0, "kJ"),
        ("0 J", 0.0, "J"),
        ("+3 kW", 3000.0, "kW"),
    ],
)
def test_a_number_and_its_unit_are_read(line: str, number: float, unit: str) -> None:
    assert parsed_line(line, "plug") == (pytest.approx(number), unit)


@pytest.mark.parametrize(
    "line", ["", "12.5", "W", "12.5 V", "12,5 W", "-3 J", "nan W", "inf J", "1e999 J", "12 w", "1 2 W"]
)
def test_what_is_no_energy_and_no_power_is_refused_with_what_was_printed(line: str) -> None:
    with pytest.raises(CommandMeterError) as caught:
        parsed_line(line, "plug")
    assert repr(line) in str(caught.value) or not line


def test_a_counter_is_read_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "counter").write_text("plug 3\n1000 J\n\n")
    meter = CommandMeter("cat counter", folder=tmp_path)
    assert meter.read_joules() == 0.0
    (tmp_path / "counter").write_text("0.5 Wh\n")
    assert meter.read_joules() == pytest.approx(800.0)
    assert meter.name == "command cat counter"
    assert not meter.is_estimate
    (tmp_path / "counter").write_text("3 J\n")
    with pytest.raises(MeterError, match="1800 J"):
        meter.read_joules()
    (tmp_path / "counter").write_text("3 W\n")
    with pytest.raises(CommandMeterError, match=r"J.*W"):
        meter.read_joules()


def test_watts_are_sampled_without_the_time_that_a_sample_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, power = [0.0], ["10 W"]

    def run(*arguments: object, **settings: object) -> ScriptResult:
        now[0] += 0.5  # as long as the plug takes to answer
        return ScriptResult(0, power[0], "")

    monkeypatch.setattr(module, "run_script", run)
    with CommandMeter("plug", period_seconds=3600.0, clock=lambda: now[0]) as meter:
        before = meter.read_joules()
        now[0] += 7.0
        assert meter.read_joules() - before == pytest.approx(70.0)
        power[0] = "1 kW"
        assert meter.read_joules() >= before + 70.0


def test_a_command_that_fails_says_why_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CommandMeterError, match=r"7.*no plug there"):
        CommandMeter("echo 'no plug there' >&2; exit 7")
    with pytest.raises(CommandMeterError, match="127"):
        CommandMeter("read-no-such-plug-at-all")
    with pytest.raises(CommandMeterError, match=r"'12.5'.*J.*W"):
        CommandMeter("echo 12.5")
    with pytest.raises(CommandMeterError, match=r"\\x1b"):
        CommandMeter("printf '\\033[2J\\n'")
    with pytest.raises(CommandMeterError):
        CommandMeter("echo 1 J", folder=tmp_path / "missing")


def test_a_command_that_hangs_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIMIT_SECONDS", 0.3)
    with pytest.raises(CommandMeterError, match=r"0\.3 s"):
        CommandMeter("sleep 1000 & echo $! > child; sleep 1000", folder=tmp_path)
    until_gone(tmp_path / "child")


def test_a_command_that_prints_without_end_is_ended_at_once(tmp_path: Path) -> None:
    begin = time.monotonic()
    with pytest.raises(CommandMeterError, match=r"yes.* KiB.*J.*W"):
        CommandMeter("yes & echo $! > child; wait", folder=tmp_path)
    until_gone(tmp_path / "child")
    assert time.monotonic() - begin < module.LIMIT_SECONDS


def test_what_a_command_leaves_in_the_background_is_ended(tmp_path: Path) -> None:
    CommandMeter("sleep 1000 & echo $! > child; echo 1 J", folder=tmp_path)
    until_gone(tmp_path / "child")


def test_closing_ends_a_sample_that_is_under_way(tmp_path: Path) -> None:
    begin = time.monotonic()
    command = "[ -e slow ] && { sleep 1000 & echo $! > child; wait; }; echo 1 W"
    meter = CommandMeter(command, folder=tmp_path, period_seconds=0.01)
    meter.read_joules()
    (tmp_path / "slow").touch()
    until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
    meter.close()
    until_gone(tmp_path / "child")
    assert time.monotonic() - begin < module.LIMIT_SECONDS


def test_the_environment_is_that_which_is_given() -> None:
    assert CommandMeter('echo "$PLUG J"', environment={"PLUG": "5"}).update_seconds >= 1.0
    with pytest.raises(CommandMeterError):
        CommandMeter('echo "$PLUG J"', environment={})
