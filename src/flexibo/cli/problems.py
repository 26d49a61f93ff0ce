"""``flexibo problems``: the problems to compare methods on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from flexibo.cli._options import JSONFlag
from flexibo.cli._text import count_of_designs, output_console, print_json
from flexibo.errors import FlexiBOError

if TYPE_CHECKING:
    from flexibo.compare.problems.base import Family

WIDE = 120  # a terminal with this many columns has room for summaries


def problems(json: JSONFlag = False) -> None:
    """List the problems that methods can be compared on."""
    from flexibo.compare.problems.table import FAMILIES

    described = [_described(family) for family in FAMILIES.values()]
    if json:
        print_json(described)
        return
    console = output_console()
    headings = [
        "problem",
        "group",
        "options",
        "designs",
        "objectives, and what measuring them costs",
        "front",
        "summary",
    ]
    shown = len(headings) if console.width >= WIDE else len(headings) - 1
    table = Table(box=None, pad_edge=False, show_edge=False)
    for heading in headings[:shown]:
        table.add_column(heading, justify="right" if heading in ("options", "designs") else "left")
    for facts in described:
        cells = [Text(facts["name"], style="bold"), *map(Text, _cells(facts)), Text(facts["summary"])]
        table.add_row(*cells[:shown])
    console.print(table)
    for missing in dict.fromkeys(facts["missing"] for facts in described if "missing" in facts):
        console.print(Text(f"\nNot here: {missing}"))
    console.print(Text("\nParameters follow the name, as in dtlz2:n=3:ratio=100 or zdt1:ratio=10:finite."))
    console.print(
        Text("With ratio=1, the default, the price of a synthetic problem is equal: group equal, not synthetic.")
    )
    for line in _parameters(FAMILIES.values()):
        console.print(Text(f"  {line}"))


def _parameters(families: Iterable[Family]) -> list[str]:
    told: dict[str, list[str]] = {}
    for family in families:
        for name, parameter in family.parameters.items():
            told.setdefault(f"{name}  {parameter.summary} (default {parameter.default:g})", []).append(family.name)
    return [f"{text}: {', '.join(names)}" for text, names in told.items()]


def _described(family: Family) -> dict[str, Any]:
    """A problem as JSON; if its table is missing, the reason."""
    parameters = {
        name: {"default": parameter.default, "summary": parameter.summary}
        for name, parameter in family.parameters.items()
    }
    facts: dict[str, Any] = {"name": family.name, "summary": family.summary, "parameters": parameters}
    facts["group"] = family.group
    try:
        problem = family.make()
    except FlexiBOError as error:
        return facts | {"missing": str(error)}
    number = problem.space.size
    costs = problem.mean_costs()
    return facts | {
        "group": problem.group,
        "options": len(problem.space.names),
        "designs": None if number == float("inf") else number,
        "objectives": list(problem.names),
        "mean_costs": {name: float(f"{cost:.4g}") for name, cost in zip(problem.names, costs, strict=True)},
        "unit": problem.unit,
        "front": "true" if problem.exact else "best known",
        "front_designs": len(problem.front) if problem.space.size != float("inf") else None,
        "source": problem.source,
    }


def _cells(facts: dict[str, Any]) -> tuple[str, str, str, str, str]:
    if "missing" in facts:
        return facts["group"], "", "", "its table is not here", ""
    designs = "infinite" if facts["designs"] is None else count_of_designs(facts["designs"])
    costs = facts["mean_costs"]
    priced = [f"{name} {costs[name]:g} {facts['unit']}" if costs[name] else name for name in facts["objectives"]]
    return facts["group"], str(facts["options"]), designs, ", ".join(priced), facts["front"]
