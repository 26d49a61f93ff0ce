from __future__ import annotations

import math
from pathlib import Path

import pytest
from benchmarks.versions import changes, main, rows
from tests.comparisons import run

from flexibo.compare.runs import write_runs

PROBLEMS = ("branin-currin", "branin-currin:ratio=10")


def test_a_change_that_halves_every_error_is_one_half_in_every_group(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, factor in (("before", 1.0), ("after", 0.5)):
        runs = [run("flexibo", seed, p, error=factor * 0.1 * (seed + 1)) for p in PROBLEMS for seed in range(3)]
        (tmp_path / name).mkdir()
        write_runs(tmp_path / name / "results.csv", tmp_path / name / "fronts.csv", runs)
    assert main([str(tmp_path / "before"), str(tmp_path / "after"), "--measures", "confirmed", "--each"]) == 0
    lines = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [line[2] for line in lines] == ["all", "synthetic", "equal", *PROBLEMS]
    assert all(cell.startswith("0.50") for line in lines for cell in line[4:])


def test_only_common_problems_and_seeds_are_compared() -> None:
    before = [run("flexibo", seed, "branin-currin", error=0.2) for seed in (0, 1)]
    after = [run("flexibo", 1, "branin-currin", error=0.1), run("flexibo", 1, "zdt1:finite", error=0.1)]
    found = changes(before, after, "flexibo", "confirmed")
    assert list(found) == ["branin-currin"]
    assert found["branin-currin"][-1] == [pytest.approx(math.log(0.5))]


def test_the_interval_of_a_problem_is_over_its_seeds() -> None:
    before = [run("flexibo", seed, "branin-currin", error=0.2) for seed in (0, 1)]
    after = [run("flexibo", seed, "branin-currin", error=error) for seed, error in enumerate((0.2, 0.05))]
    by_problem = changes(before, after, "flexibo", "confirmed")
    everything, _, single = rows("after", "confirmed", by_problem, each=True)
    assert [everything[3], single[3]] == ["1", "2"]
    assert [everything[-1], single[-1].split()[0]] == ["0.50", "0.50"]
    assert "to" in single[-1]


def test_folders_without_common_runs_are_refused(tmp_path: Path) -> None:
    for name, method in (("before", "flexibo"), ("after", "ehvi")):
        (tmp_path / name).mkdir()
        write_runs(
            tmp_path / name / "results.csv",
            tmp_path / name / "fronts.csv",
            [run(method, 0, "branin-currin", error=0.2)],
        )
    with pytest.raises(SystemExit, match="flexibo"):
        main([str(tmp_path / "before"), str(tmp_path / "after")])
