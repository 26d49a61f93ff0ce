"""Sections 1 and 2: one ask of the default method against a straightforward baseline and against BoTorch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from benchmarks import baseline, knowledge_gradient
from benchmarks.baseline import Snapshot
from benchmarks.problem import Problem, lenet, positions
from benchmarks.results import Row
from benchmarks.timing import Asks, asked, timed
from flexibo import Study
from flexibo.belief.belief import exploration
from flexibo.belief.costs import log_cost

M = 1_000
DELTA = 0.05
PATIENCE_SECONDS = 60.0
"""No further iteration of BoTorch is begun after so long."""


@dataclass(frozen=True, slots=True)
class Window:
    """Which asks of a study are timed, and before which of them others choose from the same data."""

    first: int
    last: int
    baseline: tuple[int, ...]
    botorch: tuple[int, ...]


FULL = Window(150, 200, baseline=(160, 180, 200), botorch=(160, 200))
QUICK = Window(40, 60, baseline=(50,), botorch=(50,))


@dataclass(frozen=True, slots=True)
class Run:
    """The timed asks of a study, and what was known before some of them."""

    asks: Asks
    snapshots: dict[int, Snapshot]

    @property
    def note(self) -> str:
        """What the mean is made of."""
        refits = sum(count > 0 for count in self.asks.refits)
        return f"{len(self.asks.seconds)} asks, {refits} of them with a refit"


@cache
def run(window: Window, *, options: bool) -> Run:
    """Run a study with all of its defaults from nothing to the end of the window."""
    problem = lenet(options=options)
    study = Study(problem.space, problem.objectives, seed=0)
    asks, snapshots = Asks(), {}
    for number in range(1, window.last + 1):
        if number in {*window.baseline, *window.botorch}:
            snapshots[number] = _snapshot(problem, study)
        evaluation = asked(study, asks if number >= window.first else None)
        problem.answer(study, evaluation)
    return Run(asks, snapshots)


def _snapshot(problem: Problem, study: Study) -> Snapshot:
    history = study.history
    data = [history.data(j) for j in range(len(problem.objectives))]
    drawn = problem.space.sample(M, np.random.default_rng(len(history.asked)))
    candidates = (history.designs + drawn).unique()
    costs = np.array([problem.costs[name] for name in problem.names])
    return Snapshot(
        X=tuple(positions(designs) for designs, _ in data),
        y=tuple(y for _, y in data),
        changed=problem.names.index(history.asked[-1].objective),
        candidates=positions(candidates),
        reference=np.array(history.reference),
        thetas=log_cost(costs, costs),
        costs=costs,
        beta=exploration(len(costs), len(candidates), len(history.asked), DELTA),
    )


def against_baseline(window: Window) -> list[Row]:
    """Section 1."""
    ours = run(window, options=False)
    seconds, sizes = [], []
    for snapshot in (ours.snapshots[number] for number in window.baseline):
        # Of what did not change the model is there already; how it was found does not matter here.
        models = [baseline.fitted(X, y, restarts=0) for X, y in zip(snapshot.X, snapshot.y, strict=True)]
        seconds.append(timed(partial(baseline.iteration, snapshot, models))[0])
        sizes.append(len(snapshot.y[snapshot.changed]))
    theirs = float(np.mean(seconds))
    asks = f"asks {window.first} to {window.last}"
    shared = run(window, options=True)
    return [
        Row(
            section=1,
            what="One ask against scikit-learn's GP and plain loops",
            measured=theirs / ours.asks.mean,
            unit="x",
            must=20.0,
            aim=100.0,
            note=f"n = 2, 17 options, m = {M:,}, {asks}, refits included",
        ),
        Row(section=1, what="  flexibo", measured=1e3 * ours.asks.mean, unit="ms", note=ours.note),
        Row(
            section=1,
            what="  baseline",
            measured=theirs,
            unit="s",
            note=f"{len(seconds)} iterations at the same histories, refitted on {_listed(sizes)} evaluations",
        ),
        Row(
            section=1,
            what="  flexibo with options= of the error",
            measured=1e3 * shared.asks.mean,
            unit="ms",
            note=f"{shared.note}; {theirs / shared.asks.mean:.0f}x against the same baseline",
        ),
    ]


def against_botorch(window: Window) -> list[Row]:
    """Section 2."""
    what, must, aim = "One ask against BoTorch's decoupled qHypervolumeKnowledgeGradient", 50.0, 150.0
    if not knowledge_gradient.is_installed():
        return [Row(section=2, what=what, measured=None, unit="x", must=must, aim=aim, note=knowledge_gradient.MISSING)]
    ours = run(window, options=False)
    knowledge_gradient.prepare()
    seconds: list[float] = []
    for number in window.botorch:
        if sum(seconds) < PATIENCE_SECONDS:
            seconds.append(timed(partial(knowledge_gradient.iteration, ours.snapshots[number]))[0])
    theirs = float(np.mean(seconds))
    done = list(window.botorch[: len(seconds)])
    note = f"the same histories, before ask {_listed(done)}; the settings of BoTorch's own tutorial"
    return [
        Row(section=2, what=what, measured=theirs / ours.asks.mean, unit="x", must=must, aim=aim, note=note),
        Row(section=2, what="  flexibo", measured=1e3 * ours.asks.mean, unit="ms", note=ours.note),
        Row(section=2, what="  BoTorch", measured=theirs, unit="s", note=f"iterations of {_seconds(seconds)} s"),
    ]


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _seconds(seconds: list[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in seconds)
