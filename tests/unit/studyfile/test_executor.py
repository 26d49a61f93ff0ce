"""The executor that a study file names, and what its jobs ask for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.unit.studyfile.texts import SMALL

from flexibo.executors import SlurmExecutor, find_executor


class TestSlurm:
    def test_its_jobs_ask_for_what_the_file_says(self, read: Any, tmp_path: Path) -> None:
        pytest.importorskip("submitit", reason="needs the extra slurm")
        choice = read(
            f"""
executor:
  name: slurm
  workers: 3
  job: {{partition: cpu, time: 30m, setup: [module load cuda]}}
  objectives: {{error: {{gpus: 1, memory: 16GB}}}}
  start_timeout: 2d
  poll: 5s
  cluster: local
{SMALL}"""
        ).executor
        assert choice.jobs == {
            "job": {"partition": "cpu", "time": "30m", "setup": ["module load cuda"]},
            "objectives": {"error": {"gpus": 1, "memory": "16GB"}},
            "folder": str(tmp_path / "flexibo-jobs"),
            "start_timeout": 172800.0,
            "poll": 5.0,
            "cluster": "local",
        }
        executor = find_executor("slurm", n=choice.workers, **choice.jobs)
        assert isinstance(executor, SlurmExecutor)
        assert executor.objectives == {"error": {"gpus": 1, "memory": 16384}}
        executor.close()

    @pytest.mark.parametrize(
        ("text", "facts"),
        [
            ("{name: slurm, job: {partion: gpu}}", r"'partion'.*'partition'"),
            ("{name: slurm, job: {memory: 16}}", r"memory.*16.*'16GB'"),
            ("{name: slurm, job: {time: soon}}", r"'soon'"),
            ("{name: slurm, job: gpu}", r"job of executor.*'gpu'.*partition"),
            ("{name: slurm, objectives: {errr: {gpus: 1}}}", r"'errr'.*'error'"),
            ("{name: slurm, objectives: {error: {gpus: -1}}}", r"gpus.*-1"),
            ("{name: slurm, cluster: lsf}", r"'lsf'.*slurm"),
            ("{name: slurm, address: 'a:1'}", r"'slurm'.*address.*dask"),
            ("{name: dask, job: {gpus: 1}}", r"'dask'.*job.*slurm"),
        ],
    )
    def test_mistakes_are_named_where_they_are(self, mistakes: Any, text: str, facts: str) -> None:
        ((at, _, sentence),) = mistakes(f"executor: {text}\n{SMALL}")
        assert at == 1
        assert re.search(facts, sentence), sentence
