"""``flexibo run study.yaml``: a study from a file, run, gone on with, or only looked at."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from flexibo._internal.text import printable, printable_line
from flexibo.cli._manual import not_waiting, sentences_by_hand, waits_for_hands
from flexibo.cli._outcome import facts, larger_budget, sentences, typed
from flexibo.cli._parse import names, seconds, share

if TYPE_CHECKING:
    from flexibo.cli._measure import Place
    from flexibo.cli._picture import Picture
    from flexibo.study import Study
    from flexibo.studyfile import StudyFile


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed beside the file; what is empty or None comes from the file.

    Attributes:
        budget: Time for measurements.
        certified_error: Stop when the front surely misses at most this share of the best hypervolume.
        method: The method.
        seed: The seed.
        storage: Where the study is kept.
        is_storage_typed: Whether the storage was typed, rather than found in the environment.
        name: The name of the study.
        only: The objectives that are measured here.
        executor: Where evaluations are measured.
        workers: How many at a time.
        address: Where a cluster is.
        lease: How long a sign of life lasts.
        idle: Stop after so long without anything to do.
        out: Where the picture is saved.
        json: Print JSON.
    """

    budget: str = ""
    certified_error: str = ""
    method: str = ""
    seed: int | None = None
    storage: str = ""
    is_storage_typed: bool = False
    name: str = ""
    only: tuple[str, ...] = ()
    executor: str = ""
    workers: int | None = None
    address: str = ""
    lease: str = ""
    idle: str = ""
    out: Path | None = None
    json: bool = False

    def settings(self, stop: Mapping[str, float] | None = None) -> dict[str, Any]:
        """The arguments of a study that were typed.

        Args:
            stop: The stop rules that the file has.
        """
        found = {
            "budget": seconds(self.budget) if self.budget else None,
            "method": self.method or None,
            "seed": self.seed,
            "name": self.name or None,
            "lease": seconds(self.lease) if self.lease else None,
            "stop": {**(stop or {}), "certified_error": share(self.certified_error)} if self.certified_error else None,
        }
        return {key: value for key, value in found.items() if value is not None}

    def options(self, *, budget: str) -> dict[str, object]:
        """The options that must be typed again to go on."""
        from flexibo.storage import shown_url

        storage = self.storage if self.is_storage_typed else ""
        return {
            "--budget": budget,
            "--certified-error": self.certified_error,
            "--method": self.method,
            "--seed": None if self.seed is None else str(self.seed),
            "--storage": shown_url(storage) if storage else "",
            "--name": self.name,
            "--only": list(self.only),
            "--executor": self.executor,
            "--workers": self.workers,
            "--address": self.address,
            "--idle": self.idle,
        }


def run_file(path: Path, given: Typed, *, dry: bool) -> None:
    """Run the study of a file, or with `dry` only show what would be run."""
    from flexibo.cli._budget import opening_budget, settle_budget
    from flexibo.cli._measure import end
    from flexibo.cli._picture import Picture, chosen_picture, picture_beside
    from flexibo.cli._study_file import chosen_storage, note_change
    from flexibo.studyfile import read_study_file

    file = read_study_file(path)
    url = chosen_storage(file, given.storage, typed=given.is_storage_typed)
    place, settings = placed(file, given), given.settings(file.settings.get("stop"))
    if dry:
        from flexibo.cli._dry_run import show_plan

        show_plan(file, url, settings, place, json=given.json)
        return
    picture = chosen_picture(given.out) or Picture(picture_beside(file, given.name or file.name))
    if allowed := settings.get("budget"):
        settings["budget"] = opening_budget(url, given.name or file.name, allowed)
    study = _opened(file, {**settings, "storage": url})
    if allowed:
        settle_budget(study, allowed, quiet=given.json)
    if (change := note_change(study, file)) and not given.json:
        typer.echo(printable(change))
    command = typed(["flexibo", "run", str(path)], given.options(budget=given.budget))
    larger = typed(["flexibo", "run", str(path)], given.options(budget=larger_budget(study.budget)))
    finish(study, file, given.only, place, url, (command, larger), json=given.json, picture=picture)
    end(study)


