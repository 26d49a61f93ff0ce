"""``flexibo run``: a study from a file, or one of the paper's systems, optimised on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo.cli._completion import method_names
from flexibo.cli._parse import names, seconds, share
from flexibo.cli._picture import Picture, chosen_picture, draw_front
from flexibo.cli._storage_options import VARIABLE
from flexibo.cli._study_file import check_is_system, is_study_file, is_typed
from flexibo.cli._system_options import (
    FOR_SYSTEMS,
    Address,
    CertifiedError,
    Data,
    Dataset,
    Epochs,
    Estimate,
    ExecutorName,
    Idle,
    Lease,
    Limit,
    Longest,
    MeterName,
    Models,
    Only,
    Outcome,
    PlatformName,
    What,
    Workers,
    data_folder,
    filled,
)

if TYPE_CHECKING:
    from flexibo.cli._build_system import Built, Given
    from flexibo.cli._run_file import Typed
    from flexibo.study import Study


def run(
    context: typer.Context,
    what: What,
    budget: Annotated[
        str,
        typer.Option(
            help="Time for measurements, as in 90s, 30m, 2h or 1d; by default as the file says, or 30m for a system.",
            show_default=False,
            callback=filled,
        ),
    ] = "30m",
    certified_error: CertifiedError = "",
    data: Data = None,
    dataset: Dataset = "",
    platform: PlatformName = "auto",
    limit: Limit = None,
    epochs: Epochs = None,
    models: Models = Path("models"),
    meter: MeterName = "auto",
    estimate: Estimate = None,
    knobs: Annotated[
        list[str] | None,
        typer.Option(
            help="Settings of the machine to tune too ('flexibo knobs list'), or all; none by default.",
            rich_help_panel=FOR_SYSTEMS,
        ),
    ] = None,
    objectives: Annotated[
        list[str] | None,
        typer.Option(
            "--and", help="Objectives beside error and energy: latency_ms, power_watts.", rich_help_panel=FOR_SYSTEMS
        ),
    ] = None,
    recorded: Annotated[
        bool,
        typer.Option(
            "--recorded",
            help="Answer from the table recorded on real hardware: no GPU needed.",
            rich_help_panel=FOR_SYSTEMS,
        ),
    ] = False,
    method: Annotated[
        str,
        typer.Option(
            help="One of the names that 'flexibo methods' lists.",
            autocompletion=method_names,
            show_default="the file's, or flexibo",
        ),
    ] = "flexibo",
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=2**63 - 1,
            help="The same seed draws the same designs. A file without one has it drawn when the study begins.",
            show_default="the file's, or 0 for a system",
        ),
    ] = 0,
    storage: Annotated[
        str,
        typer.Option(
            help="Where the study is kept; called again, it goes on. By default as the file says, or sqlite:///NAME.db.",
            envvar=VARIABLE,
            show_envvar=True,
            show_default=False,
        ),
    ] = "",
    name: Annotated[
        str,
        typer.Option(help="The name of the study; by default the file's, or the system's and what decides its values."),
    ] = "",
    only: Only = None,
    executor: ExecutorName = "inline",
    workers: Workers = None,
    address: Address = "",
    lease: Lease = "60s",
    idle: Idle = "",
    longest: Longest = "",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to save the picture; by default NAME.png, unless there is one that flexibo did not draw.",
            show_default=False,
        ),
    ] = None,
    json: Outcome = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the study of a file and what would be asked first; measure nothing.")
    ] = False,
) -> None:
    """Run the study that a file describes, or optimise a network of the paper: prediction error against energy.

    What is typed replaces what the file says. Ctrl-C stops, keeps what was measured and says how to go on. With --only,
    several machines share a study; one of a system is begun where energy is measured, for the options are that
    machine's.
    """
    if is_study_file(what):
        from flexibo.cli._run_file import run_file

        run_file(Path(what), _typed(context, what), dry=dry_run)
        return
    if dry_run:
        from flexibo.errors import InvalidValueError

        raise InvalidValueError(f"--dry-run is for study files, and {what!r} is none; leave it out.")
    if recorded:
        _check_replayed(context)
    else:
        check_is_system(what)
    from flexibo.cli import _build_system
    from flexibo.cli._budget import settle_budget, settle_stop
    from flexibo.cli._measure import Place, end, introduce, measure, report
    from flexibo.cli._outcome import resume_command
    from flexibo.cli._workers import leads_of
    from flexibo.systems.recorded import recordings

    allowed, signs, longest_seconds = seconds(budget), seconds(lease), seconds(longest) if longest else None
    stop = {"certified_error": share(certified_error)} if certified_error else {}
    place = Place(executor, workers, address, idle)  # what is wrong with it is said before a study is begun
    typed_picture = chosen_picture(out)
    chosen, is_budget_typed = tuple(names(only or [])), is_typed(context, "budget")
    if recorded:
        found = _build_system.recorded(what)
        study = _begun(found, storage, name, method, allowed, seed, signs, typed=is_budget_typed, stop=stop)
    elif set(chosen) == {"error_percent"}:
        given = _build_system.Given(
            what,
            data,
            models,
            dataset,
            "" if platform == "auto" else platform,
            limit,
            epochs,
            longest=longest_seconds,
            budget=allowed,
        )
        study, found = _joined(storage or f"sqlite:///{what}.db", name, signs, given)
        settle_stop(study, stop)
    else:
        from flexibo.systems.build import SystemRequest

        request = SystemRequest(
            what,
            data_folder(data, trains=not chosen or "error_percent" in chosen, recorded=bool(recordings(what))),
            platform=platform,
            dataset=dataset,
            limit=limit,
            epochs=epochs,
            models=models,
            meter=meter,
            estimate_watts=estimate,
            knobs=tuple(names(knobs or [])),
            seed=seed,
            objectives=chosen,
            longest_seconds=longest_seconds,
            budget_seconds=allowed,
        )
        found = _build_system.built(request, names(objectives or []))
        study = _begun(found, storage, name, method, allowed, seed, signs, typed=is_budget_typed, stop=stop)
    if is_budget_typed:
        settle_budget(study, allowed, quiet=json)
    url = storage or f"sqlite:///{found.system.name}.db"
    command = resume_command(url, name, {"--data": data, "--only": list(chosen), "--executor": executor})
    if not json:
        introduce(found.system)
    measure(study, found.system.functions, leads_of(study.history, chosen), place, quiet=json)
    if not json:
        _say_where(study, url, typed_picture or Picture(Path(f"{found.system.name}.png")))
    report(study, url, command, json=json)
    end(study)


def _typed(context: typer.Context, file: str) -> Typed:
    """What was typed beside a file; an option of systems is refused."""
    from flexibo.cli._run_file import Typed
    from flexibo.errors import InvalidValueError

    typed = {name for name in context.params if is_typed(context, name)}
    flags = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name in typed - {"what", "dry_run"}:
        if name not in Typed.__dataclass_fields__:
            raise InvalidValueError(f"{flags[name]} is for systems, and {file} is a study file; leave it out.")
    given = {name: context.params[name] for name in typed if name in Typed.__dataclass_fields__}
    only = tuple(names(given.pop("only", None) or []))
    storage = context.params["storage"]
    return Typed(**{**given, "only": only, "storage": storage, "is_storage_typed": "storage" in typed})


def _check_replayed(context: typer.Context) -> None:
    """Refuse what says how to measure: a recorded table answers as it is."""
    from flexibo.errors import InvalidValueError

    for parameter in context.command.params:
        measures = getattr(parameter, "rich_help_panel", None) == FOR_SYSTEMS and parameter.name != "recorded"
        if measures and is_typed(context, str(parameter.name)):
            raise InvalidValueError(
                f"{parameter.opts[0]} says how to measure, and --recorded measures nothing; leave one of them out."
            )


def _begun(
    found: Built,
    storage: str,
    name: str,
    method: str,
    budget: float,
    seed: int,
    lease: float,
    *,
    typed: bool,
    stop: object,
) -> Study:
    """The study of a system, begun now or gone on with; a budget that was typed is settled afterwards."""
    from flexibo.cli._budget import opening_budget
    from flexibo.study import Study

    system = found.system
    # Values that were made otherwise are another study, in the same file.
    own_name = f"{system.name} {system.identity}" if system.identity else system.name
    url, name = storage or f"sqlite:///{system.name}.db", name or own_name
    return Study(
        system.space,
        system.objectives,
        method=method,
        budget=opening_budget(url, name, budget) if typed else budget,
        seed=seed,
        storage=url,
        name=name,
        lease=lease,
        stop=stop,
        origin=found.origin,
    )


def _joined(url: str, name: str, lease: float, given: Given) -> tuple[Study, Built]:
    """A study that was begun where energy is measured, and what measures the error for it."""
    from flexibo.cli._build_system import built_again
    from flexibo.cli.worker import loaded

    study = loaded(url, name or _only_study(url, given.system), lease=lease)
    return study, built_again(study.history.origin, study.settings.to_dict(), given, ["error_percent"])


def _only_study(url: str, system: str) -> str:
    """The name of the only study of a system."""
    from flexibo.errors import InvalidValueError
    from flexibo.storage import open_storage, shown_url, stored_studies

    found = []
    for study in stored_studies(url):
        created = open_storage(url, study.name, create=False).read()[0]
        if created.get("origin", {}).get("system") == system:
            found.append(study.name)
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidValueError(
            f"{shown_url(url)} holds several studies of {system}; name one with --name: {', '.join(map(repr, found))}."
        )
    raise InvalidValueError(
        f"{shown_url(url)} holds no study of {system}; begin it where energy is measured, with flexibo run {system} "
        "--only energy_millijoules: the options of the deployment are that machine's."
    )


def _say_where(study: Study, place: str, picture: Picture) -> None:
    from shlex import quote

    from rich.console import Console

    from flexibo.storage import shown_url

    console, url = Console(), shown_url(place)
    console.print(
        f"The study is kept in {url}; flexibo resume --storage {quote(url)} goes on with it, with a larger --budget "
        "where it is spent.",
        highlight=False,
        markup=False,
    )
    draw_front(study, picture, console)
