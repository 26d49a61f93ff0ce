"""``flexibo doctor``: what is installed, reachable or missing, and how to get it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from flexibo.cli._doctor_findings import Finding, found
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._options import JSONFlag, parsed_names, parsed_seconds, stored_in
from flexibo.cli._text import output_width, print_json, wrapped
from flexibo.errors import unknown_name

MARKS = {"good": "✓", "absent": "–", "wrong": "!"}  # noqa: RUF001  # a dash that is no minus

ALWAYS_NEEDED = ("Python", "Packages")


def doctor(
    storage: Annotated[str, stored_in("Check that this storage can be reached.")] = "",
    dask: Annotated[
        str, typer.Option(help="Check that this Dask scheduler answers, as in tcp://10.0.0.1:8786.", show_default=False)
    ] = "",
    ray: Annotated[
        str, typer.Option(help="Check that this Ray cluster answers, as in ray://10.0.0.1:10001.", show_default=False)
    ] = "",
    data: Annotated[
        str, typer.Option(help="The folder of data.", envvar="FLEXIBO_DATA", show_envvar=True, show_default=False)
    ] = "",
    need: Annotated[
        list[str] | None,
        typer.Option(help="Exit with status 1 unless this check is good, as in plot, rapl-meter or gpu."),
    ] = None,
    limit: Annotated[str, typer.Option(help="The time limit of each check.")] = "25s",
    json: JSONFlag = False,
) -> None:
    """Check what is installed and which meters, GPUs, databases and clusters are reachable, and how to get the rest.

    Exit status 1 means that something required does not work: a dependency, or a storage, cluster, folder or check that
    you named.
    """
    from flexibo.cli._doctor_checks import checks

    seconds = parsed_seconds(limit, "--limit")
    wanted = checks(storage=storage, dask=dask, ray=ray, data=data, limit=seconds)
    findings = found(wanted, limit=seconds + 5.0)  # those that stop at the limit need a moment to report it
    known = {finding.name for finding in findings}
    for name in parsed_names(need or []):
        if name not in known:
            raise unknown_name("check", name, known)
    given = {"storage": storage, "dask-cluster": dask, "ray-cluster": ray, "data": data}
    failed = _failed(findings, {*(what for what in given if given[what]), *parsed_names(need or [])})
    if json:
        print_json({"good": not failed, "failed": failed, "findings": list(map(asdict, findings))})
    else:
        for line in _lines(findings, failed, output_width()):
            typer.echo(line)
    if failed:
        raise typer.Exit(ExitStatus.NOTHING)


def _failed(findings: Sequence[Finding], needed: Collection[str]) -> list[str]:
    """The required checks that are not good, in the order of the findings."""
    mattering = [one for one in findings if one.name in needed or one.group in ALWAYS_NEEDED]
    return list(dict.fromkeys(one.name for one in mattering if one.state != "good"))


def _lines(findings: Sequence[Finding], failed: Collection[str], width: int) -> Iterator[str]:
    """The report: a heading per group, a line per finding, and what to do below it."""
    column = max(len(finding.name) for finding in findings) + 2
    group = ""
    for finding in findings:
        if finding.group != group:
            yield ("\n" if group else "") + finding.group
            group = finding.group
        heading = f"  {MARKS[finding.state]} {finding.name.ljust(column)}"
        yield from _entry(heading, finding.text, width)
        if finding.remedy:
            yield from _entry(" " * len(heading), f"-> {finding.remedy}", width)
    yield ""
    yield f"{MARKS['good']} good   {MARKS['absent']} not found   {MARKS['wrong']} wrong   -> what to type"
    yield f"Needed, but not in order: {', '.join(failed)}." if failed else "Everything that flexibo needs is in order."


def _entry(heading: str, text: str, width: int) -> list[str]:
    width = max(width, len(heading) + 20)
    hanging = " " * len(heading)
    return wrapped(text, width, margin=heading, hanging=hanging, breaks_words=False) or [heading.rstrip()]
