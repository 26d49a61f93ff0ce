"""The queue of SLURM, with programs in place of its commands, and the queue of local jobs."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.dashboards import wait_until

from flexibo.errors import MachineError
from flexibo.executors._slurm_queue import (
    LOST,
    JobRefusedError,
    JobState,
    LocalQueue,
    QueueSilentError,
    SlurmQueue,
    seconds_used,
)

pytest.importorskip("submitit", reason="needs the extra slurm")


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with commands of SLURM that do nothing, first in the search path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    for name in ("sbatch", "srun", "squeue", "sacct", "scancel", "scontrol"):
        command(folder, name, "exit 0")
    return folder


def command(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def queue(commands: Path, tmp_path: Path) -> SlurmQueue:
    (tmp_path / "run").mkdir()
    return SlurmQueue(tmp_path / "run", "flexibo-1")


class TestSlurmQueue:
    def test_it_needs_the_commands_of_slurm(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(MachineError, match=r"sbatch.*cluster='local'"):
            SlurmQueue(tmp_path, "flexibo-1")

    def test_a_job_is_submitted_with_its_options_and_without_what_describes_another_job(
        self, queue: SlurmQueue, commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SLURM_JOB_ID", "3")
        monkeypatch.setenv("SLURM_CONF", "/a/slurm.conf")
        script = f'cat "$1" > {tmp_path}/script; env > {tmp_path}/env; echo Submitted batch job 17'
        command(commands, "sbatch", script)
        assert queue.submit(max, 1, 2, options={"partition": "gpu", "memory": 300, "licenses": "a:1"}) == "17"
        text = (tmp_path / "script").read_text()
        for flag in ("--partition=gpu", "--mem=300M", "--no-requeue", "--job-name=flexibo-1", "--licenses=a:1"):
            assert f"#SBATCH {flag}" in text
        assert "--time" not in text
        assert "SLURM_JOB_ID" not in (tmp_path / "env").read_text()
        assert "SLURM_CONF=/a/slurm.conf" in (tmp_path / "env").read_text()
        assert (queue.folder_of("17") / "17_submitted.pkl").exists()

    def test_a_refusal_has_the_words_of_slurm_and_prints_nothing(
        self, queue: SlurmQueue, commands: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        command(commands, "sbatch", "echo sbatch: error: no partition x >&2; echo 'sbatch: error: failed' >&2; exit 1")
        with pytest.raises(JobRefusedError, match=r"^no partition x; failed$"):
            queue.submit(max, 1, 2, options={})
        assert capfd.readouterr() == ("", "")

    def test_a_failure_while_the_controller_is_away_is_silence(self, queue: SlurmQueue, commands: Path) -> None:
        command(commands, "sbatch", "echo cannot connect >&2; exit 1")
        command(commands, "scontrol", "exit 1")
        with pytest.raises(QueueSilentError, match="cannot connect"):
            queue.submit(max, 1, 2, options={})

    def test_the_states_of_jobs_come_from_squeue_and_for_old_ones_from_sacct(
        self, queue: SlurmQueue, commands: Path
    ) -> None:
        lines = "flexibo-1|1|RUNNING|1:05|None\nflexibo-1|2|PENDING|0:00|Resources\nother|9|RUNNING|0:01|None"
        command(commands, "squeue", f"printf '{lines}\n'")
        command(commands, "sacct", "echo '3|CANCELLED by 0|12'")
        assert queue.states(["1", "2", "3", "4"]) == {
            "1": JobState("RUNNING", "", 65.0),
            "2": JobState("PENDING", "Resources", 0.0),
            "3": JobState("CANCELLED", "", 12.0),
            "4": JobState(LOST),
        }
        assert "9" in queue.states(["9"])

    def test_a_cluster_without_a_database_of_old_jobs_does_not_know_them(
        self, queue: SlurmQueue, commands: Path
    ) -> None:
        command(commands, "sacct", "echo accounting is disabled >&2; exit 1")
        assert queue.states(["3"]) == {"3": JobState(LOST)}

    def test_no_answer_is_silence(self, queue: SlurmQueue, commands: Path) -> None:
        command(commands, "squeue", "echo Unable to contact slurm controller >&2; exit 1")
        with pytest.raises(QueueSilentError, match="controller"):
            queue.states(["1"])
        command(commands, "scancel", "exit 1")
        queue.cancel(["1"])

    def test_jobs_of_another_run_can_be_looked_up_too(self, queue: SlurmQueue, commands: Path, tmp_path: Path) -> None:
        command(commands, "squeue", f'echo "$@" > {tmp_path}/asked')
        queue.adopt("flexibo-0")
        queue.states([])
        assert "--name=flexibo-1,flexibo-0" in (tmp_path / "asked").read_text()


class TestLocalQueue:
    def test_a_job_runs_here_until_it_is_cancelled(self, tmp_path: Path) -> None:
        queue = LocalQueue(tmp_path / "run")
        number = queue.submit(time.sleep, 600, options={"time": 60.0})
        assert queue.states([number])[number].name == "RUNNING"
        later = LocalQueue(tmp_path / "next")
        wait_until(lambda: later.states([number])[number].name == "RUNNING", "the new process runs the job")
        queue.cancel([number])
        queue.close()
        assert not Path("/proc", number).exists()
        assert later.states([number]) == {number: JobState(LOST)}

    def test_a_process_that_is_no_job_is_left_alone(self, tmp_path: Path) -> None:
        queue = LocalQueue(tmp_path / "run")
        queue.cancel([str(os.getpid())])
        assert queue.states([str(os.getpid())]) == {str(os.getpid()): JobState(LOST)}


def test_times_of_squeue_are_read() -> None:
    assert [seconds_used(text) for text in ("5", "1:00:00", "2-00:00:01")] == [5.0, 3600.0, 172801.0]
