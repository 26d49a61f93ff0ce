"""Metered commands: what is the value, on meters that count a known number of joules."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.unit.hardware.fake_linux import put
from tests.unit.hardware.test_rapl import make_zone

from flexibo import Evaluation, Objective
from flexibo.errors import InvalidTypeError, UnknownNameError
from flexibo.executors.measure import measured
from flexibo.hardware import IdlePower, MeterError, TooHotError, TooShortError
from flexibo.studyfile import Command, metering
from flexibo.studyfile.metering import MeterChoice

METER = "echo $(cat count) J"
BURN = "n=$(cat count); echo $((n + {joules})) > count; echo {printed}"


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLEXIBO_SYS", str(tmp_path / "sys"))
    monkeypatch.setattr(metering, "_known_idle", {})
    (tmp_path / "count").write_text("1000\n")
    return tmp_path


def metered_command(folder: Path, script: str, *quantities: tuple[str, str], **meter: Any) -> Command:
    from flexibo.studyfile.template import parsed

    template, wrong = parsed(script, ["x"])
    assert not wrong
    choice = MeterChoice(meter.pop("name", METER), str(folder), **meter)
    return Command("energy", template, str(folder), meter=choice, quantities=quantities or (("energy", "joules"),))


def answer(command: Command) -> Any:
    return command({"x": 1})  # type: ignore[arg-type]


def test_the_value_is_the_energy_whatever_the_command_prints(tmp_path: Path) -> None:
    command = metered_command(tmp_path, BURN.format(joules=42, printed="no number at all"))
    assert answer(command) == {"energy": pytest.approx(42.0)}
    assert answer(pickle.loads(pickle.dumps(command))) == {"energy": pytest.approx(42.0)}


def test_power_and_time_are_quantities_too(tmp_path: Path) -> None:
    quantities = (("energy", "joules"), ("power", "watts"), ("time", "seconds"))
    found = answer(metered_command(tmp_path, BURN.format(joules=6, printed=""), *quantities))
    assert found["energy"] == pytest.approx(6.0)
    assert found["power"] == pytest.approx(6.0 / found["time"])


def test_what_the_command_prints_is_a_value_where_that_is_wanted(tmp_path: Path) -> None:
    printed = """'{"error": 0.25, "cost": 7}'"""
    command = metered_command(
        tmp_path, BURN.format(joules=5, printed=printed), ("energy", "joules"), ("error", "printed")
    )
    values, cost = answer(command)
    assert (values, cost) == ({"error": 0.25, "energy": pytest.approx(5.0)}, 7)
    own = metered_command(tmp_path, BURN.format(joules=5, printed="3.5"), ("energy", "printed"), ("joules", "joules"))
    assert answer(own) == {"energy": 3.5, "joules": pytest.approx(5.0)}
    lacking = metered_command(tmp_path, BURN.format(joules=5, printed="{}"), ("energy", "joules"), ("ms", "printed"))
    evaluation = Evaluation({"x": 1}, "energy", None, 0.0, "", 0, ("energy", "ms"))  # type: ignore[arg-type]
    outcome = measured(evaluation, Objective("energy"), lacking)
    assert outcome.values is None
    assert "'ms'" in outcome.reason
    assert isinstance(outcome.error, InvalidTypeError)


def test_idle_power_is_measured_once_for_each_setting_and_subtracted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def idle(meter: object, seconds: float) -> IdlePower:
        calls.append(seconds)
        return IdlePower(10.0, 0.5, seconds)

    monkeypatch.setattr(metering, "measured_idle", idle)
    choice = MeterChoice(METER, str(tmp_path), idle_seconds=3.0)

    def work() -> None:
        (tmp_path / "count").write_text(f"{int((tmp_path / 'count').read_text()) + 50}\n")

    for settings in ((), (), (("cpu_governor", "powersave"),)):
        run, line = choice.read(work, {"PATH": "/bin:/usr/bin"}, settings)
        assert run.joules == pytest.approx(50.0 - 10.0 * run.seconds)
        assert "10 W" in line
        assert "0.5 W" in line
    assert calls == [3.0, 3.0]


def test_a_reading_waits_until_the_machine_is_cool(tmp_path: Path) -> None:
    put(tmp_path / "sys/class/thermal/thermal_zone0/type", "cpu-thermal")
    put(tmp_path / "sys/class/thermal/thermal_zone0/temp", 75_000)
    script = BURN.format(joules=5, printed="")
    with pytest.raises(TooHotError, match="75"):
        answer(metered_command(tmp_path, script, celsius=60.0, cool_limit_seconds=0.01))
    assert (tmp_path / "count").read_text() == "1000\n"  # it did not run
    assert answer(metered_command(tmp_path, script, celsius=80.0)) == {"energy": pytest.approx(5.0)}


def test_meters_of_the_machine_are_read_by_name(tmp_path: Path) -> None:
    zone = make_zone(tmp_path / "sys/class/powercap", "intel-rapl:0", "package-0", 0)
    for name in ("auto", "rapl"):
        command = metered_command(tmp_path, f"echo $(($(cat {zone}) + 3000000)) > {zone}", name=name)
        assert answer(command) == {"energy": pytest.approx(3.0)}


def test_a_meter_that_cannot_be_read_stops_the_study_and_one_that_is_too_slow_fails_the_design(tmp_path: Path) -> None:
    with pytest.raises(MeterError, match="exit status 1"):
        answer(metered_command(tmp_path, "echo", name="false now"))
    with pytest.raises(UnknownNameError):
        answer(metered_command(tmp_path, "echo", name="rapll"))
    with pytest.raises(TooShortError):
        answer(metered_command(tmp_path, "echo"))


def test_the_meter_inherits_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "secret")
    (tmp_path / "plug.sh").write_text('echo "$PGPASSWORD" > seen; echo $(cat count) J\n')
    answer(metered_command(tmp_path, BURN.format(joules=5, printed=""), name="sh plug.sh"))
    assert (tmp_path / "seen").read_text() == "\n"
