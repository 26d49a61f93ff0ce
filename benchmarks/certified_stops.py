"""How often a certified front is wrong at the moment it ends a study: ``python -m benchmarks.certified_stops``.

Studies of about a hundred designs end by ``stop={"certified_error": 0.05}``. A certificate is wrong if the designs of
the front miss a larger share of the best hypervolume than it says. The functions are smooth, hard, or parts of recorded
tables (`benchmarks.families`). With ``--out`` the endings are kept in a CSV file, and those in it are not run again.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from scipy.special import betaincinv

from benchmarks.families import HARD, SMOOTH, Member, drawn_member, recorded_member
from flexibo import Study
from flexibo.belief.trust import RARE
from flexibo.compare.problems import recorded_systems, recorded_tables
from flexibo.pareto import hypervolume
from flexibo.results.confidence import reported_designs

LIMIT = 0.05
N_INITIAL = 5
FIRST_SEED = 5000
RECORDED = [family.name for family in (*recorded_systems.FAMILIES, *recorded_tables.FAMILIES)]
HEADINGS = (
    "family",
    "functions",
    "certified",
    "wrong",
    "rate, 95 % interval",
    "misses over 5 %",
    "worst error",
    "measurements",
    "of",
)

Case: TypeAlias = tuple[str, int]  # the name of a family or of a recorded table, and a seed
KINDS: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float, "bool": "True".__eq__}
SINGLE = "single better design"


@dataclass(frozen=True, slots=True)
class Ending:
    """How one study ended.

    Attributes:
        family: The family or recorded table of its function.
        seed: The seed of the function and of the study.
        designs: The number of designs.
        changed: How many of them differ from a smooth function, where that is known.
        certified: Whether the rule ended the study.
        bound: The certified error.
        error: The true one.
        widened: The factor by which the boxes were widened.
        readings: The number of measurements.
        most: The number of measurements that there are.
        untouched: The number of designs of which nothing was measured.
    """

    family: str
    seed: int
    designs: int
    changed: int
    certified: bool
    bound: float
    error: float
    widened: float
    readings: int
    most: int
    untouched: int

    @property
    def wrong(self) -> bool:
        """Whether it was certified to miss less than it does."""
        return self.certified and self.error > self.bound + 1e-9

    @property
    def rare(self) -> bool:
        """Whether what differs is rarer than the checks of a study are made for."""
        return self.changed < RARE * self.designs


def ending(case: Case, *, most: int) -> Ending:
    """The end of the study of one function; that of a recorded table ends after at most `most` measurements."""
    family, seed = case
    if family in RECORDED:
        return ended(case, recorded_member(family, seed), {"max_evaluations": float(most)})
    return ended(case, drawn_member(family, seed), {})


def ended(case: Case, member: Member, limits: dict[str, float]) -> Ending:
    """The end of a study with the rule of certified errors and other limits."""
    stop = {"certified_error": LIMIT, **limits}
    study = Study(member.space, member.objectives, seed=case[1], n_initial=N_INITIAL, stop=stop)
    names = list(study.history.names)
    while evaluation := study.ask():
        loss = member.of(study.space.designs([evaluation.design]))[0, names.index(evaluation.objective)]
        study.tell(evaluation, float(loss), cost=1.0)
    found, reference = study.certificate(), study.predictor.reference(study.history)
    best = hypervolume(member.losses, reference)
    front = member.of(reported_designs(study.predictor, study.history))
    return Ending(
        family=case[0],
        seed=case[1],
        designs=len(member.losses),
        changed=member.changed,
        certified=found.relative <= LIMIT and not found.unread,
        bound=found.relative,
        error=1.0 - hypervolume(front, reference) / best if best > 0 else 0.0,
        widened=found.widened,
        readings=len(study.history.measurements),
        most=member.losses.size,
        untouched=len(member.losses) - len(study.history.designs),
    )


def exact_interval(count: int, total: int) -> tuple[float, float]:
    """The 95 % interval of Clopper and Pearson for a rate of which `count` in `total` were seen.

    >>> [round(bound, 3) for bound in exact_interval(0, 20)], [round(bound, 3) for bound in exact_interval(5, 20)]
    ([0.0, 0.168], [0.087, 0.491])
    """
    low = float(betaincinv(count, total - count + 1, 0.025)) if count else 0.0
    return low, float(betaincinv(count + 1, total - count, 0.975)) if count < total else 1.0


def row(name: str, endings: Sequence[Ending]) -> str:
    """A line of the table, in Markdown."""
    sure = [one for one in endings if one.certified]
    wrong = sum(one.wrong for one in sure)
    low, high = exact_interval(wrong, len(sure))
    cells = [
        name,
        str(len(endings)),
        str(len(sure)),
        str(wrong),
        f"{wrong / len(sure):.0%} ({low:.1%} to {high:.1%})" if sure else "",
        str(sum(one.error > LIMIT for one in sure)),
        f"{max(one.error for one in sure):.1%}" if sure else "",
        f"{statistics.median(one.readings for one in endings):.0f}",
        f"{statistics.median(one.most for one in endings):.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def table(endings: Sequence[Ending]) -> Iterator[str]:
    """The lines of the table: each family, the hard ones by how rare their features are, and the recorded tables."""
    yield f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}"
    groups = {name: [one for one in endings if one.family == name] for name in (*SMOOTH, *HARD)}
    several = [one for name in HARD if name != SINGLE for one in groups[name]]
    groups["several better designs, fewer than 1 in 16"] = [one for one in several if one.rare]
    groups["several better designs, 1 in 16 or more"] = [one for one in several if not one.rare]
    groups["recorded tables"] = [one for one in endings if one.family in RECORDED]
    yield from (row(name, group) for name, group in groups.items() if group)


def written(path: Path) -> list[Ending]:
    """The endings in a CSV file; none if there is no file."""
    if not path.exists():
        return []
    kinds = {field.name: KINDS[str(field.type)] for field in fields(Ending)}
    with path.open(newline="") as file:
        return [Ending(**{name: kinds[name](text) for name, text in line.items()}) for line in csv.DictReader(file)]


def write(path: Path, endings: Sequence[Ending]) -> None:
    """Append endings to a CSV file."""
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Ending)], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(asdict(one) for one in endings)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the studies and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.certified_stops", description=__doc__)
    parser.add_argument("--functions", type=int, default=8, help="of each smooth and hard family; 0 for none")
    parser.add_argument("--families", default=",".join([*SMOOTH, *HARD]))
    parser.add_argument("--parts", type=int, default=1, help="of each recorded table, at random; 0 for none")
    parser.add_argument("--tables", default=",".join(RECORDED))
    parser.add_argument("--most", type=int, default=120, help="measurements on a recorded table")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--out", type=Path, help="a CSV file for the endings")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = "1"
    wanted = ((given.families, given.functions), (given.tables, given.parts))
    cases = [(name, given.first_seed + k) for names, count in wanted for k in range(count) for name in names.split(",")]
    known = {(one.family, one.seed): one for one in (written(given.out) if given.out else [])}
    with ProcessPoolExecutor(given.jobs) as pool:
        for one in pool.map(partial(ending, most=given.most), [case for case in cases if case not in known]):
            known[one.family, one.seed] = one
            if given.out:
                write(given.out, [one])
    print("\n".join(table([known[case] for case in cases])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
