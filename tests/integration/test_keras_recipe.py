"""The recipe for Keras on the page about steps, with a small stand-in for Keras that behaves as documented."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.integration.test_documentation import DOCS, blocks
from tests.unit.executors.questions import question

from flexibo import Objective, Steps
from flexibo.executors import measured
from flexibo.executors.checkpoints import Checkpoints
from flexibo.executors.steps import StepMeasure

ERROR = Objective("error", steps=9)


class Callback:
    model: Any


class Model:
    """Has one weight, the number of epochs that it was trained."""

    def __init__(self, weight: int = 0) -> None:
        self.weight = weight

    def fit(self, x: object, y: object, *, initial_epoch: int, epochs: int, callbacks: list[Any], **_: Any) -> None:
        for callback in callbacks:
            callback.model = self
        for epoch in range(initial_epoch, epochs):
            self.weight += 1
            for callback in callbacks:
                callback.on_epoch_end(epoch, {"val_accuracy": 1 - 1 / (1 + self.weight)})

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self.weight))


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    keras: Any = ModuleType("keras")
    keras.callbacks = SimpleNamespace(Callback=Callback)
    keras.models = SimpleNamespace(load_model=lambda path: Model(json.loads(path.read_text())))
    monkeypatch.setitem(sys.modules, "keras", keras)
    [block] = [one for one in blocks(DOCS / "howto" / "steps.md", "python") if one.file == "keras_error.py"]
    module = ModuleType("keras_error")
    exec(compile(block.text, "keras_error.py", "exec"), module.__dict__)
    return module


def test_the_recipe_for_keras_goes_on_from_its_checkpoint(recipe: Any, tmp_path: Path) -> None:
    def train(steps: Steps) -> None:
        recipe.error(steps, lambda design: Model(), ([], []), ([], []))

    measure = StepMeasure(train, ERROR, Checkpoints(tmp_path))
    first = measured(replace(question(), stop=3), ERROR, measure)
    second = measured(replace(question(), start=3, stop=9), ERROR, measure)
    assert [*first.reports, *second.reports] == [(step, pytest.approx(1 / (1 + step))) for step in range(1, 10)]
    assert second.begun is None
