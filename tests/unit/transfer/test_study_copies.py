"""Copies of stored studies: the same study, and what is stored stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.transfer.studies import SPACE, answered, asked

from flexibo import GaussianProcess, Space, Study
from flexibo.errors import FlexiBOError, InvalidValueError, UnknownNameError
from flexibo.history.event_dicts import event_to_dict
from flexibo.storage import MemoryStorage, open_storage
from flexibo.transfer import event_lines, import_events, not_stored, read_events, read_results, study_copy
from flexibo.transfer.study_copies import time_of


def test_a_study_with_a_rule_a_cost_and_a_surrogate_of_its_own_can_be_looked_at(tmp_path: Path) -> None:
    def rule(design: Any) -> bool:
        return bool(design["x"] < 0.9)

    url = f"sqlite:///{tmp_path / 'own.db'}"
    own: dict[str, Any] = {"cost": lambda design, objective: 1.0, "surrogate": GaussianProcess()}
    with Study(Space(SPACE, valid=rule), ["a", "b"], n_initial=2, seed=0, storage=url, **own) as study:
        for evaluation in study.ask(4):
            study.tell(evaluation, float(evaluation.design["x"]), cost=1.0)
    copy = study_copy(url)
    assert copy.missing == ("rule", "cost", "surrogate")
    assert copy.study.front()
    lines = [line.encode() for line in event_lines(copy)]
    assert import_events(read_events(lines, "net.jsonl"), f"sqlite:///{tmp_path / 'other.db'}") == "study"
    assert open_storage(f"sqlite:///{tmp_path / 'other.db'}", "study").read() == open_storage(url, "study").read()
    with pytest.raises(InvalidValueError, match=r"'study'.*rule.*study.add"):
        read_results(["x,k,mode,a\n"], copy, "results.csv")


def test_a_copy_can_be_used_without_changing_what_is_stored(url: str) -> None:
    before = open_storage(url, "net").read()
    copy = study_copy(url)
    answered(copy.study, asked(copy.study))
    assert open_storage(url, "net").read() == before
    assert list(copy.contents) == before


def test_a_storage_in_memory_can_be_copied_too(make_study: Callable[..., Study]) -> None:
    storage = MemoryStorage()
    study = make_study(storage=storage)
    evaluation = study.ask()
    copy = study_copy(storage)
    assert copy.contents[-1] == event_to_dict(study.events[-1]) | {"time": copy.times[-1]}
    assert list(copy.study.pending) == [evaluation]
    assert len(copy.workers) == 1
    with pytest.raises(UnknownNameError):
        read_results(["joule\n"], copy, "results.csv")


def test_of_several_studies_one_is_copied_by_its_name(url: str, contents: list[dict[str, Any]]) -> None:
    open_storage(url, "other").commit(0, lambda _: contents[:3])
    with pytest.raises(FlexiBOError, match=r"net.*other"):
        study_copy(url)
    assert study_copy(url, "other").name == "other"
    assert len(study_copy(url, "other").contents) == 3
    with pytest.raises(FlexiBOError, match=r"'nte'.*net"):
        study_copy(url, "nte")


@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        ({}, ()),
        ({"space": {"has_rule": False}}, ()),
        ({"space": {"has_rule": True}}, ("rule",)),
        ({"cost": "log", "surrogate": "gp"}, ()),
        ({"cost": "<function>", "surrogate": "Mine()"}, ("cost", "surrogate")),
    ],
)
def test_what_has_no_known_name_is_not_stored(changed: dict[str, Any], missing: tuple[str, ...]) -> None:
    assert not_stored({"space": {}, "cost": "", "surrogate": "", **changed}) == missing


@pytest.mark.parametrize(
    ("content", "time"), [({"time": 3}, 3.0), ({}, None), ({"time": "noon"}, None), ({"time": True}, None)]
)
def test_a_time_that_is_no_number_is_unknown(content: dict[str, Any], time: float | None) -> None:
    assert time_of(content) == time
