"""The options of a study file: all that a space can, tables of designs, and what is wrong with either."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from tests.unit.studyfile.texts import OBJECTIVES, SMALL

from flexibo import Categorical, Integer, Ordinal, Real


def test_options_can_be_all_that_a_space_can(read: Any) -> None:
    file = read(
        """
options:
  filters: [64, 16, 32]
  kernel: [1x1, 3x3]
  flag: [true, false]
  cores: {from: 1, to: 6}
  ghz: {from: 0.3, to: 2.3}
  half: {from: 1, to: 6, whole: false}
  rate: {from: 1e-5, to: 0.1, log: true}
  batch: {from: 1, to: 1024, log: true}
  decay: {from: 1e-5, to: 0.1}
  even: {from: 1e-5, to: 0.1, log: false}
  size: {ordered: [small, medium, large]}
  id: {unordered: [3, 1, 2]}
  opt: [sgd, adam]
  momentum: {from: 0.0, to: 0.99, when: {opt: sgd}}
  nesterov:
    unordered: [true, false]
    when: {opt: [sgd], momentum_on: [1, 2]}
  momentum_on: [0, 1, 2]
"""
        + OBJECTIVES.replace("{x}", "{cores}")
    )
    assert dict(file.space.options) == {
        "filters": Ordinal([16, 32, 64]),
        "kernel": Categorical(["1x1", "3x3"]),
        "flag": Categorical([True, False]),
        "cores": Integer(1, 6),
        "ghz": Real(0.3, 2.3),
        "half": Real(1, 6),
        "rate": Real(1e-5, 0.1, log=True),
        "batch": Integer(1, 1024, log=True),
        "decay": Real(1e-5, 0.1, log=True),
        "even": Real(1e-5, 0.1, log=False),
        "size": Ordinal(["small", "medium", "large"]),
        "id": Categorical([3, 1, 2]),
        "opt": Categorical(["sgd", "adam"]),
        "momentum": Real(0.0, 0.99),
        "nesterov": Categorical([True, False]),
        "momentum_on": Ordinal([0, 1, 2]),
    }
    assert file.space.conditions == {
        "momentum": {"opt": ("sgd",)},
        "nesterov": {"opt": ("sgd",), "momentum_on": (1, 2)},
    }


@pytest.mark.parametrize(
    ("values", "facts"),
    [
        ("5", r"'x'.* 5;.*\[16, 32, 64\].*\{from: 1, to: 6\}"),
        ("", r"'x'.* nothing;.*\[16, 32, 64\]"),
        ("[]", r"'x'.*no values"),
        ("[1, 1]", r"'x'.*\b1 twice"),
        ("[1, [2]]", r"'x'.*list among"),
        ("[1, .inf]", r"'x'.*inf.*finite"),
        ("{from: 1}", r"'x' lacks to;"),
        ("{}", r"'x' lacks.*from.*to;"),
        ("{from: 0, to: 1, log: true}", r"'x'.*\(0, 1\).*log scale.*\b0\b"),
        ("{from: a, to: 2}", r"from.*'x'.* 'a';.*number"),
        ("{from: 1, to: 2, log: 1}", r"log.*'x'.* 1;.*true.*false"),
        ("{from: 1.5, to: 2.5, whole: true}", r"'x'.*\b1\.5;.*Integer.*whole"),
        ("{ordered: [a], from: 1, to: 2}", r"'x' mixes.*list.*bounds"),
        ("{ordered: [a], unordered: [b]}", r"'x' mixes.*another list"),
        ("{ordered: a}", r"ordered.*'x'.*list"),
        ("{from: 1, to: 2, when: {x: [1]}}", r"conditions.*cycle"),
        ("{from: 1, to: 2, when: [y]}", r"when.*'x'.* list;.*mapping"),
        ("{from: 1, to: 2, when: {y: c}}", r"'x'.*'c' of 'y'"),
    ],
)
def test_each_option_says_what_it_wants(mistakes: Any, values: str, facts: str) -> None:
    found = mistakes(f"options:\n  y: [a, b]\n  x: {values}\n{OBJECTIVES}")
    assert [at for at, _, _ in found] == [3]
    assert re.search(facts, found[0][2])


def test_there_must_be_options(mistakes: Any) -> None:
    assert re.search("no options", mistakes("objectives: {a: {command: echo 1}}")[0][2])
    assert "options is empty" in mistakes(f"options: {{}}\n{OBJECTIVES}")[0][2]


class TestTables:
    def test_designs_may_come_from_a_table(self, read: Any, tmp_path: Path) -> None:
        (tmp_path / "pool.csv").write_text("cores,ghz,kernel,note\n1,2.0,3x3,a\n4,0.5,1x1,b\n4,1,1x1,c\n")
        objectives = OBJECTIVES.replace("{x}", "{kernel}")
        file = read(f"designs: pool.csv\n{objectives}")
        assert file.space.size == 3
        assert file.space.options["ghz"] == Ordinal([0.5, 1.0, 2.0])
        assert file.space.options["cores"] == Ordinal([1, 4])
        assert file.space.options["kernel"] == Categorical(["1x1", "3x3"])
        file = read(f"designs: {{file: pool.csv, columns: [cores, kernel]}}\n{objectives}")
        assert file.space.names == ("cores", "kernel")
        assert file.space.size == 2

    def test_a_table_brings_its_own_options_and_needs_no_rule(self, mistakes: Any, tmp_path: Path) -> None:
        ((line, _, sentence),) = mistakes(f"designs: pool.csv\n{SMALL}")
        assert line == 1
        assert re.search("options and designs", sentence)
        (tmp_path / "pool.csv").write_text("x\n1\n2\n")
        ((line, _, sentence),) = mistakes(f"designs: pool.csv\nvalid: os.path:exists\n{OBJECTIVES}")
        assert line == 2
        assert re.search("designs.*valid", sentence)

    @pytest.mark.parametrize(
        ("table", "facts"),
        [
            ("", "no designs"),
            ("a,b\n", "no designs"),
            ("a,a\n1,2\n", r"heading a, a;"),
            ("a,\n1,2\n", r"heading a, ;"),
            ("a,b\n1,2\n3\n", r"\b1 values.*row 3\b.*\b2\b"),
            ("a,b\n1,\xff\n", "UTF-8"),
        ],
    )
    def test_a_table_of_designs_that_is_none_is_said(
        self, mistakes: Any, tmp_path: Path, table: str, facts: str
    ) -> None:
        (tmp_path / "pool.csv").write_bytes(table.encode("latin-1"))
        found = mistakes(f"designs: pool.csv\n{OBJECTIVES}")
        assert found[0][0] == 1
        assert re.search(rf"^pool\.csv .*{facts}", found[0][2])

    def test_a_table_that_is_not_there_and_a_column_that_is_not_in_it(self, mistakes: Any, tmp_path: Path) -> None:
        missing = mistakes(f"designs: pool.csv\n{OBJECTIVES}")[0][2]
        assert re.search(rf"^pool\.csv .*{os.strerror(2)}", missing)
        (tmp_path / "pool.csv").write_text("cores,x\n1,2\n2,2\n")
        found = mistakes(f"designs: {{file: pool.csv, columns: [core]}}\n{OBJECTIVES}")
        assert re.search(r"pool\.csv.*column 'core'.*'cores'", found[0][2])

    @pytest.mark.skipif(os.name != "posix", reason="needs devices")
    def test_a_device_is_no_table_of_designs(self, mistakes: Any) -> None:
        assert re.search("^/dev/zero.*not a file", mistakes(f"designs: /dev/zero\n{OBJECTIVES}")[0][2])

    @pytest.mark.skipif(os.name != "posix", reason="needs pipes")
    def test_a_pipe_is_no_table_of_designs(self, mistakes: Any, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pool.csv")
        assert re.search(r"^pool\.csv.*not a file", mistakes(f"designs: pool.csv\n{OBJECTIVES}")[0][2])

    def test_a_table_has_a_largest_size(self, mistakes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("flexibo.studyfile._options.MOST_TABLE_BYTES", 100)
        (tmp_path / "pool.csv").write_text("x\n" + "1\n" * 100)
        assert re.search(r"^pool\.csv.*\b100 bytes", mistakes(f"designs: pool.csv\n{OBJECTIVES}")[0][2])

    def test_a_cell_that_is_too_long_is_a_mistake(self, mistakes: Any, tmp_path: Path) -> None:
        (tmp_path / "pool.csv").write_text("x\n" + "a" * 200_000 + "\n")
        assert re.search(r"^pool\.csv.*CSV.*field limit", mistakes(f"designs: pool.csv\n{OBJECTIVES}")[0][2])


KNOBS = """
options: {batch: [1, 2]}
knobs:
  swappiness: [10, 60]
  active_cores: {from: 1, to: 4}
