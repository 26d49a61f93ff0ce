"""What tests of pictures share: a study of three objectives, and looking into figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexibo import Objective, Space, Study


def study_of_three_objectives(**settings: Any) -> Study:
    space = Space({"x": (0.0, 1.0), "y": (0.0, 1.0), "k": ["p", "q"]})
    objectives = [Objective("a", unit="J"), Objective("b", "max", unit="W"), Objective("c")]
    study = Study(space, objectives, n_initial=2, seed=0, candidates=20, **settings)
    rng = np.random.default_rng(0)
    for design in space.sample(9, rng):
        x, y = float(design["x"]), float(design["y"])  # type: ignore[arg-type]
        study.add(design, {"a": 1.0 + 99.0 * x, "b": x + y, "c": (1 - x) * (1 - y)})
    return study


def drawn(axes: Any) -> Any:
    """The figure of axes, drawn for real."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = next(ax for ax in np.ravel(np.array([axes], dtype=object)) if ax is not None).figure
    FigureCanvasAgg(figure).draw()
    return figure


def labels_of(ax: Any) -> list[str]:
    return [entry.get_text() for entry in ax.get_legend().get_texts()]
