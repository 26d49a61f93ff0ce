from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import certified_stops, families
from benchmarks.certified_stops import Ending, ended, ending, exact_interval, main, row, table, write, written
from benchmarks.families import Member
from scipy.stats import binom

from flexibo import Objective, Space

RIGHT = Ending("step", 0, 144, 3, True, 0.01, 0.005, 1.0, 60, 288, 90)
WRONG = replace(RIGHT, seed=1, changed=30, error=0.2)
OPEN = replace(RIGHT, seed=2, certified=False, bound=0.4, error=0.2)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_only_a_certificate_that_promises_more_than_is_true_is_wrong() -> None:
    assert [one.wrong for one in (RIGHT, WRONG, OPEN)] == [False, True, False]
    assert not replace(RIGHT, bound=0.005).wrong


def test_a_feature_is_rare_below_one_in_16_designs() -> None:
    assert [replace(RIGHT, changed=k).rare for k in (1, 8, 9, 72)] == [True, True, False, False]


@pytest.mark.parametrize(("count", "total"), [(0, 1), (0, 40), (1, 40), (7, 40), (39, 40), (40, 40), (3, 80)])
def test_beyond_an_exact_interval_what_was_seen_has_a_probability_of_one_in_40(count: int, total: int) -> None:
    low, high = exact_interval(count, total)
    assert low <= count / total <= high
    assert low == 0.0 if count == 0 else binom.sf(count - 1, total, low) == pytest.approx(0.025)
    assert high == 1.0 if count == total else binom.cdf(count, total, high) == pytest.approx(0.025)


def test_a_row_counts_the_certified_alone() -> None:
    found = cells(row("step", [RIGHT, WRONG, OPEN]))
    assert found[:4] == ["step", "3", "2", "1"]
    assert found[5:] == ["1", "20.0%", "60", "288"]
    assert cells(row("step", [OPEN]))[1:4] == ["1", "0", "0"]


def test_the_table_has_each_family_and_the_hard_ones_by_how_rare_their_features_are() -> None:
    smooth = replace(RIGHT, family="smooth Matern", changed=0)
    recorded = replace(RIGHT, family="lenet-h200", changed=0)
    names = [cells(line)[0] for line in list(table([RIGHT, WRONG, smooth, recorded]))[1:]]
    assert names == [
        "smooth Matern",
        "step",
        "several better designs, fewer than 1 in 16",
        "several better designs, 1 in 16 or more",
        "recorded tables",
    ]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "endings.csv"
    assert written(path) == []
    write(path, [RIGHT])
    write(path, [WRONG, OPEN])
    assert written(path) == [RIGHT, WRONG, OPEN]


def line_of(better: float) -> Member:
    """Two opposite losses of 20 designs; the last one has `better` less of both."""
    x = np.arange(20.0)
    losses = np.stack([x, 19.0 - x], axis=1)
    losses[-1] -= better
    return Member(Space({"x": list(range(20))}), (Objective("a"), Objective("b")), losses, changed=int(better > 0))


def test_a_study_ends_with_a_certificate_and_its_true_error() -> None:
    one = ended(("line", 0), line_of(0.0), {})
    assert one.certified
    assert not one.wrong
    assert one.error <= one.bound <= certified_stops.LIMIT
    assert (one.designs, one.changed, one.most) == (20, 0, 40)
    assert 0 <= one.untouched <= 20 - one.readings / 2


def test_a_study_that_runs_out_of_measurements_is_not_certified() -> None:
    one = ended(("line", 0), line_of(0.0), {"max_evaluations": 12.0})
    assert not one.certified
    assert one.readings == 12


def test_recorded_tables_alone_have_a_limit_of_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    monkeypatch.setattr(
        certified_stops, "ended", lambda case, member, limits: given.append((len(member.losses), limits))
    )
    ending(("lenet-h200", 0), most=30)
    ending(("step", 0), most=30)
    assert given == [(96, {"max_evaluations": 30.0}), (families.COLUMNS * families.ROWS, {})]


def test_endings_in_the_file_are_not_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "endings.csv"
    write(path, [RIGHT, WRONG, OPEN])
    given = ["--functions", "2", "--families", "step", "--parts", "0", "--first-seed", "0", "--jobs", "1"]
    assert main([*given, "--out", str(path)]) == 0
    assert cells(capsys.readouterr().out.splitlines()[2])[:4] == ["step", "2", "2", "1"]
    assert written(path) == [RIGHT, WRONG, OPEN]


def test_new_endings_are_added_to_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(families, "COLUMNS", 4)
    monkeypatch.setattr(families, "ROWS", 3)
    path = tmp_path / "endings.csv"
    given = ["--functions", "1", "--families", "step", "--parts", "0", "--first-seed", "7", "--jobs", "1"]
    assert main([*given, "--out", str(path)]) == 0
    (one,) = written(path)
    assert (one.family, one.seed, one.designs) == ("step", 7, 12)
    assert cells(capsys.readouterr().out.splitlines()[2])[:2] == ["step", "1"]
