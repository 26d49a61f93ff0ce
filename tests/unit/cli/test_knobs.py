"""The command line of knobs, on a machine in a folder."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path

import pytest
from tests.command_line import mentions
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
    assert mentions(output, "swappiness", "60", "10, 30, 60, 100")
    assert mentions(output, "cpu_frequency", "2.0352", "0.3456, ")
    assert mentions(output, "scheduler", "mixed", "CFP, NOOP")
    assert mentions(output, "gpu_frequency", "Jetson", roots.sys)
    assert mentions(output, "gpu_clock", "--allow-gpu")
    listed = {one["name"]: one for one in json.loads(invoke(roots, "list", "--json").output)}
    assert listed["active_cores"] == {"name": "active_cores", "present": 4, "offered": [1, 2, 3, 4], "refusal": ""}
    assert listed["emc_frequency"]["present"] is None


def test_folders_of_the_kernel_may_be_named_by_the_environment(roots: Roots) -> None:
    places = {"FLEXIBO_SYS": str(roots.sys), "FLEXIBO_PROC": str(roots.proc)}
    assert CliRunner().invoke(knobs, ["list"], env=places).output == invoke(roots, "list").output


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
    first, second = output.splitlines()
    assert mentions(first, vm / "swappiness", "10", "60")
    assert mentions(second, vm / "dirty_ratio", "5", "8192", vm / "dirty_bytes")
    assert str(vm) not in invoke(roots, "set", "swappiness=60", "--dry-run").output
    assert contents(roots) == before


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["swappiness=10"], ["command", "--"]),
        (["--", "true"], ["setting", "="]),
        (["swappiness=10", "swappiness=30", "--", "true"], ["'swappiness'", "twice"]),
        (["swapiness=10", "--", "true"], ["'swapiness'", "'swappiness'"]),
        (["swappiness=low", "--", "true"], ["'swappiness'", "'low'"]),
        (["cpu_frequency=7", "--", "true"], ["'cpu_frequency'", "7", "0.3456"]),
        (["gpu_clock=1", "--", "true"], ["--allow-gpu"]),
        (["swappiness=10", "--", "/no/such/command"], ["'/no/such/command'", os.strerror(errno.ENOENT)]),
    ],
)
def test_a_mistake_is_one_sentence_and_changes_nothing(roots: Roots, words: list[str], facts: list[str]) -> None:
    before = contents(roots)
    assert mentions(sentence(invoke(roots, "set", *words)), *facts)
    assert contents(roots) == before
    assert not (roots.sys.parent / "state/knobs.json").exists()


def test_restore_says_what_it_put_back_and_is_done_once(roots: Roots) -> None:
    path = put(roots.proc / "sys/vm/swappiness", 10)
    journal = journal_in(roots.sys.parent, roots)
    journal.begin([Write(str(path), "10", "60")])
    assert mentions(sentence(invoke(roots, "restore")), os.getpid(), "--force")
    assert path.read_text() == "10\n"
    journal.update([Write(str(path), "10", "60")], is_left=True)
    assert mentions(invoke(roots, "restore").output, path, "60", "1 setting")
    assert path.read_text() == "60\n"
    again = invoke(roots, "restore")
    assert str(path) not in again.output
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
