"""``flexibo methods``: the methods that a study can use."""

from __future__ import annotations

from rich.padding import Padding
from rich.text import Text

import flexibo
from flexibo.cli._options import JSONFlag
from flexibo.cli._text import output_console, print_json


def methods(json: JSONFlag = False) -> None:
    """List the methods that a study can use."""
    if json:
        keys = ("name", "summary", "paper", "measures", "cost_aware", "limits")
        print_json([{key: getattr(method, key) for key in keys} for method in flexibo.list_methods()])
        return
    console = output_console()
    for method in flexibo.list_methods():
        aware = ", cost-aware" if method.cost_aware else ""
        default = " (default)" if method.name == "flexibo" else ""
        console.print(Text.assemble((method.name, "bold"), f"{default}  {method.measures}{aware}"))
        paper = f" Source: {method.paper}." if method.paper else ""
        limits = f"{method.limits[0].upper()}{method.limits[1:]}."
        console.print(Padding(Text(f"{method.summary}{paper} {limits}"), (0, 0, 0, 4), expand=False))
    console.print("\nAdd /cost to any but nsga2, sobol and random (ehvi/cost) to divide scores by expected costs.")
