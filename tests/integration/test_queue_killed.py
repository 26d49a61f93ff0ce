"""The queue of a stored study with real processes: killed while they confirm, and several at once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.forked import COMMAND_LINE, Command, imported
from tests.postgres import server

from flexibo import Study
from flexibo.history.events import Asked, Told

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="needs signals")]
PATIENCE = 240.0
STUDY = """
name: toy
budget: 30
seed: 1
n_initial: 2
options:
  x: {from: 0, to: 100}
objectives:
  error: {function: "board:error"}
  joules: {function: "board:joules"}
"""
BOARD = """
import os, signal, time
from pathlib import Path

def error(design):
    if Path("lethal").exists():
        Path("lethal").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    if Path("slow").exists():
        time.sleep(0.3)
    with open("measured", "a") as out:
        out.write(f"{design['x']}\\n")
    return design["x"], 4.0

def joules(design):
    return 100 - design["x"], 1.0
"""
Start = Callable[..., Command]


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with imported(*COMMAND_LINE):
        yield


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'toy.db'}" if request.param == "sqlite" else server().new_database()


@pytest.fixture
def start(tmp_path: Path, url: str) -> Iterator[Start]:
    """Starts flexibo in a folder with the file of a study that has six half-measured designs."""
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "board.py").write_text(BOARD)
    running: list[Command] = []

    def begin(*arguments: str) -> Command:
        running.append(Command(tmp_path, *arguments, FLEXIBO_STORAGE=url, OMP_NUM_THREADS="1", COLUMNS="100"))
        return running[-1]

    assert_done(begin("run", "study.yaml", "--quiet"))
    with Study.load(url) as study:
        for x in range(0, 101, 20):
            if not study.history.is_measured(0, study.space.design({"x": x})):
                study.add({"x": x}, {"joules": 100.0 - x})
    (tmp_path / "measured").unlink()
    yield begin
    for process in running:
        process.kill()
        process.wait()


def assert_done(process: Command) -> str:
    output = str(process.communicate(timeout=PATIENCE)[0])
    assert process.returncode == 0, output
    return output


def counted(folder: Path) -> Counter[str]:
    """How often each design was measured."""
    return Counter((folder / "measured").read_text().split())


def check_answered_once(url: str) -> Study:
    study = Study.load(url)
    asked = [event.evaluation.number for event in study.events if isinstance(event, Asked)]
    answers = Counter(event.number for event in study.events if isinstance(event, Told))
    assert asked == list(range(len(asked)))
    assert set(answers.values()) == {1}
    assert study.queue == ()
    assert study.pending == ()
    return study


CONFIRM, RESUME = ("confirm", "--budget", "200", "--quiet"), ("resume", "--quiet")
WORK = ("worker", "--idle", "1s")
PROCESSES = ("--executor", "processes", "--workers", "2")


@pytest.mark.parametrize(
    ("url", "again"),
    [
        *(("sqlite", CONFIRM), ("postgresql", CONFIRM), ("sqlite", RESUME), ("postgresql", WORK)),
        pytest.param("postgresql", RESUME, marks=pytest.mark.long),
        pytest.param("sqlite", WORK, marks=pytest.mark.long),
    ],
    indirect=["url"],
)
def test_what_a_killed_confirm_left_in_the_queue_is_measured_by_the_next(
    start: Start, tmp_path: Path, url: str, again: tuple[str, ...]
) -> None:
    (tmp_path / "lethal").touch()
    killed = start(*CONFIRM)
    killed.wait()
    assert killed.returncode != 0
    queued = [one.design for one in Study.load(url).queue]
    assert queued
    assert_done(start(*again))
    study = check_answered_once(url)
    assert all(study.history.is_measured(0, design) for design in queued)
    assert set(counted(tmp_path).values()) == {1}


@pytest.mark.parametrize(
    ("url", "more"),
    [
        *(("sqlite", ()), ("postgresql", ()), ("sqlite", PROCESSES)),
        pytest.param("postgresql", PROCESSES, marks=pytest.mark.long),
    ],
    indirect=["url"],
)
def test_two_that_confirm_at_once_measure_nothing_twice(
    start: Start, tmp_path: Path, url: str, more: tuple[str, ...]
) -> None:
    (tmp_path / "slow").touch()
    both = [start(*CONFIRM, *more), start(*CONFIRM)]
    for process in both:
        assert_done(process)
    study = check_answered_once(url)
    assert set(counted(tmp_path).values()) == {1}
    assert study.promising() == ()
