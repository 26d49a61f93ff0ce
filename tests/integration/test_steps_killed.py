"""Trainings with steps in real processes that are killed in the middle: nothing is lost, and nothing is paid twice."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from tests.forked import COMMAND_LINE, Command, imported
from tests.postgres import server

from flexibo import Objective, Steps, Study
from flexibo.belief.step_costs import whole_costs
from flexibo.history.events import Failed, Reissued, Released, Told

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals")
PATIENCE = 240.0
STUDY = """
name: toy
budget: 40
seed: 1
n_initial: 2
method: random
options:
  x: {from: 0, to: 100}
objectives:
  error: {function: "board:error", steps: 9}
  joules: {function: "board:joules"}
"""
BOARD = """
import os, signal
from pathlib import Path

def error(steps):
    model = steps.checkpoint / "model"
    done = int(model.read_text()) if model.exists() else 0
    assert done == steps.start
    for step in range(steps.start + 1, steps.stop + 1):
        with open("trained", "a") as out:
            out.write(f"{steps.design['x']}:{step}\\n")
        model.write_text(str(step))
        steps.report(step, steps.design["x"] + 1 / step)
        if step == 5 and Path("lethal").exists():
            Path("lethal").unlink()
            os.kill(os.getpid(), signal.SIGKILL)
    return None, float(steps.stop - steps.start)

def joules(design):
    return 100 - design["x"], 1.0

def small(design):
    with open("read", "a") as out:
        out.write(f"{design['x']}\\n")
    if Path("lethal to the proxy").exists():
        Path("lethal to the proxy").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return 5 + 2 * design["x"], 0.5
"""
WITH_PROXY = """
name: toy
budget: 45
seed: 1
n_initial: 3
candidates: 20
options:
  x: {from: 0, to: 100}
objectives:
  error: {function: "board:error", steps: 9, proxies: [small]}
  joules: {function: "board:joules"}
  small: {function: "board:small", optimise: false}
"""
Start = Callable[..., Command]

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this module


@pytest.fixture(scope="module")
def ready() -> Iterator[None]:
    with imported(*COMMAND_LINE):
        yield


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'toy.db'}" if request.param == "sqlite" else server().new_database()


@pytest.fixture
def start(tmp_path: Path, url: str, ready: None) -> Iterator[Start]:
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "board.py").write_text(BOARD)
    running: list[Command] = []

    def begin(*arguments: str) -> Command:
        running.append(Command(tmp_path, *arguments, FLEXIBO_STORAGE=url, OMP_NUM_THREADS="1", COLUMNS="100"))
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("again", [("run", "study.yaml"), ("worker", "--idle", "1s")])
def test_a_training_that_is_killed_goes_on_from_its_checkpoint(
    start: Start, tmp_path: Path, url: str, again: tuple[str, ...]
) -> None:
    (tmp_path / "lethal").touch()
    killed = start("run", "study.yaml")
    killed.wait()
    assert killed.returncode != 0
    process = start(*again)
    output = str(process.communicate(timeout=PATIENCE)[0])
    assert process.returncode == 0, output
    study = Study.load(url)
    trained = Counter((tmp_path / "trained").read_text().split())
    assert set(trained.values()) == {1}
    asked = [evaluation for evaluation in study.history.asked if evaluation.objective == "error"]
    for evaluation in asked:
        assert [step for step, _ in study.curve(evaluation.design, "error")] == list(range(1, 10))
    assert len(trained) == 9 * len({evaluation.design["x"] for evaluation in asked})
    costs = [event.cost for event in study.events if isinstance(event, Told)]
    again_from = [event.begun for event in study.events if isinstance(event, Told) and event.begun is not None]
    losses = sum(event.cost for event in study.events if isinstance(event, Reissued | Released))
    assert again_from == [5]
    assert costs.count(4.0) == 1  # the steps that were left
    assert study.spent == pytest.approx(sum(costs) + losses)
    assert whole_costs(study.history, 0)[1].tolist() == pytest.approx([9.0] * len(asked))


@pytest.mark.slow
@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("lethal", ["lethal", "lethal to the proxy"])
def test_with_steps_and_a_proxy_only_what_was_measured_when_it_was_killed_is_measured_again(
    start: Start, tmp_path: Path, url: str, lethal: str
) -> None:
    (tmp_path / "study.yaml").write_text(WITH_PROXY)
    (tmp_path / lethal).touch()
    killed = start("run", "study.yaml")
    killed.wait()
    assert killed.returncode != 0
    process = start("run", "study.yaml")
    output = str(process.communicate(timeout=PATIENCE)[0])
    assert process.returncode == 0, output
    study = Study.load(url)
    assert set(Counter((tmp_path / "trained").read_text().split()).values()) == {1}
    read = Counter((tmp_path / "read").read_text().split())
    assert sorted(read.values())[-2:] == ([1, 2] if lethal == "lethal to the proxy" else [1, 1])
    told = [study.history.asked[event.number] for event in study.events if isinstance(event, Told)]
    assert sorted(str(one.design["x"]) for one in told if one.objective == "small") == sorted(read)
    again = [event for event in study.events if isinstance(event, Reissued | Released)]
    assert [study.history.asked[event.number].objective for event in again] == [
        "error" if lethal == "lethal" else "small"
    ]
    costs = sum(event.cost for event in study.events if isinstance(event, Told))
    assert study.spent == pytest.approx(costs + sum(event.cost for event in again))
    assert study.spent <= 45.0


def test_a_worker_process_that_is_killed_loses_no_step_and_the_next_one_goes_on(tmp_path: Path) -> None:
    seen = tmp_path / "trained"

    def error(steps: Steps) -> Any:
        for step in range(steps.start + 1, steps.stop + 1):
            with open(seen, "a") as out:
                out.write(f"{steps.design['x']}:{step}\n")
            steps.report(step, 1 / step)
            if step == 5 and not (tmp_path / "killed").exists():
                (tmp_path / "killed").touch()
                os.kill(os.getpid(), 9)
        return None, float(steps.stop - steps.start)

    objectives = [Objective("error", steps=9, retries=2), Objective("joules")]
    storage = f"sqlite:///{tmp_path / 'toy.db'}"
    settings: dict[str, Any] = {"seed": 1, "n_initial": 2, "method": "random", "budget": 30, "candidates": 20}
    with Study({"x": [1, 2, 3]}, objectives, storage=storage, **settings) as study:
        functions = {"error": error, "joules": lambda design: (design["x"], 1.0)}
        study.run(functions, executor="processes", raise_first=False, progress=False)
        [failed] = [event for event in study.events if isinstance(event, Failed)]
        assert [step for step, _ in failed.reports] == [1, 2, 3, 4, 5]
        assert "SIGKILL" in failed.reason
        trained = Counter(seen.read_text().split())
        assert set(trained.values()) == {1}
        first = study.history.asked[failed.number]
        assert [step for step, _ in study.curve(first.design, "error")] == list(range(1, 10))
        starts = [e.start for e in study.history.asked if e.objective == "error" and e.design == first.design]
        assert starts == [0, 5]
