"""``flexibo methods``."""

from __future__ import annotations

import json

from typer.testing import CliRunner

import flexibo
from flexibo.cli import app


def test_the_list_of_methods_can_be_read_by_a_program() -> None:
    result = CliRunner().invoke(app, ["methods", "--json"])
    listed = {entry["name"]: entry for entry in json.loads(result.stdout)}
    assert list(listed) == [method.name for method in flexibo.list_methods()]
    assert listed["pesmo-dec"]["measures"] != listed["pesmo"]["measures"]
    assert listed["ca-mobo"]["cost_aware"]
    assert not listed["ehvi"]["cost_aware"]
    assert "evolution" in listed["nsga2"]["limits"]


def test_the_command_line_lists_the_methods() -> None:
    result = CliRunner().invoke(app, ["methods"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    for method in flexibo.list_methods():
        assert method.name in result.output
