"""Studies whose values are the joules of a command, with settings of the machine among their options.

The machine is a folder: its meter is a file that the command adds to, so that every joule is known.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.command_line import call, good, mentions, refusal
from tests.forked import COMMAND_LINE, Command, imported
from tests.unit.hardware.fake_linux import contents, linux
from tests.unit.hardware.test_rapl import make_zone

from flexibo import Study
from flexibo.errors import MachineError
from flexibo.hardware.knobs import Roots

STUDY = """
name: metered
seed: 0
method: random
lease: 2s
options:
  batch: [1, 2, 4, 8]
knobs:
  swappiness: [10, 60]
objectives:
  energy:
    unit: J
    command: sh infer.sh {batch}
    meter: auto
  seconds: {measured_with: energy, quantity: seconds, unit: s, at_most: 1000}
  error:
    options: [batch]
    command: echo $(expr 10 - {batch}) 1
n_initial: 2
stop: {max_evaluations: 8}
"""
# A counter of microjoules: 10 J for each of the batch, half as much again if the machine swaps little.
INFER = """
file=sys/class/powercap/intel-rapl:0/energy_uj
[ -e wait ] && { touch running; sleep 60; }
awk -v n=$(cat $file) -v batch=$1 -v s=$(cat proc/sys/vm/swappiness) \\
    'BEGIN { printf "%d\\n", n + 1e7 * batch * (s == 10 ? 1.5 : 1) }' > next
cat next > $file
echo "swappiness was $(cat proc/sys/vm/swappiness)"
"""


@pytest.fixture
def roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Roots:
    found = linux(tmp_path)
    make_zone(found.sys / "class/powercap", "intel-rapl:0", "package-0", 0)
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "infer.sh").write_text(INFER)
    monkeypatch.chdir(tmp_path)
    for variable, folder in (("FLEXIBO_SYS", found.sys), ("FLEXIBO_PROC", found.proc)):
        monkeypatch.setenv(variable, str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return found


def energies() -> dict[tuple[int, int], float]:
    history = Study.load("sqlite:///metered.db").history
    found = [one for one in history.measurements if "energy" in one.values]
    return {(one.design["batch"], one.design["swappiness"]): one.values["energy"] for one in found}


def test_every_joule_of_a_metered_study_is_known_and_the_machine_is_as_before(roots: Roots) -> None:
    counter = roots.sys / "class/powercap/intel-rapl:0/energy_uj"
    before = {path: text for path, text in contents(roots).items() if path != str(counter)}
    good("run", "study.yaml", "--quiet")
    found = energies()
    assert len(found) >= 3
    assert found == {(batch, s): pytest.approx(10 * batch * (1.5 if s == 10 else 1)) for batch, s in found}
    assert {s for _, s in found} == {10, 60}
    assert {path: text for path, text in contents(roots).items() if path != str(counter)} == before
    assert int(counter.read_text()) == pytest.approx(1e6 * sum(found.values()))
    assert Study.load("sqlite:///metered.db").history.origin["meters"] == {"energy": "RAPL, 1 package"}


def test_a_study_is_not_continued_with_another_meter(roots: Roots) -> None:
    good("run", "study.yaml", "--quiet", "--max-evaluations", 2)
    make_zone(roots.sys / "class/powercap", "intel-rapl:1", "package-1", 0)
    for words in (["run", "study.yaml"], ["resume"], ["worker", "--file", "study.yaml", "--idle", "1s"]):
        assert mentions(refusal(*words), "energy", "RAPL, 1 package", "RAPL, 2 packages")


def test_nothing_runs_where_no_meter_can_be_read_or_a_setting_is_not_there(
    roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.rename(roots.proc / "sys/vm/swappiness", "swappiness")
    outcome = call("run", "study.yaml")
    assert isinstance(outcome.exception, MachineError)
    assert mentions(outcome.exception, "'swappiness'")
    os.rename("swappiness", roots.proc / "sys/vm/swappiness")
    os.rename(roots.sys / "class/powercap", "powercap")
    outcome = call("run", "study.yaml")
    assert isinstance(outcome.exception, MachineError)
    assert mentions(outcome.exception, "rapl", "flexibo doctor")
    assert not Path("metered.db").exists()
    good("run", "study.yaml", "--quiet", "--only", "error", "--idle", "0.01s")  # needs neither
    assert energies() == {}
    assert mentions(refusal("run", "study.yaml", "--executor", "processes"), "swappiness")


def test_a_dry_run_needs_no_meter(roots: Roots) -> None:
    os.rename(roots.sys / "class/powercap", "powercap")
    assert mentions(good("run", "study.yaml", "--dry-run"), "swappiness", "metered: auto")


@pytest.mark.slow
def test_after_a_kill_the_next_run_restores_the_machine_and_continues(roots: Roots, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY.replace("[10, 60]", "[10, 30]"))
    Path("wait").touch()
    with imported(*COMMAND_LINE):
        process = Command(Path.cwd(), "run", "study.yaml")
    try:
        while not Path("running").exists():
            assert process.returncode is None
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    file = roots.proc / "sys/vm/swappiness"
    assert file.read_text() in ("10\n", "30\n")
    Path("wait").unlink()
    printed = good("run", "study.yaml")
    assert mentions(printed, "Restored", "1 setting")
    assert file.read_text() == "60\n"
    assert len(energies()) >= 3
