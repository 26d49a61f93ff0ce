"""``flexibo systems``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command_line import (
    call,
    mentions,
)

from flexibo.systems import catalogue


def test_systems_are_listed_with_the_data_that_is_there(mnist: Path) -> None:
    shown = call("systems", "--data", str(mnist)).stdout
    assert shown.count("not here") == 7
    rows = json.loads(call("systems", "--json", "--data", str(mnist)).stdout)
    assert [row["name"] for row in rows] == list(catalogue.SYSTEMS)
    recorded = {row["name"]: row["recorded"] for row in rows}
    assert all(f"{name}-h200-curves" in tables for name, tables in recorded.items())
    assert recorded["resnet"] == ["resnet-h200", "resnet-h200-curves"]
    assert mentions(shown, "newest", "flexibo run NAME --recorded", "flexibo run TABLE --recorded")
    assert {row["name"]: row["found"] for row in rows}["lenet"] == "mnist"
    assert rows[2]["designs"] == 7**4 * 5**4
