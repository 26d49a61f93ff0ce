"""``flexibo models``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import call, good, mentions, refusal
from tests.unit.systems.test_stored_models import put_model

from flexibo import Objective, Space, Study

ORIGIN = {"system": "lenet", "training": "beef", "seed": 3}


@pytest.fixture
def network_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """A stored study of a network, with one confirmed design."""
    monkeypatch.chdir(tmp_path)
    space = Space({"filters_1": [16, 32], "precision": ["fp32", "bf16"]})
    objectives = [Objective("error_percent"), Objective("energy_millijoules")]
    study = Study(space, objectives, budget=100, storage="sqlite:///study.db", name="net", origin=ORIGIN, seed=0)
    design = space.design({"filters_1": 32, "precision": "bf16"})
    study.enqueue(design)
    for value in (8.0, 1.0):
        evaluation = study.ask()
        assert evaluation is not None
        study.tell(evaluation, value, cost=1.0)
    return study


def test_models_are_listed_with_the_rows_of_the_front_that_have_them(network_study: Study) -> None:
    put_model(Path("models"), 1)
    put_model(Path("models"), 2)
    shown = good("models")
    assert mentions(shown, "board, cpu", "filters_1=32", "filters_1=16", "2 models in models")
    rows = json.loads(good("models", "--json"))
    assert [(row["rows"], row["error_percent"], row["design"]) for row in rows] == [
        ([1], 8.0, {"filters_1": 32}),
        ([], 9.0, {"filters_1": 16}),
    ]


def test_a_damaged_model_is_named_and_the_others_are_listed(network_study: Study, caplog: Any) -> None:
    put_model(Path("models"), 1)
    damaged = put_model(Path("models"), 2, error_percent=10**400)
    assert [row["error_percent"] for row in json.loads(good("models", "--json"))] == [9.0]
    assert damaged in caplog.text


def test_the_weights_of_a_row_are_fetched(network_study: Study) -> None:
    name = put_model(Path("shared"), 2)
    shown = good("models", "fetch", "1", "--from", "shared", "--to", "mine")
    assert mentions(shown, f"mine/{name}.pt has the weights of row 1: error 8 %", "torch.load(")
    assert (Path("mine") / f"{name}.pt").read_bytes() == b"weights"


def test_what_is_not_there_is_said_with_where_to_look(network_study: Study) -> None:
    for words in (["models"], ["models", "fetch", "1"]):
        result = call(*words)
        assert result.exit_code == 1
        assert mentions(
            result.stderr, "There is no model of", "in models.", "--from FOLDER", "--models", "--from HOST:FOLDER"
        )
    assert mentions(refusal("models", "fetch", "9"), "The row is 9", "are 1")
    for words in (["models", "fetch"], ["models", "steal", "1"], ["models", "fetch", "one"]):
        assert refusal(*words)


def test_a_study_without_networks_has_no_models(study: Study) -> None:
    assert mentions(refusal("models"), "not of one of the paper's systems")


def test_a_study_of_a_recorded_table_has_no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    good("run", "resnet", "--recorded", "--method", "random", "--budget", "1m")
    assert mentions(refusal("models"), "recorded table", "no models")
