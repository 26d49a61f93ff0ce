"""Report: a comparison as one HTML file that needs no network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.page import sections
from flexibo.compare.page.facts import ProblemFacts, Sheet, facts_of
from flexibo.compare.page.looks import Look, legend_rules, look_rules, looks_of
from flexibo.compare.page.outcomes import Outcome, outcomes_by_problem
from flexibo.compare.page.text import clean, escaped
from flexibo.compare.runs import Run

__all__ = ["ProblemFacts", "Sheet", "facts_of", "report", "write_report"]


def write_report(
    path: str | Path,
    runs: Sequence[Run],
    problems: Mapping[str, ProblemFacts],
    *,
    ours: str,
    title: str,
    command: str,
    allowance: Mapping[str, str],
    tables: Sequence[Sheet] = (),
    notes: Sequence[str] = (),
) -> None:
    """Write `report` as a file; the folders above it are made."""
    page = report(
        runs, problems, ours=ours, title=title, command=command, allowance=allowance, tables=tables, notes=notes
    )
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(page, encoding="utf-8", newline="\n")


def report(
    runs: Sequence[Run],
    problems: Mapping[str, ProblemFacts],
    *,
    ours: str,
    title: str,
    command: str,
    allowance: Mapping[str, str],
    tables: Sequence[Sheet] = (),
    notes: Sequence[str] = (),
) -> str:
    """A page that shows runs: tables, an overview, and a section per problem. Same runs, same page.

    Args:
        runs: What was run, in any order; a method may be missing on a problem.
        problems: What to say of each problem, in the order in which they are shown.
        ours: The method that stands out.
        title: The heading.
        command: What to type to get the same.
        allowance: What else the head says: methods, rivals, budget, versions.
        tables: Tables to show first.
        notes: Sentences below the allowance.
    """
    found = outcomes_by_problem(runs, problems)
    looks = looks_of({outcome.method for outcomes in found.values() for outcome in outcomes}, ours)
    style = "".join([_part("plot.css"), _part("page.css"), look_rules(looks.values()), legend_rules(looks.values())])
    made = "".join(sections.table(sheet, ours) for sheet in tables)
    ranking = f'<section class="wide"><h2 id="ranking">Ranking</h2>{made}</section>' if made else ""
    details = "".join(
        sections.problem_section(k, name, facts, found[name], looks) for k, (name, facts) in enumerate(problems.items())
    )
    body = (
        f"{sections.head(title, command, allowance, notes, found)}<main>{ranking}{sections.legend(looks)}"
        f'{sections.overview(found, looks)}<section class="wide"><h2 id="problems">Problem by problem '
        f'<button type="button" id="open">Open all</button></h2>{details}</section></main>'
        '<footer class="wide">Drawn by flexibo. The colours are told apart by colour-blind readers '
        '(Okabe and Ito); dashes and markers tell the rest.</footer><div id="tip" role="status" hidden></div>'
    )
    return _page(title, style, body, _data(problems, found, looks))


def _page(title: str, style: str, body: str, data: str) -> str:
    """The whole document. Its policy forbids every request, and every style and script but its own two."""
    script = _part("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{escaped(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n"
        f'<script type="application/json" id="data">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n'
    )


def _digest(text: str) -> str:
    """What a content-security policy calls this style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _part(name: str) -> str:
    return resources.files("flexibo.compare.page").joinpath(name).read_text(encoding="utf-8")


def _data(
    problems: Mapping[str, ProblemFacts], found: Mapping[str, Sequence[Outcome]], looks: Mapping[str, Look]
) -> str:
    """What the page's script needs to name what is under the pointer, as JSON that cannot end its element."""
    told = {
        "methods": {look.number: clean(look.method) for look in looks.values()},
        "problems": [_problem_data(facts, found[name], looks) for name, facts in problems.items()],
    }
    return json.dumps(told, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _problem_data(facts: ProblemFacts, outcomes: Sequence[Outcome], looks: Mapping[str, Look]) -> dict[str, object]:
    return {
        "unit": clean(facts.unit),
        "budget": facts.budget,
        "objectives": [[clean(name), clean(unit)] for name, unit in zip(facts.names, facts.units, strict=True)],
        "shares": outcomes[0].shares.tolist() if outcomes else [],
        "series": [
            {
                "m": looks[outcome.method].number,
                "seeds": len(outcome.seeds),
                "mean": _rounded(outcome.mean),
                "low": _rounded(outcome.low),
                "high": _rounded(outcome.high),
                "front": [] if outcome.front is None else [_rounded(row) for row in outcome.front],
            }
            for outcome in outcomes
        ],
    }


def _rounded(values: FloatArray) -> list[float]:
    """Numbers with the digits that a pointer shows."""
    return [float(f"{value:.4g}") for value in np.nan_to_num(values).tolist()]
