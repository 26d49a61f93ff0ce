"""BoTorch's decoupled, cost-aware hypervolume knowledge gradient, at the settings of BoTorch's own tutorial.

The tutorial is "Multi-Objective BO with Decoupled Evaluations using HVKG" (BoTorch, tutorials/decoupled_mobo); the
method is Daulton, Balandat, Bakshy: Hypervolume Knowledge Gradient, ICML 2023. Every number below is the tutorial's. An
iteration is what its loop does between two measurements: fit both models, find the current value, optimise the
acquisition for each objective. (The tutorial then also measures its progress; that is not timed.)
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

from benchmarks.baseline import Snapshot

NUM_PARETO = 10
NUM_FANTASIES = 8
NUM_RESTARTS = 1
RAW_SAMPLES = 512
CURRENT_VALUE_RESTARTS = 20
CURRENT_VALUE_RAW_SAMPLES = 1_024
BATCH_LIMIT = 5
NOISE_VARIANCE = 1e-7
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
        model = _fitted(snapshot)
        return _choice(snapshot, model)


def _fitted(snapshot: Snapshot) -> Any:
    """A model per objective, of the negated losses: BoTorch maximises."""
    import torch
    from botorch import fit_gpytorch_mll
    from botorch.models.gp_regression import SingleTaskGP
    from botorch.models.model_list_gp_regression import ModelListGP
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.mlls.sum_marginal_log_likelihood import SumMarginalLogLikelihood
    from gpytorch.priors import GammaPrior

    models = []
    for X, y in zip(snapshot.X, snapshot.y, strict=True):
        train_Y = -torch.tensor(y, dtype=torch.double)[:, None]
        matern = MaternKernel(nu=2.5, ard_num_dims=X.shape[1], lengthscale_prior=GammaPrior(2.0, 2.0))
        models.append(
            SingleTaskGP(
                torch.tensor(X, dtype=torch.double),
                train_Y,
                train_Yvar=torch.full_like(train_Y, NOISE_VARIANCE),
                covar_module=ScaleKernel(matern, outputscale_prior=GammaPrior(2.0, 0.15)),
            )
        )
    model = ModelListGP(*models)
    fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
    return model


def _choice(snapshot: Snapshot, model: Any) -> tuple[list[float], int]:
    import torch
    from botorch.acquisition.cost_aware import InverseCostWeightedUtility
    from botorch.acquisition.multi_objective.hypervolume_knowledge_gradient import qHypervolumeKnowledgeGradient
    from botorch.models.cost import FixedCostModel
    from botorch.optim.optimize import optimize_acqf

    n, d = len(snapshot.reference), snapshot.candidates.shape[1]
    bounds = torch.stack([torch.zeros(d), torch.ones(d)]).double()
    reference = -torch.tensor(snapshot.reference, dtype=torch.double)
    costs = FixedCostModel(fixed_cost=torch.tensor(snapshot.costs, dtype=torch.double))
    acquisition = qHypervolumeKnowledgeGradient(
        model=model,
        ref_point=reference,
        num_fantasies=NUM_FANTASIES,
        num_pareto=NUM_PARETO,
        current_value=_current_value(model, reference, bounds),
        cost_aware_utility=InverseCostWeightedUtility(cost_model=costs),
    )
    choices = []
    for j in range(n):
        mask = torch.zeros(1, n, dtype=torch.bool)
        mask[0, j] = True
        acquisition.X_evaluation_mask = mask
        X, value = optimize_acqf(
            acq_function=acquisition,
            bounds=bounds,
            q=1,
            num_restarts=NUM_RESTARTS,
            raw_samples=RAW_SAMPLES,
            sequential=False,
            options={"batch_limit": BATCH_LIMIT},
        )
        choices.append((float(value), X[0].tolist(), j))
    _, point, j = max(choices)
    return point, j


def _current_value(model: Any, reference: Any, bounds: Any) -> Any:
    """The hypervolume of the best set of designs under the posterior mean."""
    from botorch.acquisition.multi_objective.hypervolume_knowledge_gradient import _get_hv_value_function
    from botorch.optim.optimize import optimize_acqf

    _, value = optimize_acqf(
        acq_function=_get_hv_value_function(model=model, ref_point=reference, use_posterior_mean=True),
        bounds=bounds,
        q=NUM_PARETO,
        num_restarts=CURRENT_VALUE_RESTARTS,
        raw_samples=CURRENT_VALUE_RAW_SAMPLES,
        return_best_only=True,
        options={"batch_limit": BATCH_LIMIT},
    )
    return value
