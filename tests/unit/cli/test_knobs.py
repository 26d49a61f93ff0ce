"""The command line of knobs, on a machine in a folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import contents, journal_in, linux, put
from typer.testing import CliRunner, Result

from flexibo.cli.knobs import knobs
from flexibo.errors import FlexiBOError
from flexibo.hardware.knobs import Roots, Write


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return linux(tmp_path)


def invoke(roots: Roots, command: str, *words: str) -> Result:
    journal = [] if command == "list" else ["--journal", str(roots.sys.parent / "state/knobs.json")]
    places = ["--sys", str(roots.sys), "--proc", str(roots.proc)]
    return CliRunner().invoke(knobs, [command, *places, *journal, *words])


def sentence(result: Result) -> str:
    assert isinstance(result.exception, FlexiBOError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def script(roots: Roots, last: str) -> list[str]:
    """A command that says what the settings are while it runs."""
    path = roots.proc / "sys/vm/swappiness"
    return [
        sys.executable,
        "-c",
        f"import os, sys; open({str(path) + '.seen'!r}, 'w').write(open({str(path)!r}).read()); {last}",
    ]


def test_the_list_says_what_is_what_could_be_and_why_not(roots: Roots) -> None:
    output = invoke(roots, "list").output
    assert "swappiness  now 60  of 10, 30, 60, 100\n" in output
    assert "cpu_frequency  now 2.0352  of 0.3456, " in output
    assert "scheduler  now mixed  of CFP, NOOP\n" in output
    assert "gpu_frequency\n    There is no GPU of a Jetson board under" in output
    assert "gpu_clock\n    Clocks and power limits of GPUs" in output
    listed = {one["name"]: one for one in json.loads(invoke(roots, "list", "--json").output)}
    assert listed["active_cores"] == {"name": "active_cores", "present": 4, "offered": [1, 2, 3, 4], "refusal": ""}
    assert listed["emc_frequency"]["present"] is None


def test_a_command_runs_under_settings_which_are_put_back(roots: Roots) -> None:
    before = contents(roots)
    result = invoke(roots, "set", "swappiness=10", "scheduler=NOOP", "--", *script(roots, "sys.exit(3)"))
    assert result.exit_code == 3, result.output
    seen = roots.proc / "sys/vm/swappiness.seen"
    assert seen.read_text() == "10\n"
    seen.unlink()
    after = contents(roots)
    disk = str(roots.sys / "block/sda/queue/scheduler")
    assert after.pop(disk) == "mq-deadline\n"  # a plain file has no brackets
    before.pop(disk)
    assert after == before
    assert not (roots.sys.parent / "state/knobs.json").exists()


def test_a_command_that_is_killed_has_the_status_that_a_shell_gives_it(roots: Roots) -> None:
    result = invoke(roots, "set", "swappiness=10", "--", *script(roots, "os.kill(os.getpid(), 9)"))
    assert result.exit_code == 137


def test_a_dry_run_prints_the_writes_and_makes_none(roots: Roots) -> None:
    put(roots.proc / "sys/vm/dirty_bytes", 8192)
    before = contents(roots)
    output = invoke(roots, "set", "swappiness=10", "dirty_ratio=5", "--dry-run").output
    vm = roots.proc / "sys/vm"
    assert output == (
        f"{vm / 'swappiness'}: 10 (put back: 60)\n{vm / 'dirty_ratio'}: 5 (put back: 8192 in {vm / 'dirty_bytes'})\n"
    )
    assert "Nothing would be written" in invoke(roots, "set", "swappiness=60", "--dry-run").output
    assert contents(roots) == before


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["swappiness=10"], "No command is given; give one after --"),
        (["--", "true"], "No setting is given"),
        (["swappiness=10", "swappiness=30", "--", "true"], "Knob 'swappiness' is given twice"),
        (["swapiness=10", "--", "true"], "did you mean 'swappiness'"),
        (["swappiness=low", "--", "true"], "Option 'swappiness' is 'low'"),
        (["cpu_frequency=7", "--", "true"], "Option 'cpu_frequency' is 7; this machine has 0.3456"),
        (["gpu_clock=1", "--", "true"], "--allow-gpu"),
        (["swappiness=10", "--", "/no/such/command"], "'/no/such/command' cannot be run: No such file or directory."),
    ],
)
def test_a_mistake_is_one_sentence_and_changes_nothing(roots: Roots, words: list[str], expected: str) -> None:
    before = contents(roots)
    assert expected in sentence(invoke(roots, "set", *words))
    assert contents(roots) == before
    assert not (roots.sys.parent / "state/knobs.json").exists()


def test_restore_says_what_it_put_back_and_is_done_once(roots: Roots) -> None:
    path = put(roots.proc / "sys/vm/swappiness", 10)
    journal = journal_in(roots.sys.parent, roots)
    journal.begin([Write(str(path), "10", "60")])
    assert "is using these settings" in sentence(invoke(roots, "restore"))
    journal.update([Write(str(path), "10", "60")], is_left=True)
    assert invoke(roots, "restore").output == f"{path}: 60\nPut back 1 setting.\n"
    assert path.read_text() == "60\n"
    again = invoke(roots, "restore")
    assert again.output.startswith("Nothing to put back")
    assert again.exit_code == 0


def test_restore_of_another_boot_needs_force(roots: Roots) -> None:
    path = put(roots.proc / "sys/vm/swappiness", 10)
    journal_in(roots.sys.parent, roots).begin([Write(str(path), "10", "60")])
    put(roots.proc / "sys/kernel/random/boot_id", "later")
    assert "--force" in sentence(invoke(roots, "restore"))
    assert path.read_text() == "10\n"
    assert invoke(roots, "restore", "--force").exit_code == 0
    assert path.read_text() == "60\n"


def test_the_journal_is_the_users_own_by_default(roots: Roots, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "own"))
    result = CliRunner().invoke(knobs, ["restore", "--sys", str(roots.sys), "--proc", str(roots.proc)])
    assert str(tmp_path / "own/flexibo/knobs.json") in result.output
