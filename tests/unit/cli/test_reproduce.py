"""``flexibo reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.command_line import call, good, mentions, refusal

from flexibo.errors import UnknownNameError
from flexibo.experiments import EXPERIMENTS, ExperimentSize

Arguments = dict[str, Any]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Arguments]:
    """What the experiment rq1 is called with, which only says that it was."""
    found: list[Arguments] = []

    class Experiment:
        problems = ("zdt1",)

        @staticmethod
        def run(size: ExperimentSize, problems: list[str], out: Path, jobs: int, *, progress: Any) -> str:
            found.append({"size": size, "problems": problems, "out": out, "jobs": jobs})
            progress(1, 2, "half")
            return "claims: 3 of 4 hold"

    monkeypatch.setattr("flexibo.experiments.EXPERIMENTS", {"rq1": Experiment()})
    return found


def test_what_is_typed_is_what_the_experiment_gets(calls: list[Arguments]) -> None:
    sizes = ("--repeats", 2, "--initial", 3, "--iterations", 4)
    shown = good("reproduce", "rq1", *sizes, "--problems", "zdt1,zdt2", "--problems", "zdt3", "--jobs", 1, "--out", "o")
    assert calls == [
        {"size": ExperimentSize(2, 3, 4), "problems": ["zdt1", "zdt2", "zdt3"], "out": Path("o"), "jobs": 1}
    ]
    assert "claims: 3 of 4 hold\n" in shown


def test_by_default_it_has_the_size_of_the_paper_and_uses_every_core(
    calls: list[Arguments], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    good("reproduce", "rq1")
    assert calls == [{"size": ExperimentSize(5, 20, 200), "problems": [], "out": Path("results/paper"), "jobs": 7}]


def test_an_unknown_experiment_is_refused_with_the_known_ones() -> None:
    outcome = call("reproduce", "rq4")
    assert isinstance(outcome.exception, UnknownNameError)
    assert mentions(outcome.exception, "'rq4'", "'rq3'", *sorted(EXPERIMENTS))


@pytest.mark.parametrize("flag", ["--repeats", "--iterations", "--jobs"])
def test_a_size_of_nothing_is_refused(flag: str, calls: list[Arguments]) -> None:
    assert mentions(refusal("reproduce", "rq1", flag, 0), flag, "0", "1 or more")
    assert calls == []


def test_an_interruption_says_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    class Experiment:
        problems = ("zdt1",)

        @staticmethod
        def run(*_: object, **__: object) -> str:
            raise KeyboardInterrupt

    monkeypatch.setattr("flexibo.experiments.EXPERIMENTS", {"rq1": Experiment()})
    outcome = call("reproduce", "rq1", "--out", "here")
    assert outcome.exit_code == 130, (outcome.output, outcome.exception)
    assert mentions(outcome.stdout, "Interrupted", "here", "same command")
