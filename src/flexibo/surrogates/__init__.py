"""Models of one objective each: losses as a function of encoded designs.

It imports the objectives, the space, `flexibo._internal` and `flexibo.errors`. Beliefs and what is above them import
it.
"""

from flexibo.surrogates.averaged import Averaged
from flexibo.surrogates.base import Joint, Surrogate, below, hull, interval, joint, normal_below
from flexibo.surrogates.gaussian_process import PAPER_GP, GaussianProcess
from flexibo.surrogates.local import Reach
from flexibo.surrogates.possible_losses import PossibleLosses
from flexibo.surrogates.posterior import Hyperparameters
from flexibo.surrogates.random_forest import PAPER_RF, RandomForest
from flexibo.surrogates.refits import Refits
from flexibo.surrogates.truncated import Truncated, untruncated
from flexibo.surrogates.warp import Warped

__all__ = [
    "PAPER_GP",
    "PAPER_RF",
    "Averaged",
    "GaussianProcess",
    "Hyperparameters",
    "Joint",
    "PossibleLosses",
    "RandomForest",
    "Reach",
    "Refits",
    "Surrogate",
    "Truncated",
    "Warped",
    "below",
    "hull",
    "interval",
    "joint",
    "normal_below",
    "untruncated",
]
