from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.judged import SECTIONS, finished_runs, keep, main, table_of_runs
from tests.comparisons import run

from flexibo.compare.runs import write_runs
from flexibo.compare.suites import SUITES

PROBLEMS = SUITES["quick"].problems


def test_finished_runs_of_any_version_are_judged_with_the_stored_ones_of_rivals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = [run(m, seed, p, front=False) for p in PROBLEMS for m in ("flexibo", "ehvi") for seed in range(3)]
    write_runs(tmp_path / "results.csv", tmp_path / "fronts.csv", own)
    kept = tmp_path / "own.csv.xz"
    assert main([str(tmp_path), "--suite", "quick", "--keep", str(kept), "--other-seeds"]) == 0
    shown = capsys.readouterr().out
    assert "flexibo against the best contestant" in shown
    assert "optuna-tpe" in shown
    assert "chosen for each seed on the other seeds" in shown
    assert {one.method for one in table_of_runs(kept)} == {"flexibo", "ehvi"}
    assert main([str(kept), "--suite", "quick", "--without", PROBLEMS[0], "--rivals", ""]) == 0
    shown = capsys.readouterr().out
    assert PROBLEMS[0] not in shown
    assert "optuna-tpe" not in shown


def test_a_page_gets_the_tables_below_its_headings(tmp_path: Path) -> None:
    own = [run(m, seed, p, front=False) for p in PROBLEMS for m in ("flexibo", "ehvi") for seed in range(3)]
    keep(tmp_path / "own.xz", own)
    page = tmp_path / "page.md"
    page.write_text("# Page\n" + "".join(f"\n## {heading}\n\nWords.\n\n```\nold\n```\n" for heading in SECTIONS))
    assert main([str(tmp_path / "own.xz"), "--suite", "quick", "--page", str(page)]) == 0
    parts = dict(part.split("\n", 1) for part in page.read_text().split("\n## ")[1:])
    assert list(parts) == list(SECTIONS)
    assert all("Words." in text for text in parts.values())
    assert "Ranking by confirmed error" in parts["Rankings"]
    assert "flexibo against the best rival" in parts["Against the best rival"]
    assert "optuna-tpe" in parts["Errors"]
    assert max(map(len, page.read_text().splitlines())) <= 120


def test_a_page_may_have_some_of_the_headings(tmp_path: Path) -> None:
    suite, page = SUITES["steps-development"], tmp_path / "page.md"
    named = [name for name in suite.problems if name.startswith(("crossing", "noise"))]
    own = [run(m, 1000 + seed, p, front=False) for p in named for m in suite.methods for seed in range(2)]
    keep(tmp_path / "own.xz", own)
    page.write_text("# Page\n\n## Money\n\n```\nold\n```\n\n## Words\n\n```\nkept\n```\n")
    others = ",".join(name for name in suite.problems if name not in named)
    given = [
        "--suite",
        "steps-development",
        "--without",
        others,
        "--page",
        str(page),
        "--keep",
        str(tmp_path / "all.xz"),
    ]
    assert main([str(tmp_path / "own.xz"), *given]) == 0
    assert "Share of the budget until" in page.read_text()
    assert "old" not in page.read_text()
    assert "kept" in page.read_text()
    assert len(table_of_runs(tmp_path / "all.xz")) == len(own)


def test_of_a_run_in_several_tables_the_last_counts(tmp_path: Path) -> None:
    for name, error in (("a", 0.5), ("b", 0.25)):
        keep(tmp_path / f"{name}.xz", [run("flexibo", 0, PROBLEMS[0], error=error, front=False)])
    found = finished_runs(SUITES["quick"], [tmp_path / "a.xz", tmp_path / "b.xz"])
    assert [one.moments[-1].confirmed for one in found if one.method == "flexibo"] == [0.25]
