"""The packages that flexibo uses: which are installed, their purpose, and how to get missing ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType

from flexibo.cli.doctor import Finding

DEPENDENCIES: Mapping[str, str] = MappingProxyType(
    {
        "numpy>=1.26": "arrays",
        "scipy>=1.11": "fitting surrogates",
        "cloudpickle>=3": "sending functions to other processes",
        "scikit-learn>=1.4": "random forests, and the digits of the demo",
        "threadpoolctl>=3.1": "one thread per worker",
        "moocore>=0.2": "exact hypervolumes",
        "SQLAlchemy>=2.0": "storages",
        "PyYAML>=6.0": "study files",
        "rich>=13.0": "tables and progress bars",
        "typer>=0.12": "this command line",
    }
)
"""Required packages."""


@dataclass(frozen=True, slots=True)
class Extra:
    """Packages for one purpose, each with the oldest version that works."""

    packages: tuple[str, ...]
    purpose: str


EXTRAS: Mapping[str, Extra] = MappingProxyType(
    {
        "plot": Extra(("matplotlib>=3.8",), "pictures"),
        "dashboard": Extra(("starlette>=0.46", "uvicorn>=0.34"), "the live dashboard"),
        "pandas": Extra(("pandas>=2.1",), "data frames"),
        "postgres": Extra(("psycopg[binary]>=3.1",), "studies in PostgreSQL"),
        "dask": Extra(("distributed>=2024.8",), "measuring on a Dask cluster"),
        "ray": Extra(("ray>=2.30",), "measuring on a Ray cluster"),
        "nvml": Extra(("nvidia-ml-py>=12",), "energy and clocks of NVIDIA GPUs"),
        "dnn": Extra(("torch>=2.5", "pillow>=10", "soundfile>=0.12"), "training the paper's networks"),
        "configspace": Extra(("ConfigSpace>=1.2",), "spaces of ConfigSpace"),
        "evolution": Extra(("pymoo>=0.6.2",), "the method nsga2"),
        "bench": Extra(
            ("botorch>=0.18", "torch>=2.5", "optuna>=5.0", "smac>=2.4.1", "ConfigSpace>=1.2", "pymoo>=0.6.2"),
            "comparing with other libraries",
        ),
    }
)
"""Optional packages, by the name of the extra."""
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,]+\])?>=(?P<oldest>[\d.]+)")
Version = Callable[[str], str]


def dependencies(installed: Version = version) -> Iterator[Finding]:
    for package, purpose in DEPENDENCIES.items():
        name, told, is_good = _state(package, installed)
        remedy = "" if is_good else f"pip install '{package}'"
        yield Finding("Packages", name, "good" if is_good else "wrong", f"{told}: {purpose}", remedy)


def extras(installed: Version = version) -> Iterator[Finding]:
    for extra, about in EXTRAS.items():
        states = [_state(package, installed) for package in about.packages]
        told = ", ".join(f"{name} {said}" for name, said, _ in states)
        if all(is_good for _, _, is_good in states):
            yield Finding("Extras", extra, "good", f"{told}: {about.purpose}")
        else:
            lacking = ", ".join(f"{name} {said}" for name, said, is_good in states if not is_good)
            yield Finding("Extras", extra, "absent", f"{lacking}: {about.purpose}", f"pip install 'flexibo[{extra}]'")


def _state(package: str, installed: Version) -> tuple[str, str, bool]:
    """The name of a package, its version or what is wrong, and whether it can be used."""
    match = _REQUIREMENT.fullmatch(package)
    assert match is not None  # the tables above are ours
    name, oldest = match["name"], match["oldest"]
    try:
        here = installed(name)
    except PackageNotFoundError:
        return name, "is not installed", False
    if _numbers(here) < _numbers(oldest):
        return name, f"{here} is too old ({oldest} or later)", False
    return name, here, True


def _numbers(text: str) -> tuple[int, ...]:
    """The leading numbers of a version.

    >>> _numbers("2.10.1+cu121") > _numbers("2.5"), _numbers("5.0.0rc1")
    (True, (5, 0, 0))
    """
    leading = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in leading[0].split(".")) if leading else ()
