"""FlexiBO: choose which design and which single objective to measure next.

The names below are imported when they are first used, so that ``import flexibo`` stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from flexibo._internal.version import __version__ as __version__

if TYPE_CHECKING:
    from flexibo.errors import FlexiBOError
    from flexibo.executors.steps import Steps
    from flexibo.history import Evaluation
    from flexibo.methods import list_methods
    from flexibo.objectives import Objective
    from flexibo.space import Categorical, Design, Integer, Ordinal, Real, Space
    from flexibo.study import Study
    from flexibo.surrogates import GaussianProcess, RandomForest

__all__ = [
    "Categorical",
    "Design",
    "Evaluation",
    "FlexiBOError",
    "GaussianProcess",
    "Integer",
    "Objective",
    "Ordinal",
    "RandomForest",
    "Real",
    "Space",
    "Steps",
    "Study",
    "list_methods",
]

_HOMES = {
    "errors": ("FlexiBOError",),
    "executors.steps": ("Steps",),
    "history": ("Evaluation",),
    "methods": ("list_methods",),
    "objectives": ("Objective",),
    "space": ("Categorical", "Design", "Integer", "Ordinal", "Real", "Space"),
    "study": ("Study",),
    "surrogates": ("GaussianProcess", "RandomForest"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"flexibo.{home}"), name)
    raise AttributeError(f"module 'flexibo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
