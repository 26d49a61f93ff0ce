"""``flexibo run``: optimise one of the paper's systems on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo.cli.showing import save_picture
from flexibo.cli.storage_options import VARIABLE
from flexibo.cli.system_options import (
    Address,
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
    PlatformName,
    Seed,
    System,
    Workers,
    data_folder,
)
from flexibo.cli.words import names, seconds

if TYPE_CHECKING:
    from flexibo.cli.building import Built, Given
    from flexibo.study import Study


def run(
    system: System,
    budget: Annotated[str, typer.Option(help="Time for measurements, as in 90s, 30m, 2h or 1d.")] = "30m",
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
        typer.Option(help="Settings of the machine to tune too ('flexibo knobs list'), or all; none by default."),
    ] = None,
    objectives: Annotated[
        list[str] | None, typer.Option("--and", help="Objectives beside error and energy: latency_ms, power_watts.")
    ] = None,
    recorded: Annotated[
        bool,
        typer.Option("--recorded", help="Answer from the table recorded on real hardware: no GPU needed."),
    ] = False,
    method: Annotated[str, typer.Option(help="One of the names that 'flexibo methods' lists.")] = "flexibo",
    seed: Seed = 0,
    storage: Annotated[
        str,
        typer.Option(
            help="Where the study is kept; called again, it goes on. By default sqlite:///SYSTEM.db.",
            envvar=VARIABLE,
            show_envvar=True,
            show_default=False,
        ),
    ] = "",
    name: Annotated[
        str, typer.Option(help="The name of the study; by default the system's, and what decides its values.")
    ] = "",
    only: Only = None,
    executor: ExecutorName = "inline",
    workers: Workers = None,
    address: Address = "",
    lease: Lease = "60s",
    idle: Idle = "",
    longest: Longest = "",
    out: Annotated[Path | None, typer.Option(help="Where to save the picture; by default SYSTEM.png.")] = None,
) -> None:
    """Optimise a network of the paper, trained and measured on this machine: prediction error against energy.

    With --only, several machines share a study: the one that measures energy begins it, for the options are its own.
    """
    from flexibo.cli import building
    from flexibo.cli.running import Place, end, introduce, measure
    from flexibo.cli.working import leads_of

    allowed, signs, longest_seconds = seconds(budget), seconds(lease), seconds(longest) if longest else None
    place = Place(executor, workers, address, idle)  # what is wrong with it is said before a study is begun
    picture = _checked_picture(out or Path(f"{system}.png"))
    chosen = tuple(names(only or []))
    if recorded:
        found = building.recorded(system)
        study = _begun(found, storage, name, method, allowed, seed, signs)
    elif set(chosen) == {"error_percent"}:
        given = building.Given(
            system,
            data,
            models,
            dataset,
            "" if platform == "auto" else platform,
            limit,
            epochs,
            longest=longest_seconds,
            budget=allowed,
        )
        study, found = _joined(storage or f"sqlite:///{system}.db", name, signs, given)
    else:
        from flexibo.systems.assemble import Wishes

        wishes = Wishes(
            system,
            data_folder(data, trains=not chosen or "error_percent" in chosen),
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
        found = building.built(wishes, names(objectives or []))
        study = _begun(found, storage, name, method, allowed, seed, signs)
    introduce(found.system)
    measure(study, found.system, leads_of(study.history, chosen), place)
    _say_where(study, storage or f"sqlite:///{found.system.name}.db", picture)
    end(study)


def _checked_picture(picture: Path) -> Path:
    from flexibo.errors import InvalidValueError

    if picture.suffix not in (".png", ".pdf", ".svg") or picture.is_dir() or not picture.absolute().parent.is_dir():
        raise InvalidValueError(f"--out is {picture}; give a .png, .pdf or .svg file in a folder that exists.")
    return picture


def _begun(found: Built, storage: str, name: str, method: str, budget: float, seed: int, lease: float) -> Study:
    """The study of a system, begun now or gone on with."""
    from flexibo.study import Study

    system = found.system
    # Values that were made otherwise are another study, in the same file.
    own_name = f"{system.name} {system.identity}" if system.identity else system.name
    return Study(
        system.space,
        system.objectives,
        method=method,
        budget=budget,
        seed=seed,
        storage=storage or f"sqlite:///{system.name}.db",
        name=name or own_name,
        lease=lease,
        origin=found.origin,
    )


def _joined(url: str, name: str, lease: float, given: Given) -> tuple[Study, Built]:
    """A study that was begun where energy is measured, and what measures the error for it."""
    from flexibo.cli.building import built_again
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


def _say_where(study: Study, place: str, picture: Path) -> None:
    from rich.console import Console

    from flexibo.storage import shown_url

    console = Console()
    console.print(
        f"The study is kept in {shown_url(place)}; flexibo resume goes on with it, with a larger --budget where it is "
        "spent.",
        highlight=False,
        markup=False,
    )
    if study.front():
        save_picture(study, picture, console)
