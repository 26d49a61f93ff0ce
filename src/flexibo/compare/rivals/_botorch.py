"""What all BoTorch rivals share: readings, models, the device, and what happens when the numerics fail.

BoTorch maximises, so models are of negated losses. They are standardised before the models and the acquisition see
them (as Ax does for BoTorch), because acquisitions smooth their kinks by fixed widths that assume values of order one.
Inputs lie in the unit cube, categories as one-hot columns of 0 and 1. All computations use double precision and one
thread. Acquisitions are computed on the GPU if there is one; models are always fitted on the CPU, because a fit is
hundreds of sequential steps with matrices that are small for a GPU.

The model of an objective sees only the options on which it depends (BoTorch's `FilterFeatures`), and a loss that
designs share is one reading, known for all of them.
"""

from __future__ import annotations

import logging
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.compare.rivals.base import Setting
from flexibo.pareto import non_dominated
from flexibo.space import Categorical, Design, Designs, Space
from flexibo.space.encoding import ONE_HOT

NOISE_VARIANCE = 1e-7
"""The noise variance of exact values in BoTorch's tutorial on decoupled evaluations."""
JITTERS = (1e-8, 1e-4)
"""Added to the diagonals of covariances: BoTorch's default first, more if that fails."""
FEWEST_READINGS = 2
FRONT, PREDICTION = 3, 5
"""Separate the random numbers of a front and of a prediction from those of a question."""
BLOCK = 1_024
"""The number of designs that are predicted together."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Readings:
    """The losses that a rival has learnt: `designs` were measured in any objective, `count` is the number of tells."""

    def __init__(self, setting: Setting) -> None:
        self.count = 0
        self.designs: list[Design] = []
        self._setting = setting
        self._positions: dict[Design, int] = {}
        self._losses: dict[str, list[tuple[int, float]]] = {name: [] for name in setting.names}
        self._keys: dict[str, list[int]] = {name: [] for name in setting.names}
        self._seen: dict[str, set[int]] = {name: set() for name in setting.names}

    def add(self, design: Design, losses: Mapping[str, float]) -> None:
        """Add losses of a design; exact ones are kept once, and those that are not finite are left out."""
        self.count += 1
        i = self._positions.setdefault(design, len(self.designs))
        if i == len(self.designs):
            self.designs.append(design)
            row = self._setting.space.designs([design])
            for name, options in self._setting.options.items():
                self._keys[name].append(int(row.keys(options)[0]))
        for name, loss in losses.items():
            key = self._keys[name][i]
            if np.isfinite(loss) and (self._setting.noisy or key not in self._seen[name]):
                self._losses[name].append((i, float(loss)))
                self._seen[name].add(key)

    def of(self, name: str) -> tuple[IntArray, FloatArray]:
        """The positions (s,) among the designs and the losses (s,) of one objective."""
        told = self._losses[name]
        return np.array([i for i, _ in told], dtype=np.int64), np.array([loss for _, loss in told])

    def common(self) -> IntArray:
        """The positions of the designs whose losses are all known, measured or shared with measured designs."""
        known = [[key in self._seen[name] for key in keys] for name, keys in self._keys.items()]
        return np.flatnonzero(np.logical_and.reduce(known))

    def enough(self) -> bool:
        """Whether there is something to model."""
        return min(map(len, self._losses.values())) >= FEWEST_READINGS

    def all_designs(self) -> Designs:
        """The designs that were measured in any objective."""
        return self._setting.space.designs(self.designs)


@dataclass(frozen=True, slots=True)
class Columns:
    """Converts designs to rows of numbers in the unit cube, and back.

    If `coded`, a category is one column with its number, as BoTorch's optimisers of mixed spaces require; otherwise it
    is one-hot columns of 0 and 1.
    """

    space: Space
    coded: bool = False

    def rows(self, designs: Designs) -> FloatArray:
        """The rows (m, d) of designs (m); a constant option has no column."""
        X = designs.encoded()
        groups = self.space.groups()
        columns = []
        for place, option in enumerate(self.space.options.values()):
            own = X[:, groups == place]
            if isinstance(option, Categorical):
                own = own.argmax(axis=1)[:, None] if self.coded and own.shape[1] else own / ONE_HOT
            columns.append(own)
        return np.concatenate(columns, axis=1, dtype=np.float64)

    def design(self, row: FloatArray) -> Design:
        """The design nearest to a row (d,); rules and pools are not consulted."""
        if self.coded:
            parts: list[FloatArray] = []
            varying = [option for option in self.space.options.values() if option.size > 1]
            for option, value in zip(varying, row.tolist(), strict=True):
                one_hot = isinstance(option, Categorical)
                parts.append(np.eye(int(option.size))[round(value)] if one_hot else np.array([value]))
            row = np.concatenate(parts)
        return self.space.decode(row[None, :])[0]

    def of(self, options: Sequence[str]) -> list[int]:
        """The columns of some options; all columns if none of these options varies."""
        names = [name for name, option in self.space.options.items() if option.size > 1] if self.coded else []
        owners = names or [list(self.space.names)[place] for place in self.space.groups()]
        own = [column for column, name in enumerate(owners) if name in options]
        return own or list(range(len(owners)))

    def categories(self) -> dict[int, int]:
        """The number of values of each column of coded categories."""
        varying = [option for option in self.space.options.values() if option.size > 1]
        return {place: int(option.size) for place, option in enumerate(varying) if isinstance(option, Categorical)}


@dataclass(frozen=True, slots=True)
class Standardisation:
    """Scales the negated losses of one objective to mean 0 and standard deviation 1, if they vary."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, losses: FloatArray) -> Standardisation:
        """The standardisation of these losses (s,)."""
        deviation = float(losses.std(ddof=1))
        flat = not deviation > 1e-12 * max(1.0, float(np.abs(losses).max()))
        return cls(float(losses.mean()), 1.0 if flat else deviation)

    def gains(self, losses: FloatArray) -> FloatArray:
        """The standardised negated losses, which BoTorch maximises."""
        return np.asarray((self.mean - losses) / self.deviation)

    def losses(self, gains: FloatArray) -> FloatArray:
        """The losses with these gains: the inverse of `gains`."""
        return np.asarray(self.mean - gains * self.deviation)


