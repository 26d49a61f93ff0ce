"""The result of an experiment: tables, and the paper's claims, judged problem by problem by our numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal, TypeAlias

from flexibo.experiments.measures import Measure, mean, number, spread, values_of
from flexibo.experiments.repeats import Repeat, problems_of

Verdict = Literal["Agrees", "Agrees in part", "Does not agree", "Undecided", "Cannot be judged"]

Best: TypeAlias = Callable[..., Any]
"""`min` or `max`."""

SIGNIFICANT = 2.0
"""A mean paired difference below this many standard errors is not significant."""
TALLEST = 3
"""The maximal number of lines of a heading in a terminal."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table of texts: the first `labels` columns hold names, the others numbers; the note explains its marks."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1
    note: str = ""

    def markdown(self) -> str:
        """The table in Markdown."""
        marks = ["---" if k < self.labels else "---:" for k in range(len(self.headings))]
        lines = [" | ".join(cell.replace("|", "/") for cell in row) for row in (self.headings, marks, *self.rows)]
        note = f"\n\n{self.note}" if self.note else ""
        return f"**{self.title}**\n\n" + "\n".join(f"| {line} |" for line in lines) + note

    def __rich__(self) -> Any:
        """The table for a terminal: as narrow as possible without cutting a cell or a word of a heading."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
        for k, (heading, *cells) in enumerate(zip(self.headings, *self.rows, strict=True)):
            justify: Any = "left" if k < self.labels else "right"
            table.add_column(Text(heading), justify=justify, width=_width(heading, cells), overflow="fold")
        for row in self.rows:
            table.add_row(*map(Text, row))
        return Group(Text(self.title, "bold"), table, *([Text(self.note, "dim")] if self.note else []))


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a claim holds on one problem (or another basis); None if the numbers are not conclusive."""

    problem: str
    agrees: bool | None
    numbers: str

    def __str__(self) -> str:
        return f"{self.problem} ({self.numbers})"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper, a sentence, with a judgement for each problem on which it can be judged."""

    paper: str
    judgements: tuple[Judgement, ...]

    @property
    def verdict(self) -> Verdict:
        """Whether it holds on all, some or no problems."""
        if not self.judgements:
            return "Cannot be judged"
        held = {judgement.agrees for judgement in self.judgements}
        if held == {None}:
            return "Undecided"
        return "Agrees" if held == {True} else "Agrees in part" if True in held else "Does not agree"

    @property
    def line(self) -> str:
        """The claim, the verdict and the numbers in one line.

        >>> Claim("Log costs win.", (Judgement("a", True, "1 against 2"), Judgement("b", False, "3 against 2"))).line
        'The paper: Log costs win. Here: agrees on 1 of 2: a (1 against 2). Does not agree on b (3 against 2).'
        """
        if not self.judgements:
            return f"The paper: {self.paper} Here: it cannot be judged on these problems."
        parts = []
        held, broken, open_ones = (
            [str(judgement) for judgement in self.judgements if judgement.agrees is answer]
            for answer in (True, False, None)
        )
        if held:
            parts.append(f"agrees on {len(held)} of {len(self.judgements)}: {', '.join(held)}.")
        if broken:
            parts.append(f"does not agree on {', '.join(broken)}.")
        if open_ones:
            parts.append(f"undecided on {', '.join(open_ones)}.")
        first, *others = parts
        return f"The paper: {self.paper} Here: {' '.join([first, *(text[0].upper() + text[1:] for text in others)])}"


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """The result of an experiment; `files` are the written ones: the report first, then tables and figures."""

    name: str
    title: str
    tables: tuple[ResultTable, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    def markdown(self, figures: Sequence[Path] = ()) -> str:
        """The report in Markdown, with figures in the same folder."""
        claims = [f"- **{claim.verdict}.** {claim.line}" for claim in self.claims]
        pictures = [f"![{path.stem}]({path.name})" for path in figures]
        parts = [
            f"# {self.title}",
            *self.notes,
            "## Does it agree with the paper?",
            "\n".join(claims),
            *(["## Figures", *pictures] if pictures else []),
            "## Numbers",
            *(table.markdown() for table in self.tables),
        ]
        return "\n\n".join(parts) + "\n"

    def __rich__(self) -> Any:
        """Tables, verdicts and notes for a terminal."""
        from rich.console import Group
        from rich.text import Text

        tables = [part for table in self.tables for part in (table, Text())]
        claims = [
            Text.assemble((f"{claim.verdict}. ", f"bold {_COLOURS.get(claim.verdict, 'dim')}"), claim.line)
            for claim in self.claims
        ]
        notes = [Text(note, style="dim") for note in self.notes]
        files = Text("Written: " + ", ".join(map(str, self.files))) if self.files else Text()
        return Group(*tables, *claims, Text(), *notes, files)


_COLOURS = {"Agrees": "green", "Agrees in part": "yellow", "Does not agree": "red"}


def _width(heading: str, cells: Sequence[str]) -> int:
    """The width of a column: its cells and the words of its heading fit, in at most `TALLEST` lines."""
    width = max(map(len, (*cells, *heading.split())), default=1)
    while len(wrap(heading, width)) > TALLEST:
        width += 1
    return width


def claim_best(
    paper: str,
    repeats: Sequence[Repeat],
    *,
    ours: str,
    others: Sequence[str],
    measure: Callable[[str], Measure],
    made: Callable[[str], Measure] | None = None,
    best: Best = min,
) -> Claim:
    """The claim that a method is better than all others in the mean over repeats, judged on each problem.

    Args:
        paper: The claim, a sentence.
        repeats: All repeats.
        ours: The method of the claim.
        others: The methods that it is compared with.
        measure: What is compared on a problem.
        made: The number of iterations up to that point; methods with none are left out. By default all are compared.
        best: `min` if lower is better, `max` if higher is.
    """
    judgements = []
    for problem in problems_of(repeats):
        values = {method: values_of(repeats, problem, method, measure(problem)) for method in (ours, *others)}
        counts = {method: values_of(repeats, problem, method, made(problem)) for method in values} if made else {}
        judgement = _judged(problem, values, ours, best, _idle(counts))
        judgements += [judgement] if judgement is not None else []
    return Claim(paper, tuple(judgements))


class Doubt(Enum):
    """Why a paired difference is not conclusive, as it is reported."""

    TIE = "a tie"
    SINGLE_REPEAT = "a single repeat"
    NOT_SIGNIFICANT = "within the spread of the repeats"


def doubt(first: Sequence[float], second: Sequence[float]) -> Doubt | None:
    """Why the difference of paired values is not conclusive; None if it is significant."""
    differences = [a - b for a, b in zip(first, second, strict=True) if math.isfinite(a - b)]
    if mean(differences) == 0:
        return Doubt.TIE
    if len(differences) < 2:
        return Doubt.SINGLE_REPEAT
    return Doubt.NOT_SIGNIFICANT if abs(mean(differences)) < SIGNIFICANT * spread(differences) else None


def lower(own: float, other: float) -> bool | None:
    """Whether the first of two numbers is lower; None for a tie."""
    return None if own == other else own < other


def _judged(
    problem: str, values: Mapping[str, Sequence[float]], ours: str, best: Best, idle: Mapping[str, str]
) -> Judgement | None:
    """Whether our method is better than the best other one; None without numbers."""
    means = {method: mean(own) for method, own in values.items() if not math.isnan(mean(own))}
    own = means.pop(ours, math.nan)
    if math.isnan(own) or not means:
        return None
    others = {method: value for method, value in means.items() if method not in idle}
    without = ", ".join(idle[method] for method in (ours, *means) if method in idle)
    if ours in idle or not others:
        return Judgement(problem, None, f"too small a cost for an iteration of {without}")
    other = best(others, key=others.__getitem__)
    why = doubt(values[ours], values[other])
    better = own < others[other] if best is min else own > others[other]
    numbers = f"{number(own)} against {number(others[other])} of {other}"
    if best is min:
        numbers += _compared(own, others[other])
    numbers += f", {why.value}" if why else ""
    numbers += f"; left out, as the cost is too small for an iteration: {without}" if without else ""
    # A method that is better than some may still be worse than those that are left out.
    return Judgement(problem, None if why or (better and without) else better, numbers)


def _idle(counts: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """The methods that made no iteration in some of their repeats, by name, as text."""
    idle = {}
    for method, own in counts.items():
        n = sum(count == 0 for count in own)
        if n:
            idle[method] = method if n == len(own) else f"{method} ({n} of {len(own)} repeats)"
    return idle


def _compared(own: float, other: float) -> str:
    """How much lower or higher a number is than another, as text; empty for a tie, or if the other is 0."""
    if own == other or other <= 0:
        return ""
    if own >= 2 * other:
        return f", {number(own / other, 2)} times as high"
    return f", {abs(own / other - 1):.1%} {'lower' if own < other else 'higher'}".replace("%", " %")
