"""``flexibo problems`` and ``flexibo data``: what can be compared on, and where recorded tables come from."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexibo.cli.words import size

if TYPE_CHECKING:
    from flexibo.benchmarks.problem import Family


def problems(
    json: Annotated[bool, typer.Option("--json", help="Print a list of objects instead.")] = False,
) -> None:
    """List the problems that methods can be compared on."""
    from flexibo.benchmarks.problems import FAMILIES

    described = [_described(family) for family in FAMILIES.values()]
    if json:
        typer.echo(dumps(described, indent=2))
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    for family, facts in zip(FAMILIES.values(), described, strict=True):
        console.print(Text.assemble((family.name, "bold"), f"  {_facts(facts)}"))
        console.print(Padding(Text(facts["summary"]), (0, 0, 0, 4)))
        for name, parameter in facts["parameters"].items():
            text = f":{name}  {parameter['summary']} (default {parameter['default']})"
            console.print(Padding(Text(text, style="dim"), (0, 0, 0, 4)))
    console.print("\nParameters follow the name: dtlz2:n=3:ratio=100, zdt1:ratio=10:finite.", highlight=False)


def _described(family: Family) -> dict[str, Any]:
    """What is known of a problem; of one whose table is missing, why."""
    from flexibo.errors import FlexiBOError

    parameters = {
        name: {"default": parameter.default, "summary": parameter.summary}
        for name, parameter in family.parameters.items()
    }
    facts: dict[str, Any] = {"name": family.name, "summary": family.summary, "parameters": parameters}
    try:
        problem = family.make()
    except FlexiBOError as error:
        return facts | {"missing": str(error)}
    number = problem.space.size
    costs = problem.mean_costs()
    return facts | {
        "options": len(problem.space.names),
        "designs": None if number == float("inf") else number,
        "objectives": list(problem.names),
        "mean_costs": {name: float(f"{cost:.4g}") for name, cost in zip(problem.names, costs, strict=True)},
        "unit": problem.unit,
        "front": "true" if problem.exact else "best known",
        "front_designs": len(problem.front) if problem.space.size != float("inf") else None,
        "source": problem.source,
    }


def _facts(facts: dict[str, Any]) -> str:
    if "missing" in facts:
        return facts["missing"]
    designs = size(float("inf") if facts["designs"] is None else facts["designs"])
    costs = ", ".join(f"{name} {cost:g} {facts['unit']}" for name, cost in facts["mean_costs"].items() if cost)
    return f"{facts['options']} options, {designs} designs; {costs}; {facts['front']} front"


def data() -> None:
    """Say which recorded tables are here, and where the originals can be had."""
