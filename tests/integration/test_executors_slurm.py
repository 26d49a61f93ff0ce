"""A real SLURM cluster on this machine: jobs cancelled, preempted, killed and out of time, and SLURM itself gone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.slurm_cluster import LIMIT, SlurmCluster, missing

from flexibo import Design, Evaluation, Objective, Study
from flexibo.errors import MachineError
from flexibo.executors import Outcome, SlurmExecutor
from flexibo.executors import _slurm_queue as queue_module
from flexibo.history.events import Failed, FailureKind

pytest.importorskip("submitit", reason="needs the extra slurm")
pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(missing()), reason=missing())]

ERROR = Objective("error")


@pytest.fixture(scope="module")
def shared() -> Iterator[SlurmCluster]:
    cluster = SlurmCluster()
    yield cluster
    cluster.close()


@pytest.fixture
def cluster(shared: SlurmCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SlurmCluster:
    """The cluster, found by the commands of SLURM; files appear at once, as there is one machine."""
    use(shared, monkeypatch, tmp_path)
    return shared


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SlurmCluster]:
    """A cluster that a test may damage."""
    cluster = SlurmCluster()
    use(cluster, monkeypatch, tmp_path)
    yield cluster
    cluster.close()


def use(cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(queue_module.SlurmQueue, "lag", 0.2)
    monkeypatch.chdir(folder)


def executor(**settings: Any) -> SlurmExecutor:
    return SlurmExecutor(**{"n": 2, "poll": 0.3, **settings})


def question(number: int, objective: str = "error") -> Evaluation:
    return Evaluation(Design({"x": number}), objective, None, 0.0, "", number, (objective,))


def outcomes(executor: SlurmExecutor, n: int, seconds: float = LIMIT) -> list[Outcome]:
    found: list[Outcome] = []
    end = time.monotonic() + seconds
    while len(found) < n and time.monotonic() < end:
        found += executor.finished(1.0)
    return found


def in_notebook(function: Callable[..., object]) -> Callable[..., Any]:
    """The function as one of a script or a notebook: jobs cannot import it, so it travels as a whole."""
    function.__module__ = "__main__"
    return function


@in_notebook
def hang(design: Design) -> float:
    Path("running").touch()
    time.sleep(600)
    return 1.0


def is_running() -> bool:
    return Path("running").exists()


def test_a_job_measures_and_costs_its_own_time_rather_than_that_in_the_queue(cluster: SlurmCluster) -> None:
    @in_notebook
    def nap(design: Design) -> float:
        time.sleep(1.0)
        return design["x"]  # type: ignore[return-value]

    objective = Objective("error", resources={"CPU": 4})  # the second waits for the first
    with executor() as slurm:
        for number in range(2):
            slurm.submit(question(number), objective, nap)
        cluster.wait(lambda: cluster.jobs("PENDING"))
        found = outcomes(slurm, 2)
    assert sorted(outcome.values["error"] for outcome in found if outcome.values) == [0.0, 1.0]
    assert all(1.0 <= outcome.cost < 1.5 for outcome in found)
    assert not Path("flexibo-jobs").exists()


def test_a_job_asks_for_what_its_objective_needs(cluster: SlurmCluster) -> None:
    @in_notebook
    def environment(design: Design) -> float:
        asked = subprocess.run(
            ["scontrol", "show", "job", os.environ["SLURM_JOB_ID"]], capture_output=True, text=True, check=True
        )
        Path("asked").write_text(asked.stdout + os.environ["CHOSEN"])
        return 1.0

    special = {"error": {"partition": "urgent", "memory": "300MB", "gpus": 1, "setup": ["export CHOSEN=module"]}}
    with executor(job={"time": "3m", "memory": "1GB"}, objectives=special) as slurm:
        slurm.submit(question(1), ERROR, environment)
        assert outcomes(slurm, 1)[0].values == {"error": 1.0}
    text = Path("asked").read_text()
    for part in ("Partition=urgent", "TimeLimit=00:03:00", "MinMemoryNode=300M", "gres:gpu:1", "Requeue=0", "module"):
        assert part in text


def test_a_cancelled_job_is_given_back_whether_it_runs_or_waits(cluster: SlurmCluster) -> None:
    with executor() as slurm:
        for number in range(2):
            slurm.submit(question(number), Objective("error", resources={"CPU": 4}), hang)
        cluster.wait(lambda: is_running() and cluster.jobs("PENDING"))
        time.sleep(1.0)
        cluster.told("scancel", *cluster.jobs("PENDING"))
        [waited] = outcomes(slurm, 1)
        cluster.told("scancel", *cluster.jobs("RUNNING"))
        [ran] = outcomes(slurm, 1)
    assert waited.released
    assert waited.cost == 0
    assert ran.released
    assert ran.cost >= 1


def test_a_preempted_job_is_given_back(cluster: SlurmCluster) -> None:
    with executor() as slurm:
        slurm.submit(question(1), Objective("error", resources={"CPU": 4}), hang)
        cluster.wait(is_running)
        cluster.told("sbatch", "--partition=urgent", "--cpus-per-task=4", "--output=/dev/null", "--wrap=true")
        [found] = outcomes(slurm, 1)
    assert found.released
    assert "preempted" in found.reason or "stopped" in found.reason


def test_a_job_that_somebody_requeues_is_given_back_and_measured_once(cluster: SlurmCluster) -> None:
    @in_notebook
    def log(design: Design) -> float:
        with open("calls", "a") as calls:
            calls.write("called\n")
        time.sleep(600)
        return 1.0

    with executor(poll=5.0) as slurm:
        slurm.submit(question(1), ERROR, log)
        cluster.wait(lambda: Path("calls").exists())
        [job] = cluster.jobs("RUNNING")
        cluster.told("scontrol", "update", f"JobId={job}", "Requeue=1")
        cluster.told("scontrol", "requeue", job)
        [found] = outcomes(slurm, 1)
    assert found.released
    assert Path("calls").read_text() == "called\n"


@pytest.mark.parametrize("name", ["itself", "slurmstepd"])
def test_a_job_whose_processes_are_killed_is_lost(cluster: SlurmCluster, name: str) -> None:
    with executor() as slurm:
        slurm.submit(
            question(1), ERROR, in_notebook(lambda design: (Path("pid").write_text(str(os.getpid())), hang(design)))
        )
        cluster.wait(is_running)
        pids = [int(Path("pid").read_text())] if name == "itself" else cluster.step_processes()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        [found] = outcomes(slurm, 1)
    if name == "itself":
        assert found.kind is FailureKind.LOST
        assert not found.released
    else:  # the machine does not know what became of the job
        assert found.released
    with_pid = Path(f"/proc/{Path('pid').read_text()}")
    if with_pid.exists():
        os.kill(int(with_pid.name), signal.SIGKILL)


def test_too_much_memory_is_a_failure_that_says_so(cluster: SlurmCluster) -> None:
    @in_notebook
    def greedy(design: Design) -> float:
        held = bytearray(os.urandom(1) * 600_000_000)
        time.sleep(60)
        return float(len(held))

    with executor(objectives={"error": {"memory": "300MB"}}) as slurm:
        slurm.submit(question(1), ERROR, greedy)
        [found] = outcomes(slurm, 1)
    assert found.values is None
    assert not found.released
    assert "memory" in found.reason


def test_the_time_limit_of_a_job_is_a_timeout(cluster: SlurmCluster) -> None:
    with executor(job={"time": "1m"}) as slurm:
        slurm.submit(question(1), ERROR, hang)
        cluster.wait(is_running)
        [found] = outcomes(slurm, 1, 150)
    assert found.kind is FailureKind.TIMEOUT
    assert not found.released
    assert "60 s" in found.reason
    assert 60 <= found.cost < 130


def test_a_machine_that_is_lost_gives_back(own: SlurmCluster) -> None:
    with executor() as slurm:
        slurm.submit(question(1), ERROR, hang)
        own.wait(is_running)
        own.kill("slurmd")
        for pid in own.step_processes():
            os.kill(pid, signal.SIGKILL)
        [found] = outcomes(slurm, 1, 120)
    assert found.released
    assert "machine" in found.reason


def test_jobs_run_on_and_wait_to_be_submitted_while_the_controller_is_away(own: SlurmCluster) -> None:
    @in_notebook
    def nap(design: Design) -> float:
        Path("running").touch()
        time.sleep(2.0)
        return 1.0

    with executor() as slurm:
        slurm.submit(question(1), ERROR, nap)
        own.wait(is_running)
        own.kill("slurmctld")
        slurm.submit(question(2), ERROR, nap)
        first = outcomes(slurm, 1, 10)
        time.sleep(2)
        own.start_controller()
        second = outcomes(slurm, 1)
    assert [outcome.values for outcome in first + second] == [{"error": 1.0}] * 2
    assert [outcome.evaluation.number for outcome in first + second] == [1, 2]


def test_a_controller_that_stays_away_ends_the_run_with_one_sentence(own: SlurmCluster) -> None:
    with executor(patience=2) as slurm:
        slurm.submit(question(1), ERROR, hang)
        own.wait(is_running)
        own.kill("slurmctld")
        with pytest.raises(MachineError, match=r"SLURM"):
            outcomes(slurm, 1)
    own.start_controller()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"job": {"partition": "nowhere"}}, "partition"),
        ({"objectives": {"error": {"gpus": 8}}}, "available"),
        ({"objectives": {"error": {"gres": "jetson:1"}}}, "gres"),
        ({"job": {"memory": "90GB"}}, "Memory"),
        ({"job": {"cpus": 64}, "patience": 1}, "PartitionConfig"),
    ],
)
def test_what_slurm_does_not_have_ends_the_run_with_its_reason(
    cluster: SlurmCluster, settings: dict[str, Any], named: str
) -> None:
    with executor(**settings) as slurm:
        slurm.submit(question(1), ERROR, hang)
        with pytest.raises(MachineError, match=rf"'error'.*{named}"):
            outcomes(slurm, 1)
        assert not slurm.is_busy()


def test_a_job_that_never_starts_ends_the_run_with_one_sentence(cluster: SlurmCluster) -> None:
    with executor(job={"partition": "closed"}, start_timeout=1) as slurm:
        slurm.submit(question(1), ERROR, hang)
        with pytest.raises(MachineError, match=r"'error'.*start_timeout"):
            outcomes(slurm, 1)
        cluster.wait(lambda: not cluster.jobs("PENDING", "RUNNING"))


@pytest.mark.parametrize("is_over", [False, True], ids=["while they run", "after they ended"])
def test_the_jobs_of_a_flexibo_that_was_killed_are_taken_over(cluster: SlurmCluster, is_over: bool) -> None:
    """Killed while two jobs run: the next run has their answers, and no design was measured twice."""
    Path("driver.py").write_text(DRIVER)
    first = subprocess.Popen([sys.executable, "driver.py"])
    cluster.wait(lambda: Path("calls").exists() and len(Path("calls").read_text().split()) == 2)
    first.kill()
    first.wait()
    before = cluster.jobs("RUNNING")
    assert len(before) == 2
    if is_over:
        Path("go").touch()
        cluster.wait(lambda: not cluster.jobs("RUNNING"))
    second = subprocess.Popen([sys.executable, "driver.py"])
    if not is_over:
        time.sleep(3)
        assert cluster.jobs("RUNNING") == before
        Path("go").touch()
    assert second.wait(LIMIT) == 0
    calls = Path("calls").read_text().split()
    study = Study.load("sqlite:///study.db", "net")
    assert len(calls) == len(set(calls)) == len(study.history.measurements) == 4
    assert not [event for event in study.events if isinstance(event, Failed)]
    assert not cluster.jobs("RUNNING", "PENDING")
    assert not Path("flexibo-jobs").exists()


DRIVER = """
import os, time
from flexibo import Objective, Space, Study
from flexibo.executors import SlurmExecutor

