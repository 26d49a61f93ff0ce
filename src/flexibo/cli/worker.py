"""``flexibo worker``: measures for a study that is stored, on a board, a GPU machine or beside another process."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo.cli._parse import names, seconds
from flexibo.cli._storage_options import StorageURL, StudyName, storage_url
from flexibo.cli._study_file import StudyFilePath, chosen_storage, is_typed, joined, note_change
from flexibo.cli._system_options import Data, Epochs, Estimate, Lease, Limit, Longest, Models, Only
from flexibo.cli._text import in_words

if TYPE_CHECKING:
    from flexibo.cli._build_system import Given
    from flexibo.executors import Measure
    from flexibo.study import Study

POLL_SECONDS = 1.0
"""How often to look for a study that does not exist yet."""


def worker(
    context: typer.Context,
    storage: StorageURL = "",
    name: StudyName = "",
    file: StudyFilePath = None,
    system: Annotated[
        str, typer.Option(help="Measure this system; by default the one that the study is of.", show_default=False)
    ] = "",
    functions: Annotated[
        str, typer.Option(help="MODULE:NAME of your functions by objective, instead of a system.", show_default=False)
    ] = "",
    only: Only = None,
    resources: Annotated[
        list[str] | None,
        typer.Option(help="What is here, as in jetson=1: objectives that need other resources are left to others."),
    ] = None,
    idle: Annotated[str, typer.Option(help="Give up after so long without work, or without the study.")] = "10m",
    data: Data = None,
    dataset: Annotated[str, typer.Option(help="What the network learns from; by default as the study says.")] = "",
    platform: Annotated[
        str, typer.Option(help="Where it runs; by default where the study reads energy, or for the error alone auto.")
    ] = "",
    limit: Limit = None,
    epochs: Epochs = None,
    models: Models = Path("models"),
    meter: Annotated[str, typer.Option(help="nvml, rapl or ina3221; by default as the study says.")] = "",
    estimate: Estimate = None,
    lease: Lease = "60s",
    longest: Longest = "",
) -> None:
    """Measure for a stored study until it is finished or there is nothing to do; many workers may share one study.

    Ctrl-C or SIGTERM stops it: what it was measuring is given back.
    """
    from flexibo.cli._build_system import Given
    from flexibo.cli._workers import leads_of, offered, parsed_resources
    from flexibo.errors import InvalidValueError

    chosen = [flag for flag, value in (("--system", system), ("--functions", functions), ("--file", file)) if value]
    if len(chosen) > 1:
        raise InvalidValueError(f"Both {' and '.join(chosen[:2])} are given; give one of them.")
    here, patience, signs = parsed_resources(resources or []), seconds(idle), seconds(lease)
    url, name = _place(storage, name, file, storage_typed=is_typed(context, "storage"))
    name = _awaited(url, name, patience)
    found = None
    if not (system or functions):
        typed_lease = signs if is_typed(context, "lease") else None
        found = joined(url, name, file, lease=typed_lease, storage_typed=True)
    study = loaded(url, name, lease=signs) if found is None else found.study
    if found is not None and (change := note_change(study, found.file)):
        say(change)
    mine, sentences = offered(study.history, leads_of(study.history, names(only or [])), here)
    if found is not None:
        by_hand = [name for name in mine if name in found.file.by_hand]
        mine = [name for name in mine if name not in by_hand]
        sentences += [f"{name} is measured by hand: flexibo ask --only {name}." for name in by_hand]
    for sentence in sentences:
        say(sentence)
    if not mine:
        raise InvalidValueError(
            f"There is nothing of study {study.name!r} to measure here; see --only and --resources."
        )
    may_take = seconds(longest) if longest else None
    given = Given(
        system, data, models, dataset, platform, limit, epochs, meter, estimate, longest=may_take, budget=study.budget
    )
    functions_here = None if found is None else found.file.measures
    work(study, _measures(study, functions, given, mine, functions_here), idle=patience)


def _place(storage: str, name: str, file: Path | None, *, storage_typed: bool) -> tuple[str, str]:
    """Where the study is kept and its name, which a file may say."""
    if file is None:
        return storage_url(storage), name
    from flexibo.studyfile import read_study_file

    found = read_study_file(file)
    return chosen_storage(found, storage, typed=storage_typed), name or found.name


def loaded(url: str, name: str | None, *, lease: float) -> Study:
    """The stored study, if everything that it needs to go on is stored."""
    from flexibo.errors import InvalidValueError
    from flexibo.storage import shown_url
    from flexibo.study import Study
    from flexibo.study.stored import stored_study
    from flexibo.transfer import not_stored

    found, name, settings = stored_study(url, name)
    if missing := not_stored(settings):
        raise InvalidValueError(
            f"Study {name!r} has a {' and a '.join(missing)} of its own, which only its program has; go on there, with "
            f"Study.load({shown_url(url)!r}, {name!r}, ...).run(...)."
        )
    return Study.load(found, name, lease=lease)


def work(study: Study, measures: Mapping[str, Measure], *, idle: float | None) -> None:
    """Measure until the study is finished or idle; a signal ends the process after everything was given back."""
    from flexibo.cli._announce import AnnouncingExecutor
    from flexibo.cli._signals import StopRequest, stop_requests
    from flexibo.executors import InlineExecutor

    executor = AnnouncingExecutor(InlineExecutor(), say)
    so_far = len(study.history.measurements)
    say(f"Measuring {', '.join(measures)} for study {study.name!r}, which has {so_far} measurements.")
    stopped = 0
    try:
        with stop_requests(), _failures_said_once():
            study.run(measures, executor=executor, progress=False, idle=idle)
    except StopRequest as request:
        stopped = request.number
    finally:
        study.close()
    counts = f"{executor.measured} measured, {executor.failed} failed"
    if stopped:
        held = f"gave back evaluation {', '.join(map(str, executor.held))}" if executor.held else "nothing was held"
        say(f"Stopped by {_signal(stopped)}: {held}; {counts}.")
        raise typer.Exit(128 + stopped)
    say(f"{study.stopped} Here: {counts}.")


def say(text: str) -> None:
    """Print one line with the time of day, at once."""
    typer.echo(f"{time.strftime('%H:%M:%S')} {in_words(text)}")


def _measures(
    study: Study, functions: str, given: Given, mine: Collection[str], of_file: Mapping[str, Measure] | None
) -> dict[str, Measure]:
    """The functions of these objectives."""
    from flexibo.cli._build_system import built_again
    from flexibo.cli._workers import functions_of
    from flexibo.errors import InvalidValueError

    if of_file is not None:
        found = of_file
    elif functions:
        found = functions_of(functions)
    elif given.system or study.history.origin.get("system"):
        whole = set(mine) == {purchase.objective for purchase in study.history.purchases}
        settings = study.settings.to_dict()
        found = built_again(study.history.origin, settings, given, () if whole else mine).system.functions
    else:
        raise InvalidValueError(
            f"Study {study.name!r} was made by a program, which has its functions; name them with --functions "
            "MODULE:NAME, or name a --system or a --file."
        )
    for objective in mine:
        if objective not in found:
            raise InvalidValueError(
                f"There is no function of {objective!r} among {', '.join(map(str, found)) or 'none'}; give one, or say "
                "with --only what is measured here."
            )
    return {objective: found[objective] for objective in mine}


def _awaited(url: str, name: str, patience: float) -> str:
    """The name of the study, which may have to be waited for."""
    from flexibo.study.stored import stored_study

    until, has_said = time.monotonic() + patience, False
    while not is_there(url, name) and time.monotonic() < until:
        if not has_said:
            say(f"Waiting for the study{f' {name!r}' if name else ''} to be begun.")
        has_said = True
        time.sleep(min(POLL_SECONDS, patience))
    return stored_study(url, name or None)[1]


def is_there(url: str, name: str) -> bool:
    """Whether the study was begun; a database that cannot be used is an error rather than a reason to wait."""
    from flexibo.storage import stored_studies

    scheme, _, path = url.partition(":///")
    if scheme.startswith("sqlite") and not Path(path).expanduser().exists():
        return False
    found = [study.name for study in stored_studies(url)]
    return name in found if name else bool(found)


@contextmanager
def _failures_said_once() -> Iterator[None]:
    """A context without the log's lines on failures: each evaluation has a line already."""
    log = logging.getLogger("flexibo.study.failures")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _signal(number: int) -> str:
    import signal

    return "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
