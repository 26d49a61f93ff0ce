"""SMAC3's hyperparameter facade (random forest, expected improvement) with ParEGO, by ask and tell.

Knowles: ParEGO: a hybrid algorithm with on-line landscape approximation for expensive multiobjective optimization
problems. IEEE Transactions on Evolutionary Computation 10(1), 2006. As in SMAC's example of ParEGO, with three choices:

- The initial designs replace SMAC's own.
- The model is refitted and ParEGO's weights are drawn before every question (`retrain_after=1`, as in SMAC's black-box
  facade and in the paper). The facade's default, every 8 questions, would mean three models in 20 evaluations.
- A design is measured once (`max_config_calls=1`), as by all methods of a comparison.

A suggestion that was replaced by another design stays open: SMAC neither learns from it nor suggests it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flexibo._internal.arrays import plain
from flexibo.compare.rivals.base import UNTOLD, RivalEntry, Setting
from flexibo.compare.rivals.library_rival import LibraryRival
from flexibo.space import Design, Designs, Space

UNLIMITED = 1_000_000
"""The number of evaluations that SMAC requires in advance; here the budget decides."""


class SmacParego:
    """SMAC with ParEGO, asked design by design."""

    def __init__(self, setting: Setting) -> None:
        # ConfigSpace has neither pools nor rules; illegal designs are replaced, as for all rivals.
        self._space = Space(setting.space.options).to_configspace()
        # SMAC writes its settings at the start, and nothing after that.
        with TemporaryDirectory() as folder:
            self._smac = _facade(setting, self._space, Path(folder))

    def suggest(self) -> Mapping[str, object]:
        """The design that SMAC asks for."""
        from joblib import parallel_config  # type: ignore[import-untyped,unused-ignore]  # it has no types

        # Its forest of ten trees would start a thread per core for every prediction.
        with parallel_config(backend="sequential"):
            suggested = self._smac.ask().config
        return {name: plain(suggested[name]) for name in self._space}

    def learn(self, design: Design, losses: Sequence[float]) -> None:
        """Tell SMAC about a design, whether it asked for it or not."""
        from ConfigSpace import Configuration
        from smac.runhistory import TrialInfo, TrialValue

        told = TrialInfo(Configuration(self._space, values=dict(design)), seed=0)
        self._smac.tell(told, TrialValue(cost=list(losses)), save=False)

    def predict(self, designs: Designs) -> None:
        """None: the forest is a model of ParEGO's last weighted sum, not of the objectives."""


def _facade(setting: Setting, configspace: Any, folder: Path) -> Any:
    from smac import HyperparameterOptimizationFacade as Facade
    from smac import Scenario
    from smac.multi_objective.parego import ParEGO

    scenario = Scenario(
        configspace,
        objectives=list(setting.names),
        deterministic=True,
        n_trials=UNLIMITED,
        seed=setting.seed,
        output_directory=folder,
    )
    return Facade(
        scenario,
        initial_design=Facade.get_initial_design(scenario, n_configs=0),
        intensifier=Facade.get_intensifier(scenario, max_config_calls=1),
        config_selector=Facade.get_config_selector(scenario, retrain_after=1),
        multi_objective_algorithm=ParEGO(scenario),
        logging_level=False,
        overwrite=True,
    )


ENTRY = RivalEntry(
    name="smac-parego",
    summary="SMAC3's random forest with ParEGO",
    packages=("smac", "ConfigSpace"),
    modules=("smac", "ConfigSpace"),
    make=lambda setting: LibraryRival(setting, SmacParego),
    documentation="https://automl.github.io/SMAC3/v2.1.0/examples/3_multi_objective/2_parego.html",
    caveat=(
        "It refits before every question, not after every eighth as by default, and measures a design once. " + UNTOLD
    ),
)
