"""Modules that need torch or a tracker are not collected for their doctests where it is not installed."""

from __future__ import annotations

from importlib.util import find_spec

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
