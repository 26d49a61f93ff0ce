"""What another library's optimiser must do to take part in a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Protocol

from flexibo._internal.arrays import FloatArray
from flexibo.errors import missing_extra
from flexibo.space import Design, Space


@dataclass(frozen=True, slots=True)
class Setting:
    """All that a rival is told about a problem before it sees a value.

    Attributes:
        space: The designs; `space.pool` lists them where the space is a finite pool.
        names: The objectives. Every value a rival sees is a loss: lower is better.
        reference: The reference point (n,), in losses.
        costs: What measuring each objective costs on average (n,), as seen on the initial designs; nothing for one that
            is measured with another.
        leads: The objectives that can be bought, one for each that is measured alone or with others.
        noisy: Whether readings of some objective vary.
        n_initial: How many initial designs will be told.
        seed: Decides every draw.
    """

    space: Space
    names: tuple[str, ...]
    reference: FloatArray
    costs: FloatArray
    leads: tuple[str, ...]
    noisy: bool
    n_initial: int
    seed: int


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a rival wants measured.

    Attributes:
        design: Any legal combination of option values; one that cannot be measured anew (not in the pool, or measured
            before) is replaced by the nearest that can.
        objectives: Which objectives; empty for all of them.
    """

    design: Mapping[str, object]
    objectives: tuple[str, ...] = ()


class Rival(Protocol):
    """An optimiser of another library, for losses."""

    def tell(self, design: Design, losses: Mapping[str, float]) -> None:
        """Learn what was measured of a design; the initial designs come first, with all objectives."""

    def ask(self) -> Suggestion:
        """What to measure next."""

    def front(self) -> Sequence[Design] | None:
        """The designs it would recommend; None for the best of those that were measured in every objective."""


@dataclass(frozen=True, slots=True)
class RivalEntry:
    """A row of the table of rivals.

    Attributes:
        name: What users type.
        summary: One line.
        packages: The packages whose versions decide its results, as pip knows them.
        modules: What must be importable.
        make: Starts it.
        documentation: Where its own documentation says to use it this way.
        decoupled: Whether it measures single objectives; the others measure, and pay for, all.
        caveat: What a reader of its results must know.
    """

    name: str
    summary: str
    packages: tuple[str, ...]
    modules: tuple[str, ...]
    make: Callable[[Setting], Rival] = field(repr=False)
    documentation: str
    decoupled: bool = False
    caveat: str = ""

    def check(self) -> None:
        """Refuse to start what is not installed."""
        for module in self.modules:
            if find_spec(module) is None:
                raise missing_extra(module, "bench")

    def is_installed(self) -> bool:
        """Whether all it needs can be imported."""
        return all(find_spec(module) is not None for module in self.modules)

    def versions(self) -> str:
        """The versions of its packages, as in ``botorch 0.18.1, torch 2.13.0``."""
        return ", ".join(f"{package} {_version(package)}" for package in self.packages)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
