"""Modules that need torch or a tracker are not collected for their doctests where it is not installed."""

from __future__ import annotations

import gc
from collections.abc import Generator
from importlib.util import find_spec

import pytest

SYSTEMS = "src/flexibo/systems"
NEED_TORCH = (
    "networks/*",
    "tasks/*",
    "training.py",
    "model_store.py",
    "device_errors.py",
    "platforms/_torch_settings.py",
)

TRACKERS = ("mlflow", "tensorboard", "wandb")

collect_ignore_glob = [] if find_spec("torch") else [f"{SYSTEMS}/{module}" for module in NEED_TORCH]
collect_ignore_glob += [f"src/flexibo/integrations/{name}.py" for name in TRACKERS if not find_spec(name)]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects tests without looking for garbage, of which there is little."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
