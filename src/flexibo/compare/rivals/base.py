"""The interface of a rival: a third-party optimiser in a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Protocol

from flexibo._internal.arrays import FloatArray
from flexibo.errors import MissingExtraError, missing_extra
from flexibo.space import Design, Designs, Space

UNTOLD = (
    "It cannot be told which options an objective depends on; like all, it pays once for a value that designs share."
)
"""A sentence for the caveat of a rival whose library learns complete designs only."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a rival knows about a problem before it sees a value. Every value it sees is a loss: lower is better.

    Attributes:
        space: The designs; `space.pool` lists them where the space is a finite pool.
        names: The objectives.
        reference: The reference point (n,), in losses.
        costs: The mean cost of each objective (n,) of the initial designs; 0 for one that is measured with another.
        leads: The objectives that can be measured on request; others may come with them.
        noisy: Whether some objective is noisy.
        n_initial: The number of initial designs.
        seed: Seeds every draw.
        options: The options on which each objective depends; all of them where none are given. Designs that agree in
            these have the same loss.
    """

    space: Space
    names: tuple[str, ...]
    reference: FloatArray
    costs: FloatArray
    leads: tuple[str, ...]
    noisy: bool
    n_initial: int
    seed: int
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        full = {name: tuple(self.options.get(name, self.space.names)) for name in self.names}
        object.__setattr__(self, "options", full)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a rival wants to be measured; without objectives, all of them.

    A design that is not in the pool, or known already, is replaced by the nearest one that can be measured. An
    objective with steps stops at `stop`; None is its last step.
    """

    design: Mapping[str, object]
    objectives: tuple[str, ...] = ()
    stop: int | None = None


class Rival(Protocol):
    """A third-party optimiser that minimises losses."""

    def tell(self, design: Design, losses: Mapping[str, float]) -> None:
        """Learn the losses of a design; the initial designs come first, with all objectives."""

    def ask(self) -> Suggestion:
        """The design to measure next, and its objectives."""

    def front(self) -> Sequence[Design] | None:
        """The recommended designs; None for the best of those that were measured in every objective."""

    def predict(self, designs: Designs) -> FloatArray | None:
        """The losses (m, n) of any designs (m) by the means of the library's model; None if it has none."""


@dataclass(frozen=True, slots=True)
class RivalEntry:
    """A row of the table of rivals.

    Attributes:
        packages: The packages whose versions decide its results, by their names on PyPI.
        modules: The modules that must be importable.
        documentation: The address of the documentation that describes this use.
        decoupled: Whether it measures single objectives; the others always measure, and pay for, all.
        caveat: What a reader of its results must know.
        extra: The extra of flexibo that installs it; empty if it needs other versions of packages than flexibo.
    """

    name: str
    summary: str
    packages: tuple[str, ...]
    modules: tuple[str, ...]
    make: Callable[[Setting], Rival] = field(repr=False)
    documentation: str
    decoupled: bool = False
    caveat: str = ""
    extra: str = "bench"

    def check(self) -> None:
        """Raise an error if it is not installed."""
        for module in self.modules:
            if find_spec(module) is not None:
                continue
            if self.extra:
                raise missing_extra(module, self.extra)
            raise MissingExtraError(
                f"{self.name} needs {module}, not installed here; install it with: pip install {self.packages[0]}, in "
                "an environment of its own if it does not accept the other packages of this one."
            )

    def is_installed(self) -> bool:
        """Whether its modules can be imported."""
        return all(find_spec(module) is not None for module in self.modules)

    def versions(self) -> str:
        """The versions of its packages, as in ``botorch 0.18.1, torch 2.13.0``."""
        return ", ".join(f"{package} {_version(package)}" for package in self.packages)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
