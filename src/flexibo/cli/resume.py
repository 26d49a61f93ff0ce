"""``flexibo resume``: go on with a stored study of a system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flexibo.cli.storage_options import StorageURL, StudyName, storage_url
from flexibo.cli.system_options import Address, Data, ExecutorName, Idle, Lease, Longest, Models, Only, Workers
from flexibo.cli.words import names, seconds


def resume(
    storage: StorageURL = "",
    name: StudyName = "",
    budget: Annotated[
        str, typer.Option(help="Time for measurements in all, as in 2h; by default what is left.", show_default=False)
    ] = "",
    data: Data = None,
    models: Models = Path("models"),
    only: Only = None,
    executor: ExecutorName = "inline",
    workers: Workers = None,
    address: Address = "",
    lease: Lease = "60s",
    idle: Idle = "",
    longest: Longest = "",
) -> None:
    """Go on with a study that 'flexibo run' began: the same system, what was pending first."""
    from flexibo.cli.building import Given, built_again
    from flexibo.cli.running import Place, end, introduce, measure
    from flexibo.cli.worker import loaded
    from flexibo.cli.working import leads_of
    from flexibo.errors import InvalidValueError
    from flexibo.storage import shown_url

    url, allowed = storage_url(storage), seconds(budget) if budget else None
    place = Place(executor, workers, address, idle)
    study = loaded(url, name or None, lease=seconds(lease))
    origin = study.history.origin
    if not origin.get("system"):
        raise InvalidValueError(
            f"Study {study.name!r} was made by a program, which has its functions; go on there, with "
            f"Study.load({shown_url(url)!r}, {study.name!r}).run({{...}}), or with flexibo worker "
            "--functions MODULE:NAME."
        )
    leads = leads_of(study.history, names(only or []))
    may_take = seconds(longest) if longest else None
    given = Given(data=data, models=models, longest=may_take, budget=allowed or study.budget)
    found = built_again(origin, study.settings.to_dict(), given, leads if only else ())
    if allowed is not None:
        study.budget = allowed
    introduce(found.system)
    measure(study, found.system, leads, place)
    end(study)
