"""BoTorch's rivals with little effort, on small spaces of every kind that BoTorch searches in its own way."""

from __future__ import annotations

import numpy as np
from tests.comparisons import QUICK_HVKG, QUICK_SEARCH

from flexibo.compare.rivals._botorch import Columns
from flexibo.compare.rivals.base import Setting
from flexibo.compare.rivals.botorch_hvkg import HypervolumeKnowledgeGradient
from flexibo.compare.rivals.botorch_qlognehvi import qlognehvi
from flexibo.compare.rivals.botorch_qlognparego import qlognparego
from flexibo.space import Integer, Real, Space

CONTINUOUS = Space({"x": (0.0, 1.0), "y": Real(0.01, 10.0, log=True)})
GRID = Space({"x": [i / 7 for i in range(8)], "kind": ["slow", "fast", "odd"], "y": (1, 5)})
POOL = Space.from_designs([{"x": i / 30, "kind": "ab"[i % 2], "y": (7 * i) % 30} for i in range(30)])
LATTICE = Space(
    {"x": (0, 20), "kind": ["slow", "fast", "odd"], "y": (1, 30), "z": [1, 2, 4, 8, 16, 32], "constant": [3]}
)
MIXED = Space({"x": (0.0, 1.0), "kind": ["slow", "fast", "odd"], "y": (1, 5), "wide": Integer(1, 3_000, log=True)})
RULED = Space({"x": (0.0, 1.0), "y": (1, 500)}, valid=lambda design: design["x"] * 500 > design["y"])
SPACES = {
    "continuous": CONTINUOUS,
    "grid": GRID,
    "pool": POOL,
    "lattice": LATTICE,
    "mixed": MIXED,
    "ruled": RULED,
    "conditional": Space(
        {"x": (0.0, 1.0), "kind": ["slow", "fast"], "y": (1, 5)}, conditions={"y": {"kind": ["slow"]}}
    ),
}


def setting_for(space, **changes):
    given = {
        "space": space,
        "names": ("near", "far"),
        "reference": np.array([2.0, 2.0]),
        "costs": np.array([9.0, 3.0]),
        "leads": ("near", "far"),
        "noisy": False,
        "n_initial": 6,
        "seed": 5,
    }
    return Setting(**(given | changes))


def losses(space, design):
    """The distances to two corners of the cube: lower is better, and the front joins the corners."""
    row = Columns(space).rows(space.designs([design]))[0]
    return {
        "near": float(np.sqrt((row**2).mean())),
        "far": float(np.sqrt(((1 - row) ** 2).mean())),
        "third": float(abs(row[0] - 0.5)),
    }


def told(rival, setting, n=6, seed=0):
    for design in setting.space.sample(n, np.random.default_rng(seed)):
        rival.tell(design, {name: losses(setting.space, design)[name] for name in setting.names})
    return rival


def nehvi(space, effort=QUICK_SEARCH, **changes):
    setting = setting_for(space, **changes)
    return told(qlognehvi(setting, effort=effort), setting)


def nparego(space, effort=QUICK_SEARCH, **changes):
    setting = setting_for(space, **changes)
    return told(qlognparego(setting, effort=effort), setting)


def hvkg(space, effort=QUICK_HVKG, **changes):
    setting = setting_for(space, **changes)
    return told(HypervolumeKnowledgeGradient(setting, effort=effort), setting)
