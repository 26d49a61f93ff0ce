"""The result of an experiment: tables, and the paper's claims with our numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal

Verdict = Literal["Agrees", "Agrees in part", "Does not agree", "Undecided", "Cannot be judged"]

TALLEST = 3
"""The maximal number of lines of a heading in a terminal."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table of texts.

    Attributes:
        title: What it shows.
        headings: One per column.
        rows: One text per column.
        labels: The number of columns, from the left, that hold names; the others hold numbers.
        note: The meaning of marks in the table, or an empty string.
    """

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
    """Whether a claim holds on one problem.

    Attributes:
        problem: The problem, or another basis of the judgement.
        agrees: Whether the claim holds; None if the numbers are not conclusive.
        numbers: The numbers.
    """

    problem: str
    agrees: bool | None
    numbers: str

    def __str__(self) -> str:
        return f"{self.problem} ({self.numbers})"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper, and whether our numbers support it.

    Attributes:
        paper: The paper's claim, a sentence.
        judgements: One for each problem on which it can be judged.
    """

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
    """The result of an experiment.

    Attributes:
        name: The experiment.
        title: Its question.
        tables: The numbers.
        claims: The paper's claims with judgements.
        notes: Definitions and remarks.
        files: The written files: the report first, then tables and figures.
    """

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