def import_quietly() -> None:
    """Import the libraries before the overhead is measured; they warn about each other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import botorch.acquisition.multi_objective.hypervolume_knowledge_gradient
        import botorch.acquisition.multi_objective.logei
        import botorch.acquisition.multi_objective.parego
        import botorch.optim.optimize_mixed
        import botorch.utils.multi_objective.optimize  # noqa: F401


def device() -> Any:
    """The first GPU, or the CPU."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def tensor(values: object) -> Any:
    """Numbers in double precision on the device."""
    import torch

    return torch.tensor(np.asarray(values), dtype=torch.double, device=device())


def unit_bounds(d: int) -> Any:
    """The lower and upper bounds (2, d) of the unit cube."""
    return tensor([[0.0] * d, [1.0] * d])


@contextmanager
def quietly(*seeds: int) -> Iterator[None]:
    """A context without warnings, on one thread, with random numbers from these seeds; everything is restored."""
    import torch

    seed = int(np.random.SeedSequence(seeds).generate_state(1)[0])
    threads, state = torch.get_num_threads(), random.getstate()
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        random.seed(seed)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            random.setstate(state)


def recommended_model(
    X: Any,
    y: Any,
    *,
    columns: Sequence[int] | None = None,
    categories: Mapping[int, int] | None = None,
    exact: bool = False,
) -> Any:
    """BoTorch's default model of X (s, d) and y (s,), which is maximised; it may be told that values are exact.

    It sees the given columns only (all by default), and coded categories one-hot.
    """
    from botorch.models.gp_regression import SingleTaskGP

    own = list(range(X.shape[-1]) if columns is None else columns)
    return SingleTaskGP(
        X,
        y[:, None],
        train_Yvar=_exact(y) if exact else None,
        outcome_transform=None,
        input_transform=_seen(X, own, categories or {}),
    )


def tutorial_model(X: Any, y: Any, *, columns: Sequence[int] | None = None, noisy: bool = False) -> Any:
    """The model of BoTorch's tutorial on decoupled evaluations: Matern 5/2, its priors, little noise unless noisy.

    It sees the given columns of X (s, d) only, by default all.
    """
    from botorch.models.gp_regression import SingleTaskGP
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.priors import GammaPrior

    own = list(range(X.shape[-1]) if columns is None else columns)
    matern = MaternKernel(nu=2.5, ard_num_dims=len(own), lengthscale_prior=GammaPrior(2.0, 2.0))
    return SingleTaskGP(
        X,
        y[:, None],
        train_Yvar=None if noisy else _exact(y),
        covar_module=ScaleKernel(matern, outputscale_prior=GammaPrior(2.0, 0.15)),
        outcome_transform=None,
        input_transform=_seen(X, own, {}),
    )


def _exact(y: Any) -> Any:
    """The noise variances (s, 1) of exact values (s,)."""
    import torch

    return torch.full_like(y[:, None], NOISE_VARIANCE)