objectives:
  energy: {command: "./infer.sh {batch} {swappiness}"}
  error: {command: echo 1, options: [batch]}
"""


def test_knobs_are_options_of_the_objectives_that_depend_on_them(read: Any) -> None:
    file = read(KNOBS)
    assert file.space.names == ("batch", "swappiness", "active_cores")
    assert file.knobs.names == ("swappiness", "active_cores")
    assert file.measures["energy"].settings.names == ("swappiness", "active_cores")
    assert file.measures["error"].settings.names == ()
    alone = read(
        KNOBS.replace("options: {batch: [1, 2]}\n", "").replace("{batch}", "").replace("[batch]", "[swappiness]")
    )
    assert alone.space.names == ("swappiness", "active_cores")


@pytest.mark.parametrize(
    ("before", "after", "facts"),
    [
        ("swappiness: [10, 60]", "swapiness: [10, 60]", "'swapiness'.*'swappiness'.*flexibo knobs list"),
        ("{batch: [1, 2]}", "{batch: [1, 2], swappiness: [1, 2]}", "'swappiness'.*option.*knob"),
        ("swappiness: [10, 60]", "swappiness: low", "'swappiness'"),
        ("options: {batch: [1, 2]}", "designs: pool.csv", "knobs.*designs"),
        ("{swappiness}", "{swapiness}", "{swapiness}.*'swappiness'"),
        ("n_", "n_", "knobs"),
        ("objectives:", "executor: {name: processes, workers: 2}\nobjectives:", "swappiness.*one worker"),
    ],
)
def test_what_is_wrong_with_knobs_is_a_mistake(mistakes: Any, before: str, after: str, facts: str) -> None:
    text = (
        KNOBS.replace(before, after, 1)
        if before != "n_"
        else KNOBS.replace(KNOBS[KNOBS.index("  swap") : KNOBS.index("objectives")], "  []\n")
    )
    assert any(re.search(facts, sentence) for _, _, sentence in mistakes(text))
