"""A network on a platform without training, clock and meter."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexibo.hardware.knobs import Journal
from flexibo.systems.catalogue import find_system
from flexibo.systems.data.base import Dataset, Images
from flexibo.systems.network_runner import NetworkRunner
from flexibo.systems.options import NETWORKS
from flexibo.systems.platforms import LinuxCpu, Serving

torch = pytest.importorskip("torch")


def images(count: int = 40) -> Dataset[Images]:
    rng = np.random.default_rng(0)
    labels = np.arange(count) % 2
    pixels = (rng.integers(0, 60, (count, 1, 12, 12)) + 150 * labels[:, None, None, None]).astype(np.uint8)
    part = Images(pixels, labels.astype(np.int64), ("dark", "light"))
    return Dataset("shades", part, part, "f00d", note="Made up.")


class FakeMeter:
    """One joule per second of a clock that moves a millisecond at each look."""

    name = "a fake"
    update_seconds = 0.001
    is_estimate = False

    def __init__(self) -> None:
        self.joules = 0.0

    def read_joules(self) -> float:
        self.joules += 0.001
        return self.joules


@dataclass(frozen=True)
class FakeTask:
    """A network whose size is the sum of its design's filters."""

    data: Any = field(default_factory=images)
    network: str = "lenet"
    fingerprint: str = "abc"
    chance_percent: float = 50.0
    built: list[dict[str, Any]] = field(default_factory=list)

    def build(self, design: Mapping[str, Any]) -> Any:
        self.built.append(dict(design))
        return torch.nn.Identity()

    def error_percent(self, model: Any, design: Mapping[str, Any], device: str) -> float:
        """The bits that are lost of a weight."""
        return 32 - 8 * next(model.parameters()).element_size() + 7.5

    def inputs(self, design: Mapping[str, Any], count: int, device: str) -> tuple[Any, ...]:
        return (torch.zeros(count, 1, 4, 4),)


@dataclass(frozen=True)
class Outcome:
    error_percent: float
    seconds: float
    cost_seconds: float = 0.5
    machines: tuple[str, ...] = ("there, a GPU", "here\n, cpu")

    def load(self, task: Any, device: str) -> Any:
        return torch.nn.Linear(1, 1)


class FakeStore:
    """Has all models or none."""

    def __init__(self, *, is_empty: bool = False) -> None:
        self.asked: list[dict[str, Any]] = []
        self.is_empty = is_empty

    def has(self, task: Any, design: Mapping[str, Any], *, seed: int) -> bool:
        return not self.is_empty

    def trained(self, task: Any, design: Mapping[str, Any], *, seed: int, device: str, train: Any) -> Any:
        self.asked.append(dict(design))
        return train(task, design, seed=seed, device=device) if self.is_empty else Outcome(7.5, 3.25)


class FakePlatform(LinuxCpu):
    """A processor whose memory ends at a batch of 64."""

    @contextmanager
    def serving(self, model: Any, inputs: Any, design: Mapping[str, Any]) -> Iterator[Serving]:
        if design["batch"] > 64:
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 10 bytes.\nTrace")
        yield Serving(lambda: None, lambda: None, int(design["batch"]))


def runner_of(tmp_path: Path, system: str = "lenet", **changed: Any) -> NetworkRunner:
    parts: dict[str, Any] = {
        "system": find_system(system),
        "task": FakeTask(),
        "platform": FakePlatform(cores=2),
        "store": FakeStore(),
        "meter": FakeMeter(),
        "journal": Journal(tmp_path / "knobs.json"),
        "window_seconds": 0.05,
        "clock": lambda: 100.0,
    }
    runner = NetworkRunner(**{**parts, **changed})
    if isinstance(runner.task, FakeTask):
        runner._warm.add(os.getpid())  # it cannot be trained
    return runner


def short_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows and warm-up of a hundredth of a second, which a fake meter is content with."""
    monkeypatch.setattr("flexibo.hardware.reading.SHORTEST_WINDOW_SECONDS", 0.01)
    monkeypatch.setattr("flexibo.systems.network_runner.LONGEST_WARM_UP_SECONDS", 0.01)


def lenet(**changed: Any) -> dict[str, Any]:
    design = {name: values[0] for name, values in NETWORKS["lenet"].items()}
    return {**design, "threads": 1, "precision": "fp32", "batch": 4, "layout": "contiguous", **changed}
