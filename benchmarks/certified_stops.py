"""How often a certified front is wrong at the moment it ends a study: ``python -m benchmarks.certified_stops``.

Studies of about a hundred designs end by ``stop={"certified_error": 0.05}``. A certificate is wrong if the designs of
the front miss a larger share of the best hypervolume than it says. The functions are smooth, hard, or parts of recorded
tables (`benchmarks.families`).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from benchmarks.families import HARD, SMOOTH, Member, drawn_member, recorded_member
from flexibo import Study
from flexibo.belief import trust
from flexibo.compare.problems import recorded_systems, recorded_tables
from flexibo.pareto import hypervolume
from flexibo.results.confidence import reported_designs

LIMIT = 0.05
N_INITIAL = 5
FIRST_SEED = 100
RECORDED = [family.name for family in (*recorded_systems.FAMILIES, *recorded_tables.FAMILIES)]
HEADINGS = ("family", "functions", "certified", "wrong", "worst error", "widened", "readings", "of")


@dataclass(frozen=True, slots=True)
class Ending:
    """How one study ended.

    Attributes:
        certified: Whether the rule ended it.
        bound: The certified error.
        error: The true one.
        widened: The factor by which the boxes were widened.
        readings: The number of measurements.
        most: The number of measurements that there are.
        stranger: The certificate's probability that a single odd design is unmeasured.
    """

    certified: bool
    bound: float
    error: float
    widened: float
    readings: int
    most: int
    stranger: float

    @property
    def wrong(self) -> bool:
        """Whether it was certified to miss less than it does."""
        return self.certified and self.error > self.bound + 1e-9


def ending(member: Member, seed: int, *, checks: bool = True, most: int | None = None) -> Ending:
    """The end of a study of one function; without `checks`, the models are believed as they are."""
    if not checks:
        trust.MISSED, trust.MOST = 1.0, 1.0
    stop = {"certified_error": LIMIT, **({} if most is None else {"max_evaluations": most})}
    study = Study(member.space, member.objectives, seed=seed, n_initial=N_INITIAL, stop=stop)
    names = list(study.history.names)
    while evaluation := study.ask():
        loss = member.of(study.space.designs([evaluation.design]))[0, names.index(evaluation.objective)]
        study.tell(evaluation, float(loss), cost=1.0)
    found, reference = study.certificate(), study.predictor.reference(study.history)
    best = hypervolume(member.losses, reference)
    front = member.of(reported_designs(study.predictor, study.history))
    return Ending(
        certified=found.relative <= LIMIT and not found.unread,
        bound=found.relative,
        error=1.0 - hypervolume(front, reference) / best if best > 0 else 0.0,
        widened=found.widened,
        readings=len(study.history.measurements),
        most=member.losses.size,
        stranger=found.stranger,
    )


def drawn_ending(family: str, seed: int, *, checks: bool) -> Ending:
    """The end of a study of a function of a family."""
    return ending(drawn_member(family, seed), seed, checks=checks)


def recorded_ending(case: tuple[str, int], *, checks: bool, most: int) -> Ending:
    """The end of a study of a part of a recorded table, after at most `most` measurements."""
    return ending(recorded_member(*case), case[1], checks=checks, most=most)


def row(name: str, endings: Sequence[Ending]) -> str:
    """A line of the table, in Markdown."""
    sure = [one for one in endings if one.certified]
    wrong = sum(one.wrong for one in sure)
    cells = [
        name,
        str(len(endings)),
        str(len(sure)),
        f"{wrong} ({wrong / len(sure):.0%})" if sure else "0",
        f"{max(one.error for one in sure):.1%}" if sure else "",
        str(sum(one.widened > 1.0 for one in sure)),
        f"{statistics.median(one.readings for one in endings):.0f}",
        f"{statistics.median(one.most for one in endings):.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the studies and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.certified_stops", description=__doc__)
    parser.add_argument("--functions", type=int, default=8, help="of each smooth and hard family; 0 for none")
    parser.add_argument("--families", default=",".join([*SMOOTH, *HARD]))
    parser.add_argument("--parts", type=int, default=1, help="of each recorded table, at random; 0 for none")
    parser.add_argument("--tables", default=",".join(RECORDED))
    parser.add_argument("--most", type=int, default=120, help="measurements on a recorded table")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--without-checks", action="store_true", help="believe the models as they are")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = "1"
    checks, seeds = not given.without_checks, range(given.first_seed, given.first_seed + max(given.functions, 0))
    print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}", flush=True)
    with ProcessPoolExecutor(given.jobs) as pool:
        for family in given.families.split(",") if given.functions else []:
            print(row(family, list(pool.map(partial(drawn_ending, family, checks=checks), seeds))), flush=True)
        if given.parts:
            parts = range(given.first_seed, given.first_seed + given.parts)
            cases = [(name, seed) for name in given.tables.split(",") for seed in parts]
            ends = list(pool.map(partial(recorded_ending, checks=checks, most=given.most), cases))
            for name in given.tables.split(","):
                print(row(name, [end for case, end in zip(cases, ends, strict=True) if case[0] == name]), flush=True)
            print(row("all recorded tables", ends), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
