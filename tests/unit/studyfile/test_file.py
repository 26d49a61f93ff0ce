"""Study files as a whole: their names and storages, every mistake at once, and files that are none."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from tests.unit.studyfile.texts import OBJECTIVES, SMALL

from flexibo import Objective, Space
from flexibo.errors import SettingsDifferError
from flexibo.studyfile import ExecutorChoice, StudyFileError, read_study_file
from flexibo.studyfile.file import dependence_hints


class TestWhatItCanSay:
    def test_a_short_file_has_sensible_defaults(self, read: Any, tmp_path: Path) -> None:
        file = read(SMALL)
        assert file.name == tmp_path.name
        assert file.storage == f"sqlite:///{tmp_path / tmp_path.name}.db"
        assert not file.names_storage
        assert file.space == Space({"x": [1, 2, 3]})
        assert file.objectives == (Objective("error"), Objective("joules"))
        assert file.executor == ExecutorChoice("inline")
        assert file.settings == {}

    def test_a_name_a_storage_a_rule_and_logs_may_be_given(self, read: Any, tmp_path: Path) -> None:
        (tmp_path / "mine.py").write_text("def legal(design):\n    return design['x'] < 3\n")
        file = read(f"name: net\nstorage: sqlite:///other.db\nvalid: mine:legal\nlogs: logs\n{SMALL}")
        assert file.name == "net"
        assert file.storage == f"sqlite:///{tmp_path / 'other.db'}"
        assert file.names_storage
        assert file.space.size == 2
        assert file.measures["error"].logs == str(tmp_path / "logs")

    def test_its_study_has_the_settings_and_knows_its_file(self, read: Any, tmp_path: Path) -> None:
        file = read(f"method: parego\nbudget: 30m\nseed: 3\n{SMALL}")
        study = file.study(storage=None)
        assert (study.method.name, study.budget, study.settings.seed) == ("parego", 1800.0, 3)
        known = {"study_file": str(tmp_path / "study.yaml"), "sha256": file.source.digest}
        assert study.history.origin == {**known, "cost_unit": "s"}
        plain = read(f"budget: 1800\n{SMALL}")
        assert plain.origin == {**known, "sha256": plain.source.digest}

    def test_a_study_that_is_joined_keeps_its_own_settings_and_must_have_the_options_of_the_file(
        self, read: Any, tmp_path: Path
    ) -> None:
        file = read(f"name: net\nmethod: parego\nseed: 3\nlease: 2m\n{SMALL}")
        file.study(method="random", seed=5).close()
        joined = file.joined(file.storage, "net")
        assert (joined.method.name, joined.settings.seed) == ("random", 5)
        joined.close()
        with pytest.raises(SettingsDifferError):
            read(f"name: net\n{SMALL.replace('3]', '4]')}").joined(file.storage, "net")

    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("sqlite:///a/b.db", "sqlite:///{folder}/a/b.db"),
            ("sqlite:////abs/b.db", "sqlite:////abs/b.db"),
            ("sqlite:///~/b.db", "sqlite:///~/b.db"),
            ("postgresql://me@host/studies", "postgresql://me@host/studies"),
        ],
    )
    def test_a_storage_is_beside_the_file_unless_it_is_elsewhere(
        self, read: Any, tmp_path: Path, url: str, expected: str
    ) -> None:
        assert read(f"storage: {url}\n{SMALL}").storage == expected.format(folder=tmp_path)

    def test_a_name_for_people_becomes_a_name_for_a_file(self, read: Any, tmp_path: Path) -> None:
        assert read(f'name: "../../my study: 1"\n{SMALL}').storage == f"sqlite:///{tmp_path}/my-study-1.db"

    def test_a_file_with_a_byte_order_mark_or_other_line_ends_is_read(self, read: Any) -> None:
        assert read(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode()).space.names == ("x",)


class TestAdvice:
    TEXT = "options: {x: [1, 2], y: [1, 2]}\nobjectives:\n  a: {command: 'COMMAND'}\n  b: {command: 'echo {x} {y}'}\n"

    @pytest.mark.parametrize("command", ["echo {x}", "echo {x} $FLEXIBO_OPTION_Z"])
    def test_an_objective_that_names_some_of_the_options_may_depend_on_those_only(
        self, read: Any, command: str
    ) -> None:
        (hint,) = dependence_hints(read(self.TEXT.replace("COMMAND", command)))
        assert hint.startswith("a ")
        assert "options: [x]" in hint

    @pytest.mark.parametrize(
        "command", ["echo 1", "echo {x} {y}", "echo {x} $FLEXIBO_OPTION_Y", "echo {x} $FLEXIBO_DESIGN"]
    )
    def test_there_is_no_advice_where_all_options_may_be_read(self, read: Any, command: str) -> None:
        assert dependence_hints(read(self.TEXT.replace("COMMAND", command))) == []

    def test_there_is_no_advice_where_the_options_are_given_or_the_command_measures_another_too(
        self, read: Any
    ) -> None:
        given = self.TEXT.replace("'COMMAND'", "'echo {x}', options: [x]")
        assert dependence_hints(read(given)) == []
        assert dependence_hints(read(self.TEXT.replace("COMMAND", "echo {x}") + "  c: {measured_with: a}\n")) == []


class TestMistakes:
    def test_all_mistakes_are_listed_at_once_in_the_order_of_the_lines(self, mistakes: Any) -> None:
        found = mistakes(
            """name: 12
