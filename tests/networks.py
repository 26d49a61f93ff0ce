"""A network of three layers on a board: error and energy, for tests about designs that cannot be measured.

A design with more operations than the board can train is reported as impossible, which costs little. The best errors
lie at that border.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexibo import Design, Evaluation, Objective, Space, Study

WIDTHS, KERNELS, LAYERS = [16, 32, 64, 128, 256, 512, 1024], [1, 3, 5, 7, 9], (1, 2, 3)
NETWORK = [f"{kind}_{layer}" for layer in LAYERS for kind in ("width", "kernel")]
DEPLOYMENT = {"batch": [1, 4, 16, 64, 256], "precision": ["fp32", "fp16", "int8"]}
MOST = 2_000_000


def network_study(deployment: Mapping[str, Any] = DEPLOYMENT, **settings: Any) -> Study:
    """A study of the network with these options of its deployment, a batch among them."""
    options = {f"width_{layer}": WIDTHS for layer in LAYERS} | {f"kernel_{layer}": KERNELS for layer in LAYERS}
    return Study(
        Space(options | dict(deployment)), [Objective("error", options=NETWORK), Objective("energy")], **settings
    )


def answered(study: Study, evaluation: Evaluation) -> bool:
    """Tell what an evaluation gives, or that the network is too large to train; whether it gave a value."""
    design = evaluation.design
    if evaluation.objective == "energy":
        study.tell(evaluation, energy(design), cost=6.0)
    elif operations(design) <= MOST:
        study.tell(evaluation, error(design), cost=3.0 + operations(design) / 1e5)
    else:
        study.fail(evaluation, "too large to train", cost=0.2, impossible=True)
        return False
    return True


def operations(design: Design) -> float:
    """The operations of one inference."""
    (w1, k1), (w2, k2), (w3, k3) = ((design[f"width_{layer}"], design[f"kernel_{layer}"]) for layer in LAYERS)
    return float(16 * w1 * k1**2 + w1 * w2 * k2**2 + w2 * w3 * k3**2)


def error(design: Design) -> float:
    """Falls with the operations, and has a taste for some kernels and widths."""
    taste = (design["kernel_1"] - 5) ** 2 + (design["kernel_2"] - 3) ** 2 + 2 * (np.log2(design["width_3"]) - 7) ** 2
    return float(5 + 30 * np.exp(-0.16 * np.log2(operations(design))) + 0.05 * taste)


def energy(design: Design) -> float:
    """Grows with the operations; large batches and small numbers help."""
    effort = {"fp32": 1.6, "fp16": 1.3, "int8": 1.0}[design.get("precision", "int8")]
    return float(operations(design) ** 0.6 * effort * (0.2 + design["batch"] ** -0.5))
