"""``flexibo resume``: go on with a stored study of a study file or of a system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo._internal.text import printable
from flexibo.cli._parse import names, seconds, share
from flexibo.cli._storage_options import StorageURL, StudyName, storage_url
from flexibo.cli._study_file import StudyFilePath, is_typed
from flexibo.cli._system_options import (
    Address,
    CertifiedError,
    Data,
    ExecutorName,
    Idle,
    Lease,
    Longest,
    Models,
    Only,
    Outcome,
    Workers,
    filled,
)

if TYPE_CHECKING:
    from flexibo.cli._build_system import Given
    from flexibo.cli._measure import Place
    from flexibo.cli._run_file import Typed
    from flexibo.cli._study_file import Joined


def resume(
    context: typer.Context,
    storage: StorageURL = "",
    name: StudyName = "",
    file: StudyFilePath = None,
    budget: Annotated[
        str,
        typer.Option(
            help="Time for measurements in all, as in 2h; by default what is left.", show_default=False, callback=filled
        ),
    ] = "",
    certified_error: CertifiedError = "",
    data: Data = None,
    models: Models = Path("models"),
    only: Only = None,
    executor: ExecutorName = "inline",
    workers: Workers = None,
    address: Address = "",
    lease: Lease = "60s",
    idle: Idle = "",
    longest: Longest = "",
    json: Outcome = False,
) -> None:
    """Go on with a study that 'flexibo run' began: the same file or system, what was pending first.

    Functions and commands come from the study file that you name, or from the one that the study was begun from if it
    has not changed; never from the database.
    """
    from flexibo.cli._build_system import Given
    from flexibo.cli._measure import Place
    from flexibo.cli._run_file import Typed
    from flexibo.cli._study_file import joined

    allowed, chosen = seconds(budget) if budget else None, tuple(names(only or []))
    stop = {"certified_error": share(certified_error)} if certified_error else {}
    place = Place(executor, workers, address, idle)
    typed_lease = seconds(lease) if is_typed(context, "lease") else None
    found = joined(storage, name, file, lease=typed_lease, storage_typed=is_typed(context, "storage"))
    if found is not None:
        typed_executor = executor if is_typed(context, "executor") else ""
        given = Typed(
            budget=budget,
            certified_error=certified_error,
            only=chosen,
            executor=typed_executor,
            workers=workers,
            address=address,
            idle=idle,
            json=json,
        )
        _resume_file(found, given, file, allowed, stop)
        return
    given_here = Given(data=data, models=models, longest=seconds(longest) if longest else None, budget=allowed)
    _resume_system(storage_url(storage), name, given_here, chosen, place, stop, lease=seconds(lease), json=json)


def _resume_file(
    found: Joined, given: Typed, file: Path | None, allowed: float | None, stop: Mapping[str, float]
) -> None:
    from flexibo.cli._budget import settle_budget, settle_stop
    from flexibo.cli._measure import end
    from flexibo.cli._outcome import larger_budget, resume_command
    from flexibo.cli._picture import Picture, picture_beside
    from flexibo.cli._run_file import finish, placed
    from flexibo.cli._study_file import note_change

    if allowed is not None:
        settle_budget(found.study, allowed, quiet=given.json)
    settle_stop(found.study, stop)
    if (change := note_change(found.study, found.file)) and not given.json:
        typer.echo(printable(change))
    again = {key: value for key, value in given.options(budget="").items() if value} | {"--file": file}
    command = resume_command(found.url, found.study.name, again)
    larger = resume_command(found.url, found.study.name, {**again, "--budget": larger_budget(found.study.budget)})
    place, picture = placed(found.file, given), Picture(picture_beside(found.file, found.study.name))
    finish(found.study, found.file, given.only, place, found.url, (command, larger), json=given.json, picture=picture)
    end(found.study)


def _resume_system(
    url: str,
    name: str,
    given: Given,
    only: tuple[str, ...],
    place: Place,
    stop: Mapping[str, float],
    *,
    lease: float,
    json: bool,
) -> None:
    from dataclasses import replace

    from flexibo.cli._budget import settle_budget, settle_stop
    from flexibo.cli._build_system import built_again
    from flexibo.cli._measure import end, introduce, measure, report
    from flexibo.cli._outcome import resume_command
    from flexibo.cli._picture import Picture, draw_front
    from flexibo.cli._text import harmless_console
    from flexibo.cli._workers import leads_of
    from flexibo.cli.worker import loaded
    from flexibo.errors import InvalidValueError
    from flexibo.storage import shown_url

    study = loaded(url, name or None, lease=lease)
    origin = study.history.origin
    if not origin.get("system"):
        raise InvalidValueError(
            f"Study {study.name!r} was made by a program, which has its functions; go on there, with "
            f"Study.load({shown_url(url)!r}, {study.name!r}).run({{...}}), or with flexibo worker "
            "--functions MODULE:NAME."
        )
    leads = leads_of(study.history, only)
    wanted = replace(given, budget=given.budget or study.budget)
    found = built_again(origin, study.settings.to_dict(), wanted, leads if only else ())
    if given.budget is not None:
        settle_budget(study, given.budget, quiet=json)
    settle_stop(study, stop)
    if not json:
        introduce(found.system)
    measure(study, found.system.functions, leads, place, quiet=json)
    if not json:
        with harmless_console() as console:
            draw_front(study, Picture(Path(f"{found.system.name}.png")), console)
    report(study, url, resume_command(url, name, {"--data": given.data, "--only": only}), json=json)
    end(study)
