"""The figures of a recorded table's data card: ``python -m benchmarks.card lenet-h200``, or the path of a table.

Everything in a card that is a number comes from here; what a card says besides (what the table is for, what it does not
show) is written manually below it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from flexibo.pareto import non_dominated
from flexibo.results.chance import least_at_chance
from flexibo.systems.catalogue import SYSTEMS
from flexibo.systems.recorded import recorded_table
from flexibo.systems.recording.table import RecordedTable, common_steps, read_table

RANGES = {
    "error_percent": "error [%]",
    "energy_joules": "energy of an inference [J]",
    "latency_ms": "latency of a batch [ms]",
    "power_watts": "power [W]",
    "training_seconds": "training [s]",
    "reading_seconds": "reading [s]",
}
"""What a card gives the range of."""
DEPLOYED = "deployed_error_percent"


@dataclass(frozen=True, slots=True)
class Card:
    """The figures of a table.

    Attributes:
        name: The table's name.
        heading: How it was made.
        networks: How many networks it has.
        deployments: How many deployments.
        failed: Combinations without an error or an energy.
        ranges: By column, the least, the median and the greatest value; those of a network count once.
        front: The designs that no other one is better than, by error.
        noise: By how much second readings differ, as shares of the first, least first; without a sign.
        training_seconds: What all trainings took together, had they run one after the other.
        reading_seconds: What all readings took, without second ones.
        cost_ratio: How many times as long as a reading a training takes, in the mean.
        pace: How long a batch takes while energy is read, over its latency: the least, the median and the greatest.
        cheap_trainings: Trainings that take less than e seconds: the paper's log cost is 1 for them, as for readings.
    """

    name: str
    heading: Mapping[str, Any]
    networks: int
    deployments: int
    failed: int
    ranges: Mapping[str, tuple[float, float, float]]
    front: tuple[Mapping[str, Any], ...]
    noise: tuple[float, ...]
    training_seconds: float
    reading_seconds: float
    cost_ratio: float
    pace: tuple[float, float, float]
    cheap_trainings: int
    spreads: tuple[float, ...] = ()  # of the windows of each reading, as shares
    lost: tuple[float, ...] = ()  # by the precision of each deployment, in points of error
    deployed_front: tuple[int, int] = (0, 0)  # non-dominated designs by the error in it, and how many of `front` are
    best: Counter[str] = field(default_factory=Counter)  # the networks for which each deployment takes the least energy
    fastest: Counter[str] = field(default_factory=Counter)  # those for which each has the least latency
    chance: tuple[float, int] | None = None  # the error of the best answer without learning, and the examples held out
    at_chance: int = 0  # networks that cannot be told from the best answer without learning
    read: int = 0  # the combinations that differ in what runs; the others share a reading with one of them
    single: int = 0  # readings of one window, which have no spread
    call_spreads: tuple[float, ...] = ()  # of the times of single batches, as shares
    epochs: tuple[int, ...] = ()  # of the trainings, if the error after each is known
    swapped: tuple[float, ...] = ()  # after each step, the share of pairs of networks in another order than at the end


def card_of(name: str, table: RecordedTable) -> Card:
    """The figures of a table."""
    networks = {_of(row, table.network_options): row for row in table.rows}
    deployments = {_of(row, table.deployment_options) for row in table.rows}
    whole = [row for row in table.rows if row["error_percent"] is not None and row["energy_joules"] is not None]
    ranges = {}
    for column in RANGES:
        per_network = column in ("error_percent", "training_seconds")
        values = _known(networks.values() if per_network else table.rows, column)
        ranges[column] = _spread(values)
    trainings, readings = _known(networks.values(), "training_seconds"), _known(table.rows, "reading_seconds")
    again = [row for row in whole if row["energy_joules_again"] is not None]
    least = math.inf if table.chance is None else least_at_chance(*table.chance)
    front, deployed_front = _front(whole), _front(whole, DEPLOYED) if table.has_deployed_errors else ()
    return Card(
        name=name,
        heading=table.heading,
        networks=len(networks),
        deployments=len(deployments),
        failed=len(table.rows) - len(whole),
        ranges=ranges,
        front=front,
        noise=tuple(sorted(abs(row["energy_joules_again"] / row["energy_joules"] - 1) for row in again)),
        training_seconds=sum(trainings),
        reading_seconds=sum(readings),
        cost_ratio=fmean(trainings) / fmean(readings),
        pace=_spread([_pace(row) for row in whole]),
        cheap_trainings=sum(seconds < math.e for seconds in trainings),
        spreads=tuple(sorted(_known(whole, "energy_spread"))),
        lost=tuple(sorted(row[DEPLOYED] - row["error_percent"] for row in whole if row.get(DEPLOYED) is not None)),
        deployed_front=(len(deployed_front), sum(row in deployed_front for row in front)),
        best=_best_deployments(whole, table, "energy_joules"),
        fastest=_best_deployments(whole, table, "latency_ms"),
        chance=table.chance,
        at_chance=sum(error >= least for error in _known(networks.values(), "error_percent")),
        read=len({_of(row, _running_options(table)) for row in table.rows}),
        single=sum(row.get("windows") == 1 for row in whole),
        call_spreads=tuple(sorted(_known(whole, "latency_spread"))),
        epochs=tuple(sorted({len(curve) for curve in table.curves})),
        swapped=_swapped(table),
    )


def _running_options(table: RecordedTable) -> list[str]:
    silent = table.heading.get("training_only", ())
    return [option for option in (*table.network_options, *table.deployment_options) if option not in silent]


def _best_deployments(rows: Sequence[Mapping[str, Any]], table: RecordedTable, column: str) -> Counter[str]:
    """For each deployment, as text, the number of networks for which it has the least value in a column."""
    least: dict[Any, Mapping[str, Any]] = {}
    for row in rows:
        network = _of(row, table.network_options)
        if network not in least or row[column] < least[network][column]:
            least[network] = row
    varying = [option for option in table.deployment_options if len({row[option] for row in rows}) > 1]
    return Counter(_plain({option: row[option] for option in varying}) for row in least.values())


def _swapped(table: RecordedTable) -> tuple[float, ...]:
    """After each step, the share of pairs of networks that change places until the end; ties are no pairs."""
    curves = common_steps(table.curves) if table.curves else ()
    if not curves:
        return ()
    errors = np.array([[error for _, error in curve] for curve in curves])
    first, second = np.triu_indices(len(errors), k=1)
    signs = np.sign(errors[first] - errors[second])  # (pairs, epochs)
    pairs = signs[signs[:, -1] != 0]
    return tuple(float(share) for share in (pairs == -pairs[:, -1:]).mean(axis=0))


def text_of(card: Card) -> str:
    """The card, in Markdown."""
    options = (*card.heading["network_options"], *card.heading["deployment_options"])
    lines = [f"# {card.name}", "", *(f"- {fact}" for fact in _facts(card)), "", *_table(_range_rows(card)), ""]
    rows = [["error [%]", "energy [mJ]", "latency [ms]", *options]]
    rows += [
        [f"{row['error_percent']:.4g}", f"{1000 * row['energy_joules']:.4g}", f"{row['latency_ms']:.3g}"]
        + [str(row[option]) for option in options]
        for row in card.front
    ]
    return "\n".join([*lines, f"The {len(card.front)} non-dominated designs:", "", *_table(rows)]) + "\n"


def _facts(card: Card) -> list[str]:
    heading, settings = card.heading, card.heading["settings"]
    planned = heading.get("networks_planned", card.networks)
    on_front = [len({_of(row, heading[f"{what}_options"]) for row in card.front}) for what in ("network", "deployment")]
    what = _examples(card)
    return [
        f"System {heading['system']} on {settings['dataset']}: {settings['training_examples']:,} {what} to learn from, "
        f"{settings['test_examples']:,} held out.",
        f"Recorded on {heading['date']} with {heading['meter']}; machine: {_plain(heading['machine'])}; "
        f"versions: {_plain(heading['versions'])}.",
        *_earlier(card),
        f"{card.networks} networks (of {planned} planned, drawn with seed {settings['seed']}) x {card.deployments} "
        f"deployments; {card.failed} combinations failed.",
        f"Largest values drawn: {_plain(settings['at_most']) or 'all'}; "
        f"only these: {_plain(settings.get('only', {})) or 'all'}.",
        f"{_at_once(heading)} trained at a time; trainings {card.training_seconds:,.0f} s together"
        f"{' if each ran alone' if heading.get('timed_alone') else ''}, "
        f"readings {card.reading_seconds:,.0f} s, of {settings['window_seconds']:g} s each after a warm-up.",
        f"A training takes {card.cost_ratio:.3g} times as long as a reading in the mean; {card.cheap_trainings} of "
        f"{card.networks} take less than e seconds, where the paper's log cost is the same for both.",
        f"Non-dominated: {len(card.front)} designs, of {on_front[0]} of the {card.networks} networks and {on_front[1]} "
        f"of the {card.deployments} deployments.",
        *_choices(card),
        *_curves(card),
        *_doubts(card),
    ]


def _earlier(card: Card) -> list[str]:
    """Which recordings readings and trainings were taken from."""
    heading, facts = card.heading, []
    if earlier := heading.get("earlier"):
        n_read = earlier.get("deployments", card.deployments)
        what = "Readings" if n_read == card.deployments else f"Readings of {n_read} of the deployments"
        facts.append(f"{what} and the times of an epoch and of a test were {_taken_from(earlier, heading)}")
    if earlier := heading.get("trained_earlier"):
        facts.append(f"{earlier['networks']} of the trainings were {_taken_from(earlier, heading)}")
    return facts


def _taken_from(earlier: Mapping[str, Any], heading: Mapping[str, Any]) -> str:
    same = earlier["versions"] == heading["versions"] and earlier["machine"] == heading["machine"]
    made_with = (
        "the same kind of machine and versions"
        if same
        else f"machine: {_plain(earlier['machine'])}; versions: {_plain(earlier['versions'])}"
    )
    return f"taken from a recording of {earlier['date']} with {earlier['meter']}; {made_with}."


def _at_once(heading: Mapping[str, Any]) -> str:
    """How many networks were trained at a time, with those of an earlier recording."""
    here = f"{heading['trained_at_once']} network{'s' if heading['trained_at_once'] > 1 else ''}"
    if earlier := heading.get("trained_earlier"):
        return f"{earlier['at_once']} networks there, {here} here,"
    return here


def _examples(card: Card) -> str:
    """Images, or what else a system learns from."""
    return {"questions": "questions", "reviews": "texts", "recordings": "recordings"}.get(
        SYSTEMS[card.heading["system"]].kind, "images"
    )


def _choices(card: Card) -> list[str]:
    """Whether there is something to choose: what tables of version 0.1 do not say."""
    if card.chance is None:
        return []
    at_chance = (
        f"; {card.at_chance} of the {card.networks} networks are within two standard deviations of chance, or worse"
        if card.at_chance
        else ""
    )
    return [
        f"The deployment that takes the least energy is {_one_of(card.best)}; that with the least latency of a batch "
        f"is {_one_of(card.fastest)}.",
        f"The best answer without learning has an error of {card.chance[0]:.4g} %, the best network one of "
        f"{card.ranges['error_percent'][0]:.4g} %{at_chance}.",
        *_shared(card),
    ]


def _one_of(deployments: Counter[str]) -> str:
    (often, _), *others = ranked = deployments.most_common()
    if not others:
        return f"the same for all networks ({often})"
    counts = ", ".join(str(count) for _, count in ranked)
    return f"one of {len(ranked)}, for {counts} networks (most often {often})"


def _shared(card: Card) -> list[str]:
    """Which networks run alike."""
    readings = card.networks * card.deployments
    if card.read == readings:
        return []
    return [
        f"Networks that differ only in {', '.join(card.heading['training_only'])} run alike and share their readings: "
        f"{card.read} of the {readings} were made."
    ]


def _curves(card: Card) -> list[str]:
    """How much an unfinished training says."""
    if not card.swapped:
        return []
    n_steps = len(card.swapped)
    thirds = [max(1, round(share * n_steps)) for share in (1 / 3, 2 / 3)]
    if len(card.epochs) == 1:
        length = f"Each training has {n_steps} epochs"
        when = ["the first epoch", *(f"{step} epochs" for step in thirds)]
    else:
        length = f"A training has {' or '.join(map(str, card.epochs))} epochs, an option of the network"
        when = [f"{step}/{n_steps} of each training" for step in (1, *thirds)]
    shares = [f"{100 * card.swapped[step - 1]:.0f} % after" for step in (1, *thirds)]
    return [
        f"{length}, and the error after each is in the table's heading. Of all pairs of networks, those in the other "
        f"order than at the end are {shares[0]} {when[0]}, {shares[1]} {when[1]} and {shares[2]} {when[2]}."
    ]


def _doubts(card: Card) -> list[str]:
    """How far the figures can be trusted."""
    least, middle, most = card.pace
    what, share = _examples(card), card.ranges["error_percent"][1] / 100
    deviation = 100 * math.sqrt(share * (1 - share) / card.heading["settings"]["test_examples"])
    doubts = [
        f"While energy is read, a batch takes {middle:.2f} times its latency in the median, {least:.2f} to {most:.2f} "
        "times.",
        f"The choice of held-out {what} alone gives the median error a standard deviation of "
        f"{'' if what in ('images', 'texts') else 'at most about '}{deviation:.2f} points.",
    ]
    if card.noise:
        middle, ninth, most = (100 * float(np.quantile(card.noise, share)) for share in (0.5, 0.9, 1.0))
        doubts.append(
            f"{len(card.noise)} second readings differ from the first by {middle:.1f} % in the median, {ninth:.1f} % "
            f"in the ninth decile and {most:.1f} % at most."
        )
    windows = ("windows of a reading", "its energy", card.spreads)
    for of, what, spreads in (windows, ("times of single batches", "their latency", card.call_spreads)):
        if spreads:
            middle, ninth = (100 * float(np.quantile(spreads, share)) for share in (0.5, 0.9))
            doubts.append(
                f"The interquartile range of the {of} is {middle:.1f} % of {what} in the median and {ninth:.1f} % in "
                "the ninth decile."
            )
    if card.single:
        doubts.append(f"{card.single} of the {len(card.spreads) + card.single} readings have one window, and no range.")
    if card.lost:
        count, listed = card.deployed_front
        doubts.append(
            f"In the precision of a deployment the error is {card.lost[0]:+.2f} to {card.lost[-1]:+.2f} points away "
            f"from the error as trained, which the column error_percent has; by the former {count} designs are "
            f"non-dominated, {listed} of them listed below."
        )
    return doubts


def _pace(row: Mapping[str, Any]) -> float:
    """The seconds that a batch takes by its energy and power, over its latency."""
    batch = row.get("batch", row.get("batch_size", 1)) * row.get("streams", 1)
    return float(1000 * row["energy_joules"] * batch / row["power_watts"] / row["latency_ms"])


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    return min(values), median(values), max(values)


def _range_rows(card: Card) -> list[list[str]]:
    rows = [[title, *(f"{value:.4g}" for value in card.ranges[column])] for column, title in RANGES.items()]
    return [["", "least", "median", "greatest"], *rows]


def _front(rows: Sequence[Mapping[str, Any]], error: str = "error_percent") -> tuple[Mapping[str, Any], ...]:
    rows = [row for row in rows if row.get(error) is not None]
    losses = np.array([[row[error], row["energy_joules"]] for row in rows])
    kept = [row for row, is_kept in zip(rows, non_dominated(losses), strict=True) if is_kept]
    return tuple(sorted(kept, key=lambda row: (row[error], row["energy_joules"])))


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    head, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return [head, f"|{'---|' * len(rows[0])}", *rest]


def _of(row: Mapping[str, Any], options: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row[option] for option in options)


def _known(rows: Iterable[Mapping[str, Any]], column: str) -> list[float]:
    return [float(row[column]) for row in rows if row.get(column) is not None]


def _plain(value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(value)
    return ", ".join(f"{name} {_part(part)}" for name, part in value.items())


def _part(value: Any) -> str:
    if isinstance(value, list):
        return " or ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.card", description=__doc__)
    parser.add_argument("table", nargs="+", help="the name of a recorded table, or a file")
    for text in parser.parse_args(arguments).table:
        path = Path(text)
        name = path.name.removesuffix(".csv.gz")
        sys.stdout.write(text_of(card_of(name, read_table(path) if path.is_file() else recorded_table(name))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
