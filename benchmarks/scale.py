"""Section 10: many evaluations of a cheap objective, in a space of more than 10^12 designs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.ask_growth import one_thread
from benchmarks.memory import peak_mib
from benchmarks.problem import STEPS, lenet
from benchmarks.results import Row
from benchmarks.timing import Asks, asked, asked_again, asked_and_told, growth_exponent, timed
from flexibo import GaussianProcess, Study
from flexibo.history.event_dicts import event_to_dict
from flexibo.storage import open_storage
from flexibo.surrogates import Warped
from flexibo.surrogates.refits import refit_count

SECTION = 10
EXPENSIVE = 30
"""The number of evaluations of the expensive objective."""
ASK_SECONDS = 2.0
MEMORY_MIB = 512.0
EXACT = Warped(GaussianProcess(max_exact=None))


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many evaluations of the cheap objective there are."""

    evaluations: tuple[int, ...]


FULL = Sizes((200, 1_000, 2_000, 5_000, 10_000))
QUICK = Sizes((200, 2_000))


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of processor time at some number of evaluations.

    Attributes:
        plain: An ask that only extends its models.
        refit: An ask that fits the cheap objective's model again.
        resumed: The first ask of a study that was read from its file, half a refit's interval after the last one.
        loaded: Reading that study.
        tell: Telling one evaluation.
        front: The front.
    """

    plain: float
    refit: float
    resumed: float
    loaded: float
    tell: float
    front: float


def times(count: int) -> Times:
    """The times of the default method."""
    problem, due = lenet(clocks=STEPS), _due(count)
    # The ask is the same whether results came by tell() or, quicker to set up, by add().
    study = problem.study((EXPENSIVE, due))
    refits = Asks()
    evaluation = asked(study, refits)
    tell, _ = timed(partial(problem.answer, study, evaluation))
    # Every ask learns something first: what is remembered of the same data would flatter it.
    plain = asked_and_told(problem, study, 3).plain()
    front, _ = timed(study.front)
    between = problem.study((EXPENSIVE, due + due // 20))
    with tempfile.TemporaryDirectory() as folder:
        url = _stored(between, folder)
        loaded, again = timed(lambda: Study.load(url))
        resumed, _ = timed(again.ask)
    return Times(plain, refits.refitted(), resumed, loaded, tell, front)


def _due(count: int) -> int:
    """The first number of evaluations, from this one, at which a model is refitted."""
    return next(size for size in range(count, 2 * count) if refit_count(size, 1.1) == size)


def _stored(study: Study, folder: str) -> str:
    """The address of a file that holds the study, written at once."""
    url = f"sqlite:///{folder}/study.db"
    events = [event_to_dict(event) for event in study.events]
    open_storage(url, study.name).commit(0, lambda none: events)
    return url


def with_many_evaluations(sizes: Sizes) -> list[Row]:
    """Section 10."""
    measured = {count: times(count) for count in sizes.evaluations}
    most = max(count for count in sizes.evaluations if count <= 5_000)
    rows: list[Row] = []
    for count, seconds in measured.items():
        bound = ASK_SECONDS if count <= 5_000 else None
        note = f"{EXPENSIVE} of the expensive objective, m = 1,000, {lenet(clocks=STEPS).space.size:.2g} designs"
        rows += [
            Row(
                section=SECTION,
                what=f"{count:,} cheap evaluations: an ask without refit",
                measured=seconds.plain,
                unit="s",
                must=bound,
                at_most=True,
                note=note,
            ),
            Row(section=SECTION, what="  with refits", measured=seconds.refit, unit="s", must=bound, at_most=True),
            Row(
                section=SECTION,
                what="  the first ask of a resumed study",
                measured=seconds.resumed,
                unit="s",
                must=bound,
                at_most=True,
                note=f"reading its file took {seconds.loaded:.2g} s before that",
            ),
            Row(section=SECTION, what="  tell", measured=1e3 * seconds.tell, unit="ms"),
            Row(section=SECTION, what="  front", measured=1e3 * seconds.front, unit="ms"),
        ]
    return [
        *rows,
        *_noisy(most),
        *_growth(measured),
        *_against_exact(most, measured),
    ]


def _noisy(count: int) -> list[Row]:
    """The same where readings are noisy, so that all that was measured is predicted too."""
    problem = lenet(noisy=True, clocks=STEPS)
    study = problem.study((EXPENSIVE, _due(count)))
    refits = asked_and_told(problem, study, 1)
    plain = asked_and_told(problem, study, 2).plain()
    front, _ = timed(study.front)
    return [
        Row(
            section=SECTION,
            what=f"{count:,} noisy evaluations: an ask without refit",
            measured=plain,
            unit="s",
            must=ASK_SECONDS,
            at_most=True,
        ),
        Row(section=SECTION, what="  with refits", measured=refits.refitted(), unit="s"),
        Row(section=SECTION, what="  front", measured=1e3 * front, unit="ms"),
    ]


def _growth(measured: dict[int, Times]) -> list[Row]:
    last = list(measured)[-2:]
    exponent = growth_exponent(last, [measured[count].plain for count in last])
    what = f"Growth from {last[0]:,} to {last[1]:,}, without refit: exponent"
    return [Row(section=SECTION, what=what, measured=exponent, note="an exact model's prediction: 2; its fit: 3")]


def _against_exact(count: int, measured: dict[int, Times]) -> list[Row]:
    """The exact model at the same size, and the memory that either needs."""
    study = _exact_study(_due(count))
    seconds, _ = timed(study.ask)
    plain = asked_again(study, 1).plain()
    return [
        Row(section=SECTION, what=f"The exact model at {count:,}: an ask without refit", measured=plain, unit="s"),
        Row(section=SECTION, what="  with refits", measured=seconds, unit="s"),
        Row(
            section=SECTION,
            what=f"Memory at {count:,}",
            measured=_memory("local", count),
            unit="MiB",
            must=MEMORY_MIB,
            at_most=True,
            note="largest resident size of a process that makes such a study and asks once",
        ),
        Row(section=SECTION, what="  with the exact model", measured=_memory("exact", count), unit="MiB"),
    ]


def _exact_study(count: int) -> Study:
    problem = lenet(clocks=STEPS)
    donor = problem.study((EXPENSIVE, count))
    study = Study(problem.space, problem.objectives, surrogate=EXACT, seed=0)
    for measurement in donor.history.measurements:
        cost = {name: problem.costs[name] for name in measurement.values}
        study.add(measurement.design, measurement.values, cost=cost)
    return study


def _memory(model: str, count: int) -> float:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", model, str(count)],
        env=one_thread(),
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main(arguments: Sequence[str]) -> None:
    """Ask once with a model, "local" or "exact", at some number of evaluations, and print the memory it took in MiB."""
    model, count = arguments[0], int(arguments[1])
    asked(_exact_study(count) if model == "exact" else lenet(clocks=STEPS).study((EXPENSIVE, count)))
    print(peak_mib())


if __name__ == "__main__":
    main(sys.argv[1:])
