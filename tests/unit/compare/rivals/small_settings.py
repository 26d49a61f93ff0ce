"""Small spaces with losses for the tests of rivals, and what a rival is told and asks for on them."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo import Design, Space
from flexibo.compare.rivals import RIVALS
from flexibo.compare.rivals.base import Rival, RivalEntry, Setting, Suggestion
from flexibo.compare.rivals.nearest_design import nearest_new
from flexibo.errors import MissingExtraError
from flexibo.space import Categorical, Integer, Ordinal, Real

N_INITIAL = 8
MIXED = Space(
    {
        "x": (-1.0, 1.0),
        "rate": Real(1e-4, 1e-1, log=True),
        "width": [8, 16, 32, 64],
        "effort": Ordinal(["low", "middle", "high"]),
        "kind": Categorical(["a", "b", "c"]),
        "gpu": [True, False],
        "cores": (1, 6),
        "batch": Integer(1, 512, log=True),
        "constant": [3],
    }
)
SQUARE = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})
POOL = Space.from_designs(
    [{"a": a, "b": b, "kind": kind} for a in range(9) for b in range(9) for kind in "xyz" if b % 3 == a % 3]
)


def installed(name: str) -> RivalEntry:
    try:
        RIVALS[name].check()
    except MissingExtraError as error:
        pytest.skip(str(error))
    return RIVALS[name]


def setting(space: Space, *, n: int = 2, seed: int = 0, noisy: bool = False, n_initial: int = N_INITIAL) -> Setting:
    names = ("error", "joules", "ms")[:n]
    return Setting(space, names, np.full(n, 9.0), np.ones(n), names, noisy, n_initial, seed)


def losses(design: Design, n: int = 2) -> dict[str, float]:
    """Numbers that depend on every option, and disagree."""
    codes = np.array([float(len(value)) if isinstance(value, str) else float(value) for value in design.values()])
    weights = np.linspace(-1.0, 1.0, len(codes))
    table = {"error": np.tanh(codes) @ weights, "joules": -np.tanh(codes) @ np.abs(weights), "ms": np.cos(codes).sum()}
    return {name: float(value) for name, value in list(table.items())[:n]}


def begun(name: str, given: Setting) -> tuple[Rival, set[int]]:
    """A rival that knows the initial designs, and their keys."""
    rival = installed(name).make(given)
    initial = given.space.sample(given.n_initial, np.random.default_rng(5))
    for design in initial:
        rival.tell(design, losses(design, len(given.names)))
    return rival, set(initial.keys().tolist())


def measured(rival: Rival, given: Setting, taken: set[int], asks: int) -> list[tuple[Suggestion, Design]]:
    """What the rival asks for, and what is measured instead."""
    pairs = []
    for _ in range(asks):
        suggestion = rival.ask()
        design = nearest_new(given.space, suggestion.design, taken, np.random.default_rng(0))
        assert design is not None
        taken.update(given.space.designs([design]).keys().tolist())
        rival.tell(design, losses(design, len(given.names)))
        pairs.append((suggestion, design))
    return pairs
