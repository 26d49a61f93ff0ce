"""A small plan, and a system that measures it at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flexibo.errors import DesignError
from flexibo.systems.recording.journal import RecordingJournal
from flexibo.systems.recording.measuring import record, recorded
from flexibo.systems.recording.plan import Plan, planned
from flexibo.systems.recording.table import RecordedTable

NETWORK = {"filters": (16, 32, 64), "filter_size": (1, 3)}


DEPLOYMENT = {"batch": (1, 4), "precision": ("fp32", "bf16"), "cuda_graphs": (False, True)}


HEADING = {"machine": "a board", "meter": "a counter", "date": "2026-01-02"}


def plan_of(networks: int = 4, deployments: int = 3, again: int = 2, seed: int = 0, **settings: Any) -> Plan:
    return planned(
        "lenet",
        NETWORK,
        DEPLOYMENT,
        networks=networks,
        deployments=deployments,
        again=again,
        settings={"dataset": "mnist", **settings},
        seed=seed,
    )


class FakeSystem:
    """Counts what it measures; a network of 64 filters cannot be trained, a batch of 4 of them not be run."""

    def __init__(self) -> None:
        self.trained: list[Mapping[str, Any]] = []
        self.read: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []

    def error(self, network: Mapping[str, Any]) -> Mapping[str, float | str]:
        self.trained.append(network)
        if network["filters"] == 64:
            raise DesignError("The loss is NaN after epoch 1.")
        machine = "a board" if network["filters"] == 16 else "another board"
        return {"error_percent": 100 / network["filters"], "training_seconds": 2.5, "trained_on": machine}

    def reading(self, network: Mapping[str, Any], deployment: Mapping[str, Any]) -> Mapping[str, float]:
        self.read.append((network, deployment))
        if network["filters"] == 64 and deployment["batch"] == 4:
            raise DesignError("There is not enough memory.")
        joules = network["filters"] * network["filter_size"] / deployment["batch"] + 0.001 * len(self.read)
        return {"energy_joules": joules, "latency_ms": 1.0, "power_watts": 100.0, "reading_seconds": 2.1}


def stopped(folder: Path, n_measurements: int) -> tuple[Plan, RecordingJournal]:
    plan = plan_of(again=0)
    journal, left = (
        RecordingJournal(folder / "t.csv.gz.partial", plan, HEADING),
        iter([False] * n_measurements + [True]),
    )
    record(plan, journal, FakeSystem(), is_over=lambda: next(left))
    return plan, journal


def _table(tmp_path: Path) -> RecordedTable:
    plan = plan_of(networks=6)
    journal = RecordingJournal(tmp_path / "j", plan, HEADING)
    record(plan, journal, FakeSystem())
    return recorded(plan, journal)
