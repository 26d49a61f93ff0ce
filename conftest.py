"""Modules that import torch are not collected for their doctests where it is not installed."""

from __future__ import annotations

from importlib.util import find_spec

SYSTEMS = "src/flexibo/systems"
NEED_TORCH = ("networks/*", "tasks/*", "training.py", "models.py", "memory.py", "platforms/torch_state.py")

collect_ignore_glob = [] if find_spec("torch") else [f"{SYSTEMS}/{module}" for module in NEED_TORCH]
