"""Commands as objectives: what they are told, what they answer, how they end."""

from __future__ import annotations

import json
import os
import pickle
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.unit._internal.processes import PATIENCE, Clock, is_gone, until

from flexibo import Design, Evaluation, Objective, Space
from flexibo.errors import DesignError, MachineError
from flexibo.executors import InlineExecutor, Outcome
from flexibo.executors.measure import TookTooLongError, current_evaluation, measured
from flexibo.objectives import Reading
from flexibo.studyfile._inherited import WITHHELD
from flexibo.studyfile.command import Command, CommandError, read_value
from flexibo.studyfile.template import parsed

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a shell")
SPACE = Space({"x": [1, 2], "kind": ["a b", "$(touch pwned)", "'; touch pwned; '"], "on": [True, False]})


def design(kind: str = "a b", x: int = 1) -> Design:
    return SPACE.design({"x": x, "kind": kind, "on": True})


def command(text: str, folder: Path, **fields: Any) -> Command:
    template, wrong = parsed(text, SPACE.names)
    assert not wrong
    return Command("error", template, str(folder), **fields)


def evaluation(number: int = 7, **fields: Any) -> Evaluation:
    return Evaluation(design(), "error", None, 0.0, "", number, ("error",), **fields)


def outcome(measure: Any, objective: Objective | None = None) -> Outcome:
    return measured(evaluation(), objective or Objective("error"), measure)


def test_a_command_does_not_inherit_what_gives_access_to_the_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in WITHHELD:
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("PGHOST", "db")
    assert command("test $PGHOST = db && echo 5", tmp_path)(design()) == 5
    (tmp_path / "count.sh").write_text("env | grep -c '=secret$'; true")
    assert command("sh count.sh", tmp_path)(design()) == 0
    assert command("sh count.sh", tmp_path, passed=("PGPASSWORD", "PGPASSFILE"))(design()) == 2
    assert command('sh count.sh "$FLEXIBO_STORAGE"', tmp_path)(design()) == 1


class TestPrinted:
    @pytest.mark.parametrize("end", ["echo 5", "echo no value", "exit 3", "sleep 60"])
    def test_what_a_command_printed_comes_with_its_outcome_however_it_ended(self, tmp_path: Path, end: str) -> None:
        timeout = 0.2 if "sleep" in end else None
        found = outcome(command(f"echo epoch 1; echo oh >&2; {end}", tmp_path, timeout=timeout))
        assert "epoch 1" in found.printed
        assert "oh" in found.printed


class TestAnswers:
    def test_the_last_line_that_is_not_empty_is_the_value(self, tmp_path: Path) -> None:
        assert command("echo epoch 1; echo 0.25; echo; echo '  '", tmp_path)(design()) == 0.25

    @pytest.mark.parametrize(
        ("printed", "value"),
        [
            ("3", 3.0),
            ("-1e-3", -0.001),
            ("0.5 60", (0.5, 60.0)),
            ('{"value": 2}', 2),
            ('{"value": 2, "cost": 9.5}', (2, 9.5)),
            ('{"error": 1, "ms": 2.5}', {"error": 1, "ms": 2.5}),
            ('{"error": 1, "ms": 2.5, "cost": 3}', ({"error": 1, "ms": 2.5}, 3)),
        ],
    )
    def test_a_value_may_come_with_its_cost_and_with_others(self, printed: str, value: object) -> None:
        assert read_value(f"noise\n{printed}\n", "error") == value

    @pytest.mark.parametrize(
        ("printed", "value"),
        [
            ('{"value": 2, "deviation": 0.5, "cost": 9}', (Reading(2.0, deviation=0.5), 9)),
            (
                '{"error": {"value": 2, "deviation": 0.5, "repeats": 4}}',
                {"error": Reading(2, deviation=0.5, repeats=4)},
            ),
            ('{"value": {"value": 2, "deviation": 0, "repeats": 4}}', Reading(2, deviation=0, repeats=4)),
        ],
    )
    def test_a_value_may_have_an_error_bar(self, printed: str, value: object) -> None:
        assert repr(read_value(printed, "error")) == repr(value)

    def test_an_objective_may_itself_be_called_cost_or_value(self) -> None:
        assert read_value('{"cost": 4, "ms": 1}', "cost") == {"cost": 4, "ms": 1}
        assert read_value('{"value": 4}', "value") == {"value": 4}

    @pytest.mark.parametrize(
        ("printed", "facts"),
        [
            ("", "nothing"),
            ("done", "'done'.*JSON object"),
            ("1 2 3", "'1 2 3'.*JSON object"),
            ("1_000", "'1_000'.*JSON object"),
            ('{"value": "fast"}', r'"fast".*\'error\'.*number'),
            ('{"value": true}', r"true\b.*'error'.*number"),
            ('{"value": 2, "deviation": "x"}', r"deviation.*'error'.*number"),
            ('{"value": 2, "deviation": -1}', "wrong error bar.*zero or more"),
            ('{"error": {"value": 2}}', r"'error'.*\"deviation\""),
            ('{"value": ', r"'\{.*not JSON: "),
            ("{" * 100_000, r"'\.\.\.\{.*not JSON: "),
            ("9" * 100_000 + "x", r"'\.\.\.9.*JSON object"),
        ],
    )
    def test_what_is_no_value_fails_with_what_was_printed(self, printed: str, facts: str) -> None:
        with pytest.raises(CommandError) as caught:
            read_value(printed, "error")
        assert re.search(facts, str(caught.value))
        assert len(str(caught.value)) < 700

    @pytest.mark.parametrize("printed", ["nan", "inf", '{"value": NaN}', "1e300"])
    def test_what_is_no_finite_number_fails_the_evaluation(self, tmp_path: Path, printed: str) -> None:
        (tmp_path / "printed").write_text(printed)
        found = outcome(command("cat printed", tmp_path))
        assert found.values is None
        assert found.reason

    def test_readings_are_repeated_and_costs_added(self, tmp_path: Path) -> None:
        measure = command('echo x >> n; echo "$(wc -l < n) 10"', tmp_path)
        found = outcome(measure, Objective("error", noisy=True, repeats=3))
        assert found.values == {"error": 2.0}
        assert found.cost == 30.0