metod: flexibo
method: flexbo
budget: soon
seed: -1
options:
  filters: 16
  kernel: [1x1, no]
  cores: {from: 6, to: 1}
  ghz: {low: 1, to: 2}
  momentum: {from: 0, to: 1, when: {kernle: 1x1}}
objectives:
  error:
    direction: smaller
    options: [filers]
    command: run "{kernel}" {kernle}
    noise: true
  joules:
    function: nowhere:joules
  ms: {measured_with: joule}
stop: {max_evals: 3}
"""
        )
        lines = [line for line, _, _ in found]
        assert lines == sorted(lines)
        assert set(lines) == {1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 14, 15, 16, 17, 19, 20, 21}
        sentences = {line: sentence for line, _, sentence in found}
        for line, facts in {
            2: r"no key 'metod'.*'method'",
            3: r"method 'flexbo'.*'flexibo'",
            4: r"budget is 'soon'.*duration",
            9: r"'cores'.*\(6, 1\)",
            10: r"'low'.*'ghz'.*'from'",
            11: r"'kernle'.*when.*'momentum'.*'kernel'",
            14: r"direction.*'smaller'.*min.*max",
            15: r"'filers'.*'error'.*'filters'",
            17: r"no key 'noise'.*'error'.*'noisy'",
            19: r"no module 'nowhere'",
            20: r"'joule'.*'joules'",
            21: r"no key 'max_evals'.*stop.*'max_evaluations'",
        }.items():
            assert re.search(facts, sentences[line])

    @pytest.mark.parametrize(
        ("line", "facts"),
        [
            ("storage: study.db", r"storage.*sqlite:///"),
            ("valid: nothing", r"valid.*'nothing'.*module:function"),
            ("logs: 3", r"logs.* 3\b.*text"),
            ("<<: {seed: 1}", r"no key '<<'"),
        ],
    )
    def test_each_key_says_what_it_wants(self, mistakes: Any, line: str, facts: str) -> None:
        ((at, _, sentence),) = mistakes(f"{line}\n{SMALL}")
        assert at == 1
        assert re.search(facts, sentence)

    def test_a_mistake_in_the_name_of_an_option_brings_no_complaints_about_its_placeholders(
        self, mistakes: Any
    ) -> None:
        found = mistakes(OBJECTIVES.replace("{x}", "{x} {on} {true}") + "options: {x: [2, 1, 1], on: [1], true: [1]}\n")
        assert {line for line, _, _ in found} == {7}
        assert len(found) == 3


class TestFilesThatAreNone:
    @pytest.mark.parametrize(
        ("data", "facts"),
        [
            (b"", r"empty.*flexibo init"),
            (b" \n\n", "empty"),
            (b"# remark\n", r"nothing.*flexibo init"),
            (b"\x89PNG\r\n\x1a\n\xff", r"UTF-8.*byte 0\b"),
            (b"name: a\0b", "zero bytes"),
            (b"a" * 1_000_001, r"\b1000000 bytes"),
            (b"- a\n- b\n", r":1:1: .*mapping"),
            (b"just words\n", r":1:1: .*mapping"),
        ],
    )
    def test_each_is_said_with_the_name_of_the_file(self, read: Any, tmp_path: Path, data: bytes, facts: str) -> None:
        with pytest.raises(StudyFileError) as caught:
            read(data)
        assert str(caught.value).startswith(str(tmp_path / "study.yaml"))
        assert re.search(facts, str(caught.value))

    def test_a_missing_file_is_answered_with_the_nearest(self, tmp_path: Path) -> None:
        with pytest.raises(StudyFileError, match=r"study\.yaml.*flexibo init"):
            read_study_file(tmp_path / "study.yaml")
        (tmp_path / "study.yaml").write_text(SMALL)
        with pytest.raises(StudyFileError, match=r"studdy\.yaml.*'study\.yaml'"):
            read_study_file(tmp_path / "studdy.yaml")

    @pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
    def test_folders_and_pipes_are_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.yaml")
        for path in (tmp_path, tmp_path / "pipe.yaml"):
            with pytest.raises(StudyFileError, match=rf"{re.escape(path.name)}.*not a file"):
                read_study_file(path)
