"""What a job asks for: checked options, per objective, and as parameters of submitit."""

from __future__ import annotations

from typing import Any

import pytest

from flexibo import Objective
from flexibo.errors import FlexiBOError, InvalidTypeError, InvalidValueError, UnknownNameError
from flexibo.executors.jobs import LOAD_SECONDS, checked_by_objective, checked_options, options_of, to_submitit


class TestCheckedOptions:
    def test_amounts_and_durations_are_read_with_their_units(self) -> None:
        given = {"memory": "1.5 GB", "time": "90m", "cpus": 4, "gpus": "a100:2", "exclusive": True}
        assert checked_options(given, "job") == {**given, "memory": 1536, "time": 5400.0}
        assert checked_options({"memory": "1K", "time": 30, "setup": ["module load cuda"]}, "job") == {
            "memory": 1,
            "time": 30.0,
            "setup": ("module load cuda",),
        }
        assert checked_options({"partition": None}, "job") == {}

    @pytest.mark.parametrize(
        ("given", "named"),
        [
            ({"memory": 16}, "memory in job"),
            ({"memory": "lots"}, "'lots'"),
            ({"memory": "0GB"}, "'0GB'"),
            ({"time": "soon"}, "'soon'"),
            ({"time": 0}, "time in job"),
            ({"time": True}, "True"),
            ({"cpus": 0}, "cpus in job"),
            ({"cpus": 1.5}, "1.5"),
            ({"gpus": -1}, "-1"),
            ({"partition": ""}, "partition in job"),
            ({"partition": "a\nrm -rf /"}, "one line"),
            ({"account": 7}, "7"),
            ({"exclusive": "yes"}, "'yes'"),
            ({"setup": "module load cuda"}, "list"),
            ({"setup": [1]}, "list"),
        ],
    )
    def test_what_cannot_be_used_is_refused(self, given: dict[str, Any], named: str) -> None:
        with pytest.raises(FlexiBOError, match=named):
            checked_options(given, "job")

    def test_an_unknown_option_names_the_nearest(self) -> None:
        with pytest.raises(UnknownNameError, match=r"'partion'.*'partition'"):
            checked_options({"partion": "gpu"}, "job")
        with pytest.raises(InvalidTypeError, match="gpu"):
            checked_options("gpu", "job")
        with pytest.raises(InvalidTypeError, match="objectives"):
            checked_by_objective(["error"], "objectives")
        with pytest.raises(UnknownNameError, match=r"objectives\['error'\]"):
            checked_by_objective({"error": {"queue": "gpu"}}, "objectives")


class TestOptionsOf:
    def test_the_options_of_the_objective_win_over_its_resources_and_those_over_the_common_ones(self) -> None:
        objective = Objective("error", resources={"GPU": 1, "CPU": 4})
        common = {"gpus": 2, "cpus": 1, "partition": "cpu"}
        assert options_of(objective, common, {}) == {"gpus": 1, "cpus": 4, "partition": "cpu"}
        assert options_of(objective, common, {"error": {"gpus": 3}})["gpus"] == 3

    def test_a_timeout_is_the_time_limit_unless_one_is_given(self) -> None:
        objective = Objective("error", timeout=60)
        assert options_of(objective, {}, {})["time"] == 60 + LOAD_SECONDS
        assert options_of(objective, {"time": 30.0}, {})["time"] == 30

    def test_parts_of_a_device_are_refused(self) -> None:
        with pytest.raises(InvalidValueError, match=r"'error'.*0\.5.*'GPU'"):
            options_of(Objective("error", resources={"GPU": 0.5}), {}, {})


class TestToSubmitit:
    def test_each_option_has_its_parameter(self) -> None:
        given = {
            "partition": "gpu",
            "reservation": "mine",
            "cpus": 2,
            "gpus": 1,
            "memory": 512,
            "time": 61.0,
            "exclusive": False,
        }
        found = to_submitit(given)
        assert found == {
            "partition": "gpu",
            "cpus_per_task": 2,
            "gpus_per_node": 1,
            "mem": "512M",
            "time": 2,
            "setup": [],
            "additional_parameters": {"reservation": "mine"},
        }

    def test_without_a_time_the_cluster_decides(self) -> None:
        assert to_submitit({})["time"] is None
