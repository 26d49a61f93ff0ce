"""What runs in a job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.unit.executors.questions import ERROR, question

from flexibo import Design
from flexibo.executors._messages import Fault, WorkerAnswer, WorkingContext, packed, task_of
from flexibo.executors._slurm_job import BEGAN, STOPPED, StartedAgain, run_in_folder


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """What a job does with signals is undone."""
    numbers = (signal.SIGTERM, signal.SIGCONT, signal.SIGUSR2)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def run(folder: Path, measure: Callable[[Design], object], context: WorkingContext | None = None) -> object:
    task = task_of("0-a", packed(question(), ERROR, measure), with_function=True)
    return run_in_folder(task, context or WorkingContext(tuple(sys.path), os.getcwd()), folder)


class TestRunInFolder:
    def test_it_marks_that_it_began_and_answers(self, tmp_path: Path) -> None:
        answer = run(tmp_path, lambda design: 2.0)
        assert isinstance(answer, WorkerAnswer)
        assert answer.values == {"error": 2.0}
        assert (tmp_path / BEGAN).exists()

    def test_a_job_that_is_started_again_measures_nothing(self, tmp_path: Path) -> None:
        run(tmp_path, lambda design: 2.0)
        assert run(tmp_path, lambda design: pytest.fail("it was measured twice")) == StartedAgain()

    def test_a_folder_that_this_machine_does_not_have_is_a_fault(self, tmp_path: Path) -> None:
        answer = run(tmp_path, lambda design: 2.0, WorkingContext(tuple(sys.path), str(tmp_path / "elsewhere")))
        assert isinstance(answer, Fault)
        assert "elsewhere" in answer.reason
        assert not (tmp_path / BEGAN).exists()

    def test_a_job_that_is_asked_to_end_does_so_at_once_and_notes_it(self, tmp_path: Path) -> None:
        code = (
            "import os, signal, sys; from pathlib import Path; "
            "from flexibo.executors._slurm_job import end_when_stopped; "
            "end_when_stopped(Path(sys.argv[1])); os.kill(os.getpid(), signal.SIGUSR2); "
            "os.kill(os.getpid(), signal.SIGTERM); print('it lived on')"
        )
        ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
        assert ended.returncode == 128 + signal.SIGTERM
        assert ended.stdout == ""
        assert (tmp_path / STOPPED).exists()
