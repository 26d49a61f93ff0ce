"""The folder of jobs: what is left behind in it, who may write to it, and what stays."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.unit.executors.questions import ERROR, one, question

from flexibo.errors import InvalidValueError, MachineError
from flexibo.executors._messages import Job, packed, task_of
from flexibo.executors._sessions import ProcessIdentity
from flexibo.executors._slurm_job import run_in_job
from flexibo.executors._slurm_runs import BEAT_SECONDS, LEASE_SECONDS, OWNER, JobFolder, discard

submitit = pytest.importorskip("submitit", reason="needs the extra slurm")

GONE = {"boot": ProcessIdentity.of_this_process().boot, "pid": 2**22 + 1, "started": "1", "beat": 0}
ELSEWHERE = {"boot": "another machine", "pid": 1, "started": "1", "beat": 0}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def job_of(number: int = 0) -> Job:
    return packed(question(number), ERROR, one)


def left_run(root: Path, owner: dict[str, object], *jobs: Job) -> Path:
    """The folder of a run of another process, with these jobs, which are numbered from 11."""
    run = root / "flexibo-before"
    for number, job in enumerate(jobs, 11):
        folder = run / str(number)
        folder.mkdir(parents=True)
        task = task_of(f"{number}-a", job, with_function=True)
        submitit.core.utils.DelayedSubmission(run_in_job, task, None).dump(folder / f"{number}_submitted.pkl")
    (run / OWNER).write_text(json.dumps(owner))
    run.chmod(0o700)
    return run


class TestJobFolder:
    def test_it_disappears_with_what_is_not_needed(self, tmp_path: Path) -> None:
        folder = JobFolder(tmp_path / "jobs")
        assert folder.root.stat().st_mode & 0o777 == 0o700
        (folder.path / "link").symlink_to(folder.path / "nowhere")
        (folder.path / "%j").mkdir()
        folder.close()
        assert not (tmp_path / "jobs").exists()

    def test_the_output_of_jobs_stays(self, tmp_path: Path) -> None:
        folder = JobFolder(tmp_path / "jobs")
        (folder.path / "7").mkdir()
        (folder.path / "7" / "7_0_log.err").write_text("killed")
        folder.close()
        assert [path.name for path in folder.path.iterdir()] == ["7"]
        JobFolder(tmp_path / "jobs").close()
        assert (folder.path / "7" / "7_0_log.err").exists()

    def test_a_folder_that_others_may_write_to_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "jobs").mkdir()
        (tmp_path / "jobs").chmod(0o777)
        with pytest.raises(InvalidValueError, match="chmod 700"):
            JobFolder(tmp_path / "jobs")
        assert list((tmp_path / "jobs").iterdir()) == []

    def test_a_folder_that_cannot_be_made_or_named_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(MachineError, match=r"file.*folder"):
            JobFolder(tmp_path / "file" / "jobs")
        with pytest.raises(InvalidValueError, match="%"):
            JobFolder(tmp_path / "jobs%j")

    def test_a_job_that_a_dead_process_left_is_claimed_once(self, tmp_path: Path) -> None:
        left_run(tmp_path / "jobs", GONE, job_of(1), job_of(2))
        (tmp_path / "jobs").chmod(0o700)
        folder = JobFolder(tmp_path / "jobs")
        assert folder.claimed(job_of(3)) == (None, [])
        found, others = folder.claimed(job_of(2))
        assert found is not None
        assert (found.number, found.run, others) == ("12", "flexibo-before", [])
        assert folder.claimed(job_of(2)) == (None, [])

    def test_one_with_another_function_is_named_so_that_it_can_be_cancelled(self, tmp_path: Path) -> None:
        left_run(tmp_path / "jobs", GONE, packed(question(1), ERROR, lambda design: 2.0))
        (tmp_path / "jobs").chmod(0o700)
        found, [other] = JobFolder(tmp_path / "jobs").claimed(job_of(1))
        assert (found, other.number) == (None, "11")

    def test_the_jobs_of_a_process_that_lives_are_its_own(self, tmp_path: Path) -> None:
        about = ProcessIdentity.of_this_process()
        alive = {"boot": about.boot, "pid": os.getpid(), "started": about.started, "beat": 0}
        left_run(tmp_path / "jobs", alive, job_of(1))
        (tmp_path / "jobs").chmod(0o700)
        assert JobFolder(tmp_path / "jobs").claimed(job_of(1)) == (None, [])

    def test_a_process_of_another_machine_is_gone_when_it_shows_no_sign_for_long(self, tmp_path: Path) -> None:
        run = left_run(tmp_path / "jobs", ELSEWHERE, job_of(1))
        (tmp_path / "jobs").chmod(0o700)
        clock = Clock()
        folder = JobFolder(tmp_path / "jobs", clock)
        clock.now = LEASE_SECONDS
        (run / OWNER).write_text(json.dumps({**ELSEWHERE, "beat": 1}))
        folder.tend()
        assert folder.claimed(job_of(1)) == (None, [])
        clock.now += BEAT_SECONDS
        folder.tend()
        assert folder.claimed(job_of(1)) == (None, [])
        clock.now += LEASE_SECONDS
        folder.tend()
        assert folder.claimed(job_of(1))[0] is not None

    @pytest.mark.parametrize("kind", ["writable", "link", "owner"])
    def test_what_somebody_else_put_there_while_all_might_write_is_never_loaded(
        self, tmp_path: Path, kind: str
    ) -> None:
        run = left_run(tmp_path / "jobs", GONE, job_of(1))
        if kind == "writable":
            run.chmod(0o777)
        elif kind == "link":
            run.rename(tmp_path / "elsewhere")
            run.symlink_to(tmp_path / "elsewhere")
        elif os.geteuid() == 0:
            os.chown(run, 65534, 65534)
        else:
            pytest.skip("only root gives files to others")
        (tmp_path / "jobs").chmod(0o700)
        folder = JobFolder(tmp_path / "jobs")
        assert folder.claimed(job_of(1)) == (None, [])
        folder.close()
        assert run.exists()

    def test_damaged_files_of_another_run_are_ignored(self, tmp_path: Path) -> None:
        run = left_run(tmp_path / "jobs", GONE, job_of(1))
        (run / "11" / "11_submitted.pkl").write_bytes(b"no pickle")
        other = tmp_path / "jobs" / "flexibo-other"
        other.mkdir()
        (other / OWNER).write_text("{")
        (tmp_path / "jobs").chmod(0o700)
        assert JobFolder(tmp_path / "jobs").claimed(job_of(1)) == (None, [])


@pytest.mark.parametrize(("text", "stays"), [("out of memory", ["7_0_log.err"]), ("", [])])
def test_only_output_is_kept_of_a_job(tmp_path: Path, text: str, stays: list[str]) -> None:
    folder = tmp_path / "7"
    folder.mkdir()
    for name in ("7_submitted.pkl", "7_submission.sh"):
        (folder / name).write_text("x")
    (folder / "7_0_log.err").write_text(text)
    discard(folder, keep_output=True)
    assert [path.name for path in folder.glob("*")] == stays
    discard(folder, keep_output=False)
    assert not folder.exists()
