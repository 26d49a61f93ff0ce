"""``flexibo problems``."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from flexibo.cli import app


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"})


def test_problems_are_listed_for_people_and_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLEXIBO_DATA", raising=False)
    shown = invoke("problems").output
    for name in ("dnn-stack", "branin-currin", "nb201-tx2", "FLEXIBO_DATA", "ratio"):
        assert name in shown
    listed = {facts["name"]: facts for facts in json.loads(invoke("problems", "--json").output)}
    assert listed["dnn-stack"]["options"] == 14
    assert listed["dnn-stack"]["front"] == "true"
    assert listed["zdt1"]["designs"] is None
    assert "missing" in listed["nb201-tx2"]
    groups = ("nb201-tx2", "tx2-objectives", "dnn-stack", "lenet-h200", "zdt1")
    assert [listed[name]["group"] for name in groups] == ["recorded", "equal", "stack", "recorded", "equal"]