def _opened(file: StudyFile, settings: Mapping[str, Any]) -> Study:
    """The study of a file; if the stored study has other settings, the error advises in terms of files."""
    from flexibo.errors import SettingsDifferError

    try:
        return file.study(**settings)
    except SettingsDifferError as error:
        advice = f"Restore the settings in {file.path.name}, or begin another study with --name or the key name."
        raise SettingsDifferError(error.difference, advice) from None


def placed(file: StudyFile, given: Typed) -> Place:
    """Where evaluations are measured: as typed, else as the file says, as far as the executor takes it."""
    from flexibo.cli._measure import Place
    from flexibo.executors import EXECUTORS

    mine = file.executor
    name = given.executor or mine.name
    takes = EXECUTORS[name].takes if name in EXECUTORS else ()
    return Place(
        name,
        given.workers or (mine.workers if "n" in takes else None),
        given.address or (mine.address if "address" in takes else ""),
        given.idle,
        slots=dict(mine.slots) if "slots" in takes else {},
        resources=dict(mine.resources) if "resources" in takes else {},
        patience=mine.patience if "patience" in takes else None,
    )


def finish(
    study: Study,
    file: StudyFile,
    only: Collection[str],
    place: Place,
    url: str,
    commands: tuple[str, str],
    *,
    json: bool,
    picture: Picture,
) -> None:
    """Measure until there is nothing more to ask, and say what came of it.

    Args:
        study: The study.
        file: The file with its functions and commands.
        only: The objectives that are measured here; empty for all.
        place: Where.
        url: Where the study is kept.
        commands: What goes on with the study, and what does so with a larger budget.
        json: Print one JSON object and nothing else.
        picture: Where the front is drawn.
    """
    from flexibo.cli._picture import draw_front
    from flexibo.cli._text import harmless_console

    if not json:
        _introduce(study, file)
    before = _attempts(study)
    here = _measure_here(study, file, only, place, quiet=json)
    if json:
        from json import dumps

        typer.echo(dumps({**facts(study, url, commands[0]), "by_hand": list(file.by_hand)}, indent=2))
        return
    with harmless_console() as console:
        draw_front(study, picture, console)
    if file.by_hand and waits_for_hands(study):
        found = sentences_by_hand(study, url, file.by_hand, commands[0] if here else "")
    else:
        found = sentences(study, url, *commands, measured=_attempts(study) - before)
    for sentence in found:
        typer.echo(printable(sentence))


def _measure_here(study: Study, file: StudyFile, only: Collection[str], place: Place, *, quiet: bool) -> bool:
    """Measure what the file has functions and commands for; whether there is any of it."""
    from flexibo.cli._measure import measure
    from flexibo.cli._workers import leads_of

    leads = [name for name in leads_of(study.history, names(list(only))) if name in file.measures]
    if not leads:
        study.close()
        return False
    if file.by_hand and len(leads) == len(file.measures):
        place = not_waiting(place)
    measure(study, file.measures, leads, place, by_hand=file.by_hand, quiet=quiet)
    return True


def _attempts(study: Study) -> int:
    """How many evaluations were answered or failed, by whomever."""
    from flexibo.history.events import Failed, Told

    return sum(isinstance(event, Told | Failed) for event in study.events)


def _introduce(study: Study, file: StudyFile) -> None:
    """Say what is run, and how far it is; before the first measurement, also how it could cost less."""
    from flexibo.cli._parse import size
    from flexibo.studyfile.hints import dependence_hints

    count, done = len(study.space.names), len(study.history.measurements)
    limit = "without a budget" if study.budget is None else f"budget {study.budget:g} s"
    lines = [
        f"{study.name} ({file.path.name}): {count} option{'s' * (count != 1)}, {size(study.space.size)} designs; "
        f"objectives {', '.join(study.history.names)}; {limit}."
    ]
    if not done:
        lines += [f"Advice: {sentence}" for sentence in dependence_hints(file)]
    else:
        lines.append(f"Going on after {done} measurement{'s' * (done != 1)}, with {study.spent:.4g} s spent.")
    for line in lines:
        typer.echo(printable_line(line))