def error(design):
    with open("calls", "a") as calls:
        calls.write(f"{design['x']}\\n")
    while not os.path.exists("go"):
        time.sleep(0.05)
    return {"error": float(design["x"]), "energy": 1.0}

objectives = [Objective("error", cost=1.0), Objective("energy", measured_with="error")]
study = Study(Space({"x": [1, 2, 3, 4]}), objectives, seed=0, n_initial=4, storage="sqlite:///study.db", name="net")
with SlurmExecutor(2, poll=0.3) as jobs:
    study.run({"error": error}, executor=jobs, progress=False)
"""


def test_the_study_of_the_page_runs_from_a_job_that_submits_jobs(cluster: SlurmCluster) -> None:
    page = Path(__file__).parents[2] / "docs" / "howto" / "slurm.md"
    for block in re.findall(r"^```[a-z]+\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE):
        if heading := re.match(r"(?:#!.*\n)?# ([a-z]+\.(?:yaml|sh))\n", block):
            Path(heading.group(1)).write_text(block.replace("n_initial: 3", "n_initial: 3\nstop: {max_evaluations: 8}"))
            Path(heading.group(1)).chmod(0o755)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["sbatch", "driver.sh"], check=True, env=environment)
    cluster.wait(lambda: not cluster.jobs("PENDING", "RUNNING", "COMPLETING"), 5 * LIMIT)
    study = Study.load("sqlite:///net.db", "net")
    assert {"error", "energy"} <= {name for measurement in study.history.measurements for name in measurement.values}
    assert 60 < study.spent <= 7200
    assert "GPU" not in Path("net.log").read_text()
