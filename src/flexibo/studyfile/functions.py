"""Python functions that a study file names as ``module:function``, looked for beside the file first."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from flexibo.errors import InvalidValueError, MachineError
from flexibo.executors.steps import Steps
from flexibo.space import Design
from flexibo.studyfile.machine_settings import NO_SETTINGS, MachineSettings
from flexibo.studyfile.mistakes import nearest


@dataclass(frozen=True, slots=True)
class Function:
    """A function by its name: a worker process imports it from the same folder."""

    place: str  # ``module:function``
    folder: str  # of the study file
    settings: MachineSettings = NO_SETTINGS  # of the machine, set while it runs

    def __call__(self, given: Design | Steps) -> Any:
        """What the function returns for a design, or for the steps of one."""
        try:
            function = _kept(self.place, self.folder)
        except InvalidValueError as error:
            raise MachineError(str(error)) from None
        with self.settings.held(given.design if isinstance(given, Steps) else given):
            return function(given)


def found(place: str, folder: str) -> Callable[..., Any]:
    """The function that ``module:function`` names; InvalidValueError if there is none."""
    value = imported(place, folder)
    if not callable(value):
        raise InvalidValueError(f"{place} is {type(value).__name__}; it must be a function.")
    return value  # type: ignore[no-any-return]  # it can be called


def imported(place: str, folder: str) -> Any:
    """What ``module:name`` names, looked for in a folder first; InvalidValueError if it cannot be imported."""
    name, sign, attribute = place.partition(":")
    if not (sign and attribute and all(part.isidentifier() for part in [*name.split("."), *attribute.split(".")])):
        raise InvalidValueError(f"The function is {place!r}; give module:function, such as train:error.")
    value: Any = _module(name, Path(folder))
    for part in attribute.split("."):
        if not hasattr(value, part):
            names = (other for other in dir(value) if not other.startswith("_"))
            known = [other for other in names if callable(getattr(value, other, None))]
            raise InvalidValueError(f"Module {name!r} has no {attribute!r}{nearest(part, known)}")
        value = getattr(value, part)
    return value


_kept = lru_cache(maxsize=64)(found)  # looked up once in each process: that is not part of the measurement


def _module(name: str, folder: Path) -> ModuleType:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    top = name.split(".")[0]
    importlib.invalidate_caches()
    _check_not_taken(top, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            files = sorted(path.stem for path in folder.glob("*.py"))
            raise InvalidValueError(
                f"There is no module {error.name!r} beside the file ({folder}) or among what is installed"
                f"{nearest(top, files) if files else '.'}"
            ) from None
        raise InvalidValueError(f"Module {name!r} cannot be imported: {error}.") from None
    except (Exception, SystemExit) as error:
        raise InvalidValueError(f"Module {name!r} cannot be imported: {type(error).__name__}: {error}.") from None


def _check_not_taken(top: str, folder: Path) -> None:
    """Refuse a module beside the file if another module of that name is imported already."""
    mine = [folder / f"{top}.py", folder / top / "__init__.py"]
    there = sys.modules.get(top)
    if there is None or not any(path.exists() for path in mine):
        return
    origin = getattr(there, "__file__", None)
    if origin is None or Path(origin).resolve() not in [path.resolve() for path in mine]:
        raise InvalidValueError(
            f"The name of {top}.py beside the file is taken by another module ({origin or 'built in'}); rename it."
        )
