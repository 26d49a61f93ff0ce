"""What a study was made of, in words."""

from __future__ import annotations

from typing import Any

import pytest

from flexibo.cli._made import MOST, made_sentence


def test_a_study_of_a_program_says_nothing() -> None:
    assert made_sentence({}) == ""


def test_all_that_decides_the_values_of_a_system_is_named() -> None:
    origin = {
        "study_file": "/home/ada/net.yaml",
        "system": "lenet",
        "size": "tiny",
        "dataset": "cifar-10",
        "limit": 200,
        "epochs": 3,
        "augment": True,
        "platform": "linux-cpu",
        "read_from": "rapl",
        "knobs": ["swappiness"],
        "and": ["latency_ms"],
        "longest": 60.0,
        "chance": {"objective": "error_percent", "percent": 90.0, "examples": 200},
    }
    said = made_sentence(origin)
    parts = ["/home/ada/net.yaml", "lenet", "tiny", "cifar-10", "200", "3 epochs", "linux-cpu", "rapl", "swappiness"]
    assert [part for part in [*parts, "latency_ms", "60 s", "90 %"] if part not in said] == []
    assert "{" not in said


@pytest.mark.parametrize(
    ("key", "value"),
    [("limit", "many"), ("epochs", True), ("longest", float("nan")), ("longest", 10 * MOST), ("chance", "high")],
)
def test_what_means_nothing_in_a_storage_is_left_out(key: str, value: Any) -> None:
    assert made_sentence({"system": "lenet", key: value}) == made_sentence({"system": "lenet"})