def _seen(X: Any, columns: Sequence[int], categories: Mapping[int, int]) -> Any:
    """What a model sees of inputs (s, d): these columns, categories one-hot; None if it sees the inputs as they are."""
    import torch
    from botorch.models.transforms.input import ChainedInputTransform, FilterFeatures, NumericToCategoricalEncoding
    from torch.nn.functional import one_hot

    steps = {}
    if len(columns) < X.shape[-1]:
        steps["columns"] = FilterFeatures(torch.tensor(columns))
    sizes = {place: categories[column] for place, column in enumerate(columns) if column in categories}
    if sizes:
        encoders = {place: partial(one_hot, num_classes=size) for place, size in sizes.items()}
        steps["categories"] = NumericToCategoricalEncoding(len(columns), sizes, encoders)
    return ChainedInputTransform(**steps) if steps else None


def fitted(models: Sequence[Any]) -> Any:
    """The models, one per objective, as one, with the most likely hyperparameters."""
    from botorch import fit_gpytorch_mll
    from botorch.models.model_list_gp_regression import ModelListGP
    from gpytorch.mlls.sum_marginal_log_likelihood import SumMarginalLogLikelihood

    model = ModelListGP(*models)
    fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
    return model


@dataclass(frozen=True, slots=True)
class Fit:
    """Fitted models as one, the standardisation of each objective's losses, and the number of tells before the fit."""

    count: int
    model: Any
    scales: tuple[Standardisation, ...]

    def reference(self, setting: Setting) -> Any:
        """The reference point (n,) in the units of the models."""
        return tensor([float(scale.gains(setting.reference[j])) for j, scale in enumerate(self.scales)])

    def means(self, X: Any) -> Any:
        """The posterior means (m, n) of rows (m, d), in the units of the models."""
        import torch
        from gpytorch.settings import skip_posterior_variances

        with torch.no_grad(), skip_posterior_variances():
            return torch.cat([self.model.posterior(rows).mean for rows in X.split(BLOCK)])

    def losses(self, X: FloatArray) -> FloatArray:
        """The posterior mean losses (m, n) of rows (m, d)."""
        means = self.means(tensor(X)).cpu().numpy()
        return np.stack([scale.losses(means[:, j]) for j, scale in enumerate(self.scales)], axis=1)


def fresh_design(space: Space, measured: Designs, rng: np.random.Generator) -> Design:
    """A random legal design, if possible one that was not measured."""
    drawn = space.sample(len(measured) + 1, rng)
    fresh = np.flatnonzero(~np.isin(drawn.keys(), measured.keys()))
    return drawn[int(fresh[0]) if len(fresh) else 0]


class Memory:
    """The readings of a BoTorch rival, and models that are fitted on demand; `build` creates that of one objective."""

    def __init__(self, setting: Setting, columns: Columns, build: Callable[..., Any]) -> None:
        self.readings = Readings(setting)
        self._setting = setting
        self._columns = columns
        self._build = build
        self._last: Fit | None = None

    def fit(self) -> Fit:
        """The models of all readings."""
        count = self.readings.count
        if self._last is not None and self._last.count == count:
            return self._last
        X = self._columns.rows(self.readings.all_designs())
        scales, models = [], []
        for name in self._setting.names:
            at, losses = self.readings.of(name)
            scales.append(Standardisation.of(losses))
            own = self._columns.of(self._setting.options[name])
            models.append(self._build(tensor(X[at]).cpu(), tensor(scales[-1].gains(losses)).cpu(), columns=own))
        with quietly(self._setting.seed, 2, count):  # decides where a failed fit starts again
            model = fitted(models)
        # Moved in training mode, in which the inputs are not transformed.
        self._last = Fit(count, model.train().to(device()).eval(), tuple(scales))
        return self._last

    def attempted(self, stream: int, compute: Callable[[], T]) -> T | None:
        """The result of a computation with random numbers of its own stream; None if it fails repeatedly.

        After a failure it is tried again with new models and more jitter. A comparison takes hours, and numerical
        problems raise many kinds of errors, so all exceptions are caught.
        """
        import torch
        from gpytorch.settings import cholesky_jitter

        with quietly(self._setting.seed, stream, self.readings.count):
            for jitter in JITTERS:
                try:
                    with cholesky_jitter(double_value=jitter):
                        return compute()
                except Exception as error:
                    _log.warning("BoTorch failed with jitter %g: %s: %s", jitter, type(error).__name__, error)
                    self._last = None
                    if torch.cuda.is_available():
                        torch.cuda.empty_cache()
        return None

    def predict(self, designs: Designs) -> FloatArray | None:
        """The posterior mean losses (m, n) of designs (m); None without a model."""
        if not self.readings.enough():
            return None
        return self.attempted(PREDICTION, lambda: self.fit().losses(self._columns.rows(designs)))

    def front(self, designs: Designs) -> list[Design] | None:
        """Those of these designs whose posterior means no others dominate; None without a model."""
        losses = self.predict(designs)
        return None if losses is None else list(designs[non_dominated(losses)])
