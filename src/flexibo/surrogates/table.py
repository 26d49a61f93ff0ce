"""The table of surrogates: every name that `Study(surrogate=...)` takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from flexibo.errors import InvalidTypeError, unknown_name
from flexibo.objectives import Objective
from flexibo.space import Families
from flexibo.surrogates.averaged import Averaged
from flexibo.surrogates.base import Surrogate
from flexibo.surrogates.co_kriging import CoKriging
from flexibo.surrogates.gaussian_process import PAPER_GP, GaussianProcess
from flexibo.surrogates.level_process import LevelProcess
from flexibo.surrogates.possible_losses import PossibleLosses
from flexibo.surrogates.random_forest import PAPER_RF
from flexibo.surrogates.totals import Totals
from flexibo.surrogates.warp import Warped


@dataclass(frozen=True, slots=True)
class SurrogateChoice:
    """A surrogate by name."""

    settings: Surrogate  # unfitted
    growth: float = 1.1  # of its data between two refits
    exact: Surrogate | None = None  # the settings for objectives without noise; None for the same
    assume_positive: bool = True  # whether values are positive as long as all readings are
    has_levels: bool = False  # whether objectives are modelled with their stops and proxies
    has_totals: bool = False  # whether it is the average with models of what families of options add up to

    def of(self, objective: Objective, families: Families = ()) -> Surrogate:
        """The unfitted surrogate of an objective, with the families of the options on which it depends."""
        if families and self.has_totals:
            return _average(_noise(objective), families)
        return self.settings if objective.noisy or self.exact is None else self.exact

    def over_levels(self, objective: Objective, families: Families = ()) -> Surrogate | None:
        """The unfitted surrogate of an objective over its proxies and stops; None if only the last step is modelled."""
        proxies, stops = len(objective.proxies), max(1, len(objective.looks))
        if not self.has_levels or proxies + stops < 2:
            return None
        if not proxies:
            rest = GaussianProcess(noise=_noise(objective), scatter=SCATTERS[-1], restarts=0)
            return CoKriging(stops, self.of(objective, families), rest)
        processes = [LevelProcess(proxies + stops, objective.noisy, scatter, proxies) for scatter in SCATTERS]
        return Averaged((*processes, *(Warped(process) for process in processes)))

    def possible(self, objective: Objective) -> PossibleLosses:
        """The losses of an objective that are predicted."""
        return PossibleLosses.of(objective, assume_positive=self.assume_positive)


EXACT = 1e-6  # the noise of objectives without noise in one process, relative to the variance of their losses
AVERAGED_EXACT = 1e-10  # the same in the average: its prior allows variances far above 1, of which the noise is a share
SCATTERS = (0.2, 1.0)  # one for options that matter about equally, one for options of which some hardly matter


Noise: TypeAlias = "float | Literal['learned']"


def _noise(objective: Objective) -> Noise:
    return "learned" if objective.noisy else AVERAGED_EXACT


def _average(noise: Noise, families: Families = ()) -> Averaged:
    """Plain and warped Gaussian processes with each of `SCATTERS`, averaged by their evidence.

    If there are families of options, the last scatter also with their totals, and with these and tied options.
    """
    processes = [GaussianProcess(noise=noise, scatter=scatter, restarts=0) for scatter in SCATTERS]
    if families:
        processes += [replace(processes[-1], totals=Totals(families, tied=tied)) for tied in (False, True)]
    return Averaged((*processes, *(Warped(process) for process in processes)))


SURROGATES: dict[str, SurrogateChoice] = {
    "gp": SurrogateChoice(_average("learned"), exact=_average(AVERAGED_EXACT), has_levels=True, has_totals=True),
    "gp-warped": SurrogateChoice(Warped(GaussianProcess()), has_levels=True),
    "gp-plain": SurrogateChoice(GaussianProcess(), exact=GaussianProcess(noise=EXACT), has_levels=True),
    # The paper's surrogates know bounds only if the user gives them.
    "gp-paper": SurrogateChoice(PAPER_GP, assume_positive=False),
    "rf": SurrogateChoice(PAPER_RF, growth=1.0, assume_positive=False),
}


def find_surrogate(surrogate: str | Surrogate | SurrogateChoice) -> SurrogateChoice:
    """The surrogate of this name, or the given one."""
    if isinstance(surrogate, SurrogateChoice):
        return surrogate
    if not isinstance(surrogate, str):
        if not callable(getattr(surrogate, "fit", None)):
            raise InvalidTypeError(
                f"surrogate is {surrogate!r}; give one of {', '.join(SURROGATES)} or an object with fit()."
            )
        return SurrogateChoice(surrogate)
    if surrogate not in SURROGATES:
        raise unknown_name("surrogate", surrogate, SURROGATES)
    return SURROGATES[surrogate]
