"""The folder for OptunaHub has what its registry asks for, and its example runs."""

from __future__ import annotations

import inspect
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import optuna
import pytest
import yaml

from flexibo.integrations.optuna import FlexiBOSampler

FOLDER = Path(__file__).parents[2] / "examples" / "optunahub" / "package" / "samplers" / "flexibo"


def loaded(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"hub_{path.parent.name}_{path.stem.strip('_')}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_folder_has_all_files_and_exports_the_sampler() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_file()} == {
        "__init__.py",
        "example.py",
        "README.md",
        "LICENSE",
    }
    assert loaded(FOLDER / "__init__.py").FlexiBOSampler is FlexiBOSampler


def test_the_page_has_the_fields_and_sections_of_the_registry_and_every_argument() -> None:
    _, fields, page = (FOLDER / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert set(yaml.safe_load(fields)) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert re.findall("^## (.*)$", page, flags=re.MULTILINE) == ["Abstract", "APIs", "Installation", "Example"]
    arguments = list(inspect.signature(FlexiBOSampler).parameters)
    assert re.findall(r"^  - `(\w+)`", page, flags=re.MULTILINE) == arguments


def test_the_example_finds_a_front(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = SimpleNamespace(load_module=lambda name: loaded(FOLDER / "__init__.py"))
    monkeypatch.setitem(sys.modules, "optunahub", hub)
    example: Any = loaded(FOLDER / "example.py")
    sampler = example.optunahub.load_module("samplers/flexibo").FlexiBOSampler(seed=0, n_startup_trials=3)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    study.optimize(example.objective, n_trials=5)
    assert study.best_trials