class TestEnvironment:
    def test_a_command_is_told_the_design_the_objective_and_the_number(self, tmp_path: Path) -> None:
        text = 'printf "%s\\n" "$FLEXIBO_OPTION_X" "$FLEXIBO_OPTION_ON" "$FLEXIBO_OBJECTIVE" "$FLEXIBO_NUMBER" '
        text += '"$FLEXIBO_ATTEMPT" "$FLEXIBO_DESIGN" > told; echo 1'
        assert outcome(command(text, tmp_path)).values == {"error": 1.0}
        told = (tmp_path / "told").read_text().splitlines()
        assert told[:5] == ["1", "true", "error", "7", "1"]
        assert json.loads(told[5]) == {"x": 1, "kind": "a b", "on": True}

    def test_options_of_another_evaluation_are_not_inherited(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FLEXIBO_OPTION_OLD", "stale")
        monkeypatch.setenv("MINE", "kept")
        assert command('echo "${FLEXIBO_OPTION_OLD-0}"', tmp_path)(design()) == 0
        assert command('test "$MINE" = kept; echo $?', tmp_path)(design()) == 0

    @pytest.mark.parametrize("kind", ["$(touch pwned)", "'; touch pwned; '"])
    def test_hostile_values_are_arguments_and_no_programs(self, tmp_path: Path, kind: str) -> None:
        measure = command('test {kind} = "$FLEXIBO_OPTION_KIND" && printf %s {kind} | wc -c', tmp_path)
        assert measure(design(kind)) == len(kind)
        assert not (tmp_path / "pwned").exists()

    def test_it_runs_in_the_folder_of_the_file_without_an_input(self, tmp_path: Path) -> None:
        (tmp_path / "value").write_text("5")
        assert command("cat; cat value", tmp_path)(design()) == 5

    def test_the_evaluation_is_known_only_while_it_is_measured(self) -> None:
        seen: list[Any] = []
        measured(evaluation(3), Objective("error"), lambda design: seen.append(current_evaluation()) or 1.0)
        assert seen[0].number == 3
        assert current_evaluation() is None


class TestEnds:
    def test_another_exit_status_fails_with_the_last_words(self, tmp_path: Path) -> None:
        found = outcome(command("echo 1; seq 1 9 >&2; echo out of memory >&2; exit 3", tmp_path))
        assert found.values is None
        assert not found.impossible
        assert re.search(r"'error'.*\b3: 7 / 8 / 9 / out of memory$", found.reason)

    def test_status_125_says_that_the_design_is_impossible(self, tmp_path: Path) -> None:
        with pytest.raises(DesignError):
            command("exit 125", tmp_path)(design())
        assert outcome(command("exit 125", tmp_path)).impossible

    @pytest.mark.parametrize("text", ["no-such-program {x}", "./not-executable"])
    def test_a_program_that_is_not_there_is_the_machines_fault(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "not-executable").write_text("echo 1")
        program, status = text.split()[0].removeprefix("./"), 126 if text.startswith("./") else 127
        with pytest.raises(MachineError, match=rf"'error'.*status {status}.*{program}"):
            outcome(command(text, tmp_path))

    def test_a_folder_that_is_gone_is_the_machines_fault(self, tmp_path: Path) -> None:
        with pytest.raises(MachineError, match=re.escape(str(tmp_path / "gone"))):
            outcome(command("echo 1", tmp_path / "gone"))

    def test_a_program_that_is_killed_says_by_what(self, tmp_path: Path) -> None:
        assert "SIGSEGV" in outcome(command("kill -SEGV $$", tmp_path)).reason

    def test_a_timeout_is_told_apart_from_a_failure(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("flexibo._internal.shell.time", Clock(tmp_path / "begun"))
        measure = command("echo 5; echo 1 > begun; sleep 1000", tmp_path, timeout=600.0, logs=str(tmp_path))
        with pytest.raises(TookTooLongError, match=r"timeout.*\b600 s"):
            measure(design())
        assert "# timeout " in (tmp_path / "no-number-error.log").read_text()

    def test_a_timeout_holds_in_other_threads_too(self, tmp_path: Path) -> None:
        found: list[Outcome] = []
        measure = command("sleep 1000", tmp_path, timeout=0.3)
        thread = threading.Thread(target=lambda: found.append(outcome(measure, Objective("error", timeout=0.3))))
        thread.start()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert re.search(r"timeout.*\b0\.3 s", found[0].reason)

    def test_the_timeout_of_the_executor_ends_it_as_well(self, tmp_path: Path) -> None:
        found = outcome(command("echo $$ > pid; sleep 1000", tmp_path), Objective("error", timeout=2.0))
        assert re.search(r"timeout.*\b2 s", found.reason)
        pid = (tmp_path / "pid").read_text() if (tmp_path / "pid").exists() else ""  # it may not have come so far
        until(lambda: not pid or is_gone(int(pid)))


class TestLogs:
    def test_what_is_printed_is_kept_with_the_command_and_its_end(self, tmp_path: Path) -> None:
        measure = command("echo hello {kind}; echo oops >&2; echo 1", tmp_path, logs=str(tmp_path / "logs"))
        outcome(measure)
        text = (tmp_path / "logs" / "00007-error.log").read_text()
        assert "$ echo hello 'a b'; echo oops" in text
        assert "hello a b\n" in text
        assert "oops" in text
        assert re.search(r"^# .*\b0 .*\b\d\.\d{3} s$", text, re.MULTILINE)

    def test_readings_follow_each_other_in_one_file(self, tmp_path: Path) -> None:
        measure = command("echo 1", tmp_path, logs=str(tmp_path / "logs"))
        outcome(measure, Objective("error", noisy=True, repeats=3))
        (log,) = (tmp_path / "logs").iterdir()
        assert log.read_text().count("$ echo 1") == 3

    def test_a_log_that_cannot_be_written_fails_nothing(self, tmp_path: Path, caplog: Any) -> None:
        (tmp_path / "logs").write_text("a file")
        assert outcome(command("echo 1", tmp_path, logs=str(tmp_path / "logs"))).values == {"error": 1.0}
        assert str(tmp_path / "logs" / "00007-error.log") in caplog.text

    def test_all_readings_of_an_evaluation_share_the_largest_size(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("flexibo.studyfile.command.MOST_LOGGED", 1000)
        measure = command("head -c 600 /dev/zero | tr '\\0' x; echo; echo 1", tmp_path, logs=str(tmp_path / "logs"))
        outcome(measure, Objective("error", noisy=True, repeats=5))
        (log,) = (tmp_path / "logs").iterdir()
        assert log.stat().st_size < 1200
        assert log.read_text().count("omitted") == 1

    def test_a_log_has_a_largest_size(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("flexibo.studyfile.command.MOST_LOGGED", 1000)
        outcome(command("head -c 100000 /dev/zero | tr '\\0' x; echo; echo 1", tmp_path, logs=str(tmp_path / "logs")))
        (log,) = (tmp_path / "logs").iterdir()
        assert log.stat().st_size < 2000
        assert "omitted" in log.read_text()


def test_a_command_travels_to_other_processes(tmp_path: Path) -> None:
    measure = pickle.loads(pickle.dumps(command("echo {x}", tmp_path, timeout=30.0)))
    assert measure(design(x=2)) == 2


def test_the_inline_executor_gives_its_outcome(tmp_path: Path) -> None:
    executor = InlineExecutor()
    executor.submit(evaluation(), Objective("error"), command("echo 2 5", tmp_path))
    (found,) = executor.finished()
    assert (found.values, found.cost, found.timed) == ({"error": 2.0}, 5.0, False)
