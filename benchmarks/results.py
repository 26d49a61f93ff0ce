"""Rows of the benchmark's table, and the two ways it is written: for people, and as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from threadpoolctl import threadpool_info

PACKAGES = ("flexibo", "numpy", "scipy", "scikit-learn", "moocore", "torch", "botorch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing that was measured.

    Attributes:
        section: The number that ``--only`` takes.
        what: What was measured.
        measured: The number; None if it could not be measured, and the note gives the reason.
        unit: "x", "s", "ms", "MiB" or nothing.
        must: The bound that must be reached; None for a number that is only reported.
        aim: The bound that would be better still.
        at_most: Whether bounds are from above.
        note: How it was measured.
    """

    section: int
    what: str
    measured: float | None
    unit: str = ""
    must: float | None = None
    aim: float | None = None
    at_most: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        """ "missed", "reached" or "aim reached"; "not measured"; nothing where there is no bound."""
        if self.measured is None:
            return "not measured"
        if self.must is None:
            return ""
        if not self._reaches(self.must):
            return "missed"
        return "aim reached" if self.aim is not None and self._reaches(self.aim) else "reached"

    def shown(self, number: float | None, *, bound: bool = False) -> str:
        """A number of this row with its unit."""
        if number is None:
            return "-"
        sign = ("<= " if self.at_most else ">= ") if bound else ""
        digits = f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
        return f"{sign}{digits}{'' if self.unit == 'x' else ' '}{self.unit}".rstrip()

    def to_dict(self) -> dict[str, object]:
        """The row ready for JSON."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**fields, "verdict": self.verdict}

    def _reaches(self, bound: float) -> bool:
        assert self.measured is not None
        return self.measured <= bound if self.at_most else self.measured >= bound


def machine() -> dict[str, str]:
    """What the numbers depend on: platform, processor, cores, load, versions."""
    return {
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load before": ", ".join(f"{load:.2f}" for load in os.getloadavg()),
        "python": platform.python_version(),
        **{package: _version(package) for package in PACKAGES},
        "blas": ", ".join(
            sorted(
                {
                    f"{library.get('internal_api')} {library.get('version')}, {library['num_threads']} thread(s)"
                    for library in threadpool_info()
                    if library["user_api"] == "blas"
                }
            )
        ),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    """The processor's name, as Linux gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def table(rows: Sequence[Row]) -> Table:
    """The rows as a table for the terminal."""
    result = Table(title="Speed, single thread")
    for heading, justify in (("", "right"), ("what", "left"), ("measured", "right"), ("must", "right")):
        result.add_column(heading, justify=justify)  # type: ignore[arg-type]
    result.add_column("aim", justify="right")
    result.add_column("verdict")
    result.add_column("how", overflow="fold", style="dim")
    section = 0
    for row in rows:
        number = "" if row.section == section else str(row.section)
        section = row.section
        style = {"missed": "bold red", "not measured": "yellow"}.get(row.verdict)
        must, aim = (row.shown(bound, bound=bound is not None) for bound in (row.must, row.aim))
        result.add_row(number, row.what, row.shown(row.measured), must, aim, row.verdict, escape(row.note), style=style)
    return result


def show(facts: Mapping[str, str], rows: Sequence[Row]) -> None:
    """Print the machine's facts and the table."""
    console = Console(width=None if Console().is_terminal else 190)
    for name, fact in facts.items():
        console.print(f"{name:>12}  {fact}", highlight=False)
    console.print(table(rows))


def write_json(path: Path, facts: Mapping[str, str], rows: Sequence[Row]) -> None:
    """Write facts and rows to a file."""
    content = {"machine": dict(facts), "rows": [row.to_dict() for row in rows]}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
