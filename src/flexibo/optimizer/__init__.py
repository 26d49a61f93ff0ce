"""The core loop: believe, score, choose. Same history, same question.

It imports methods, belief and what lies below, and nothing that measures or stores.
"""

from flexibo.optimizer.optimizer import Optimizer
from flexibo.optimizer.predictor import Predictor
from flexibo.optimizer.stop import Stop, StopKind

__all__ = ["Optimizer", "Predictor", "Stop", "StopKind"]
