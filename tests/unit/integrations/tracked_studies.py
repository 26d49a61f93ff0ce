"""Studies that the tests of trackers share; names and reasons are such as a tracker may refuse or misread."""

from __future__ import annotations

from typing import Any

from flexibo import Study

HOSTILE = "k'<b>%*[0]"
OBJECTIVES = ["a[0]", "b*"]


def small(design: Any) -> Any:
    if design["x"] > 0.7:
        raise RuntimeError("no\nmemory <script>" + "x" * 10_000)
    return 1 - design["x"], 1.0


def tracked_run(tracker: Any, storage: str | None = None, *, budget: float = 12, name: str = "nets '1'") -> Study:
    """A study that was run with a tracker."""
    study = Study(
        {"x": (0.0, 1.0), HOSTILE: ["<i>", "b"], "n": [1, 2]},
        OBJECTIVES,
        budget=budget,
        seed=0,
        n_initial=3,
        candidates=50,
        storage=storage,
        name=name,
        callbacks=tracker,
    )
    functions = {OBJECTIVES[0]: lambda design: (design["x"] + design["n"], 2.0), OBJECTIVES[1]: small}
    study.run(functions, progress=False, raise_first=False)
    study.close()
    return study
