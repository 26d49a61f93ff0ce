"""The experiment trackers by name, as study files name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, cast

from flexibo.errors import InvalidValueError, unknown_name
from flexibo.integrations._tracking import Tracker


@dataclass(frozen=True, slots=True)
class TrackerKind:
    """A kind of tracker: its class, and the texts that it takes as arguments."""

    module: str
    name: str
    takes: tuple[str, ...]


TRACKERS: Mapping[str, TrackerKind] = MappingProxyType(
    {
        "mlflow": TrackerKind("mlflow", "MLflowTracker", ("uri", "experiment")),
        "wandb": TrackerKind("wandb", "WandbTracker", ("project", "entity", "mode", "folder")),
        "tensorboard": TrackerKind("tensorboard", "TensorBoardTracker", ("folder",)),
    }
)


def find_tracker(name: str, **arguments: str) -> Tracker:
    """A new tracker of this name; imports its library."""
    if name not in TRACKERS:
        raise unknown_name("tracker", name, TRACKERS)
    kind = TRACKERS[name]
    for argument in arguments:
        if argument not in kind.takes:
            raise InvalidValueError(f"Tracker {name!r} takes no {argument!r}; it takes {', '.join(kind.takes)}.")
    found: Any = getattr(import_module(f"flexibo.integrations.{kind.module}"), kind.name)
    return cast(Tracker, found(**arguments))
