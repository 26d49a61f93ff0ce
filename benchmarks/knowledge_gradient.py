"""BoTorch's decoupled, cost-aware hypervolume knowledge gradient, at the settings of BoTorch's own tutorial.

The tutorial is "Multi-Objective BO with Decoupled Evaluations using HVKG" (BoTorch, tutorials/decoupled_mobo). The same
code takes part in comparisons, as the rival `botorch-hvkg`; here it is timed as the tutorial has it, without
standardised losses and with random starts scored five at a time. An iteration is what its loop does between two
measurements: fit both models, find the current value, optimise the acquisition for each objective. (The tutorial then
also measures its progress; that is not timed.)
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec

from benchmarks.baseline import Snapshot
from flexibo.compare.rivals._botorch import fitted, tensor, tutorial_model
from flexibo.compare.rivals.botorch_hvkg import HvkgEffort, best_purchase

MISSING = "BoTorch is not installed: pip install flexibo[bench]"


def is_installed() -> bool:
    """Whether torch and BoTorch can be imported."""
    return find_spec("torch") is not None and find_spec("botorch") is not None


def prepare() -> None:
    """Import what is needed, and use one thread."""
    import botorch.acquisition.multi_objective.hypervolume_knowledge_gradient  # noqa: F401
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)


def iteration(snapshot: Snapshot) -> tuple[list[float], int]:
    """The point of the unit cube and the objective to measure next."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = zip(snapshot.X, snapshot.y, strict=True)
        model = fitted([tutorial_model(tensor(X).cpu(), -tensor(y).cpu()) for X, y in data])
        objectives = [[j] for j in range(len(snapshot.y))]
        measured, reference = tensor(snapshot.X[0]).cpu(), -tensor(snapshot.reference).cpu()
        row, j = best_purchase(model, measured, reference, objectives, snapshot.costs, HvkgEffort(start_batch=None))
        return row.tolist(), j
