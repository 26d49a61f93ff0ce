"""Settings of the machine as options, on a machine in a folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.ordinary_user import as_an_ordinary_user
from tests.unit.hardware.fake_linux import contents, linux, put

from flexibo import Space
from flexibo.errors import InvalidValueError, MachineError
from flexibo.hardware.knobs import Journal, KnobUnavailableError, Roots, Write, default_path
from flexibo.studyfile.functions import Function
from flexibo.studyfile.machine_settings import KNOB_NAMES, NO_SETTINGS, MachineSettings


@pytest.fixture
def roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Roots:
    found = linux(tmp_path)
    monkeypatch.setenv("FLEXIBO_SYS", str(found.sys))
    monkeypatch.setenv("FLEXIBO_PROC", str(found.proc))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return found


def swappiness(roots: Roots) -> str:
    return (roots.proc / "sys/vm/swappiness").read_text().strip()


def test_the_machine_is_set_while_something_is_measured_and_restored_after_it(roots: Roots) -> None:
    before = contents(roots)
    with MachineSettings(("swappiness", "active_cores")).held({"swappiness": 10, "active_cores": 2, "batch": 4}):
        assert swappiness(roots) == "10"
        assert (roots.sys / "devices/system/cpu/cpu3/online").read_text() == "0\n"
    assert contents(roots) == before
    with pytest.raises(ZeroDivisionError), MachineSettings(("swappiness",)).held({"swappiness": 10}):
        assert 1 / 0
    assert contents(roots) == before


def test_what_does_not_apply_or_is_no_option_of_the_objective_is_left_alone(roots: Roots) -> None:
    settings = MachineSettings(("swappiness", "active_cores"))
    with settings.among(("active_cores", "batch")).held({"swappiness": 10, "active_cores": None}):
        assert swappiness(roots) == "60"
    assert settings.among(None) == settings
    with NO_SETTINGS.held({}):
        assert swappiness(roots) == "60"


def test_what_a_killed_measurement_left_is_restored_before_the_next_one(roots: Roots) -> None:
    path = put(roots.proc / "sys/vm/swappiness", 10)
    journal = Journal(default_path(os.environ, Path.home()), roots)
    journal.begin([Write(str(path), "10", "60")])
    journal.update([Write(str(path), "10", "60")], is_left=True)  # as after a kill: no living process has it
    with MachineSettings(("active_cores",)).held({"active_cores": 2}):
        assert swappiness(roots) == "60"
    journal.begin([Write(str(path), "10", "60")])
    put(path, 10)
    journal.update([Write(str(path), "10", "60")], is_left=True)
    restored = MachineSettings(("swappiness",)).check(Space({"swappiness": [10, 60]}))
    assert [write.before for write in restored] == ["60"]
    assert swappiness(roots) == "60"


def test_a_check_names_what_this_machine_does_not_have_or_does_not_offer(roots: Roots) -> None:
    assert NO_SETTINGS.check(Space({"x": [1, 2]})) == ()
    assert MachineSettings(("cpu_frequency",)).check(Space({"cpu_frequency": [0.3456, 2.0352]})) == ()
    with pytest.raises(KnobUnavailableError, match="'gpu_frequency'"):
        MachineSettings(("gpu_frequency",)).check(Space({"gpu_frequency": [0.1, 0.2]}))
    with pytest.raises(InvalidValueError, match=r"'cpu_frequency'.* 7.*0\.3456"):
        MachineSettings(("cpu_frequency",)).check(Space({"cpu_frequency": [0.3456, 7.0]}))
    with pytest.raises(InvalidValueError, match="9"):
        MachineSettings(("active_cores",)).check(Space({"active_cores": (1, 9)}))


def test_without_permission_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(tempfile.mkdtemp())  # every user may enter it, unlike tmp_path
    try:
        roots = linux(folder)
        monkeypatch.setenv("FLEXIBO_SYS", str(roots.sys))
        monkeypatch.setenv("FLEXIBO_PROC", str(roots.proc))
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        (folder / "run/lock").mkdir(parents=True)
        for place, mode in ((folder, 0o755), (folder / "run/lock", 0o777)):
            place.chmod(mode)
        with as_an_ordinary_user():
            if os.access(roots.proc / "sys/vm/swappiness", os.W_OK, effective_ids=True):
                (roots.proc / "sys/vm/swappiness").chmod(0o444)
            with pytest.raises(MachineError) as caught:
                MachineSettings(("swappiness",)).check(Space({"swappiness": [10, 30]}))
        assert "'swappiness'" in str(caught.value)
        assert "chmod a+w" in str(caught.value)
    finally:
        shutil.rmtree(folder)


def test_a_function_runs_with_the_settings(roots: Roots, tmp_path: Path, fresh_modules: Any) -> None:
    (tmp_path / "bench_settings.py").write_text(
        "from pathlib import Path\n\n"
        f"def ms(design):\n    return int(Path({str(roots.proc / 'sys/vm/swappiness')!r}).read_text())\n"
    )
    function = Function("bench_settings:ms", str(tmp_path), MachineSettings(("swappiness",)))
    assert function({"swappiness": 30}) == 30  # type: ignore[arg-type]
    assert swappiness(roots) == "60"


def test_the_names_are_those_of_flexibo_knobs() -> None:
    assert {"swappiness", "active_cores", "cpu_frequency", "gpu_clock", "power_limit", "scheduler"} <= set(KNOB_NAMES)
