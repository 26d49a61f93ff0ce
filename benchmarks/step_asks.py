"""How long a question takes if an objective has steps: ``python -m benchmarks.step_asks``.

Two studies know 200 evaluations of the same function of eight options. In one, each is a complete training; in the
other, the training has five stops, a third of the designs are complete, and the others were stopped early. Printed is
the processor time of a question, without the first, which makes all models.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from flexibo import Objective, Study

OPTIONS, STOPS, LAST = 8, (9, 18, 27, 54, 81), 81
SPACE = {f"x{i}": (0.0, 1.0) for i in range(OPTIONS)}


def error(design: Mapping[str, Any], step: int) -> float:
    """An error that falls with the steps, towards a value that depends on the design."""
    x = np.array([design[name] for name in SPACE])
    last = 0.2 + 0.3 * float(((x - 0.4) ** 2).sum()) + 0.05 * math.sin(7.0 * float(x[0]))
    return last + 0.5 / step * (1.0 + float(x[1]))


def told(count: int, *, steps: bool) -> Study:
    """A study that knows `count` evaluations of the error."""
    objective = Objective("error", steps=STOPS) if steps else Objective("error")
    study = Study(SPACE, [objective, "size"], seed=0, n_initial=4)
    for i, row in enumerate(np.random.default_rng(0).random((count, OPTIONS)).tolist()):
        design = dict(zip(SPACE, row, strict=True))
        study.add(design, {"size": sum(row)})
        reached = LAST if not steps or i % 3 == 0 else STOPS[i % 3 - 1]
        if reached == LAST:
            study.add(design, {"error": error(design, LAST)})
        if steps:
            _read(study, design, reached)
    return study


def _read(study: Study, design: Mapping[str, Any], reached: int) -> None:
    """Add the values at the stops that an evaluation went through, as its reports do."""
    history, known = study.history, study.space.design(design)
    row, key = history._seen.row(known), history._seen.objective_key(history.objectives[0], known)
    for stop in STOPS:
        if stop <= reached and stop < LAST:
            history._curves[0].add(key, row, stop, error(design, stop))


def asking_seconds(study: Study, asks: int) -> float:
    """The mean processor time of a question after the first; all are answered."""
    seconds = []
    for _ in range(1 + asks):
        before = time.process_time()
        evaluation = study.ask()
        seconds.append(time.process_time() - before)
        assert evaluation is not None
        if evaluation.objective == "size":
            study.tell(evaluation, float(sum(evaluation.design[name] for name in SPACE)), cost=0.1)
            continue
        stop = evaluation.stop or LAST
        between = [s for s in STOPS if evaluation.stop is not None and evaluation.start < s < stop]
        reports = [(s, error(evaluation.design, s)) for s in between]
        study.tell(evaluation, error(evaluation.design, stop), cost=float(stop - evaluation.start), reports=reports)
    return float(np.mean(seconds[1:]))


def main() -> None:
    """Print the time of a question without and with steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=200)
    parser.add_argument("--asks", type=int, default=6)
    given = parser.parse_args()
    plain, steps = (asking_seconds(told(given.evaluations, steps=some), given.asks) for some in (False, True))
    print(
        f"without steps {1e3 * plain:.0f} ms, with {len(STOPS)} stops {1e3 * steps:.0f} ms: {steps / plain:.2f} times"
    )


if __name__ == "__main__":
    main()
