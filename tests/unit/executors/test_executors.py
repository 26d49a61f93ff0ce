"""The table of executors."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flexibo import Objective
from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.executors import EXECUTORS, InlineExecutor, find_executor
from flexibo.executors.processes import ProcessExecutor


class TestExecutors:
    def test_each_is_found_by_its_name(self) -> None:
        assert isinstance(find_executor("inline"), InlineExecutor)
        executor = find_executor("processes", n=2, slots={"energy": 1}, resources={"GPU": 1})
        assert isinstance(executor, ProcessExecutor)
        assert executor.has_room(Objective("a", resources={"GPU": 1}))
        executor.close()

    def test_what_it_does_not_take_is_refused(self) -> None:
        with pytest.raises(UnknownNameError, match=r"'online'.*'inline'"):
            find_executor("online")
        with pytest.raises(InvalidValueError, match=r"'inline' .*\bn; .*processes.*dask.*ray.*slurm"):
            find_executor("inline", n=2)
        with pytest.raises(InvalidValueError, match=r"'dask' .*no slots; .*: processes\."):
            find_executor("dask", slots={"a": 1})

    def test_their_packages_are_imported_when_they_are_used(self) -> None:
        code = "import sys, flexibo.executors, flexibo.cli; print(*sys.modules)"
        printed = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        heavy = {"dask", "distributed", "ray", "submitit", "cloudpickle", "sqlalchemy", "sklearn", "torch", "scipy"}
        heavy |= {"rich.table"}
        assert not heavy & set(printed)
        assert list(EXECUTORS) == ["inline", "processes", "dask", "ray", "slurm"]
