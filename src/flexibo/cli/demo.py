"""``flexibo demo``: tunes a small network that is trained on the spot, and keeps the study."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexibo.cli._completion import method_names
from flexibo.cli._options import Seed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flexibo.study import Study


def demo(
    budget: Annotated[float, typer.Option(help="Seconds of measurement.")] = 60.0,
    seed: Seed = 0,
    method: Annotated[
        str, typer.Option(help="One of the names that 'flexibo methods' lists.", autocompletion=method_names)
    ] = "flexibo",
    out: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("flexibo-demo.png"),
) -> None:
    """Tune a small neural network on handwritten digits: prediction error against the cost of inference.

    The study is kept in demo.db in this folder; if there is such a file, in demo-2.db, and so on.
    """
    from flexibo.cli._advice import StudyPlace
    from flexibo.cli._build_system import demo_system
    from flexibo.cli._measure import is_interrupted
    from flexibo.cli._outcome import exit_after, save_picture, show
    from flexibo.cli._run_system import introduce_system
    from flexibo.cli._signals import terminable
    from flexibo.cli._text import printable_console
    from flexibo.study import Study

    built, database = demo_system(), new_database()
    system = built.system
    url = f"sqlite:///{database}"
    study = Study(
        system.space,
        system.objectives,
        method=method,
        budget=budget,
        seed=seed,
        storage=url,
        name="demo",
        origin=built.origin,
    )
    introduce_system(system)
    with study, terminable():
        study.run(system.functions)
    with printable_console() as console:
        show(study, console)
        if study.front() and not is_interrupted(study):
            save_picture(study, out, console)
    for line in _what_next(study, database):
        typer.echo(line)
    exit_after(study, StudyPlace(f"sqlite:///{database}"), ran=True)


def new_database(folder: Path = Path()) -> Path:
    """The first of demo.db, demo-2.db, ... that does not exist."""
    path, number = folder / "demo.db", 1
    while os.path.lexists(path):
        number += 1
        path = folder / f"demo-{number}.db"
    return path


def _what_next(study: Study, database: Path) -> Iterator[str]:
    """What can be done with the study that is kept."""
    from flexibo.cli._outcome import larger_budget
    from flexibo.cli._storage import STORAGE_VARIABLE

    others = [path for path in Path().glob("*.db") if path != database]
    where = f" --storage sqlite:///{database}" if others or os.environ.get(STORAGE_VARIABLE) else ""
    yield f"The study is kept in {database}. What to try next:"
    commands = {
        f"flexibo front{where}": "the designs again, with what is promising and not measured yet",
        f"flexibo confirm{where} --readings 3 --budget 20s": "measure promising designs, and noisy values three times",
        f"flexibo resume{where} --budget {larger_budget(study.budget)}": "continue the search",
        f"flexibo dashboard sqlite:///{database}": "look at it in a browser",
    }
    width = max(map(len, commands))
    for command, what in commands.items():
        yield f"  {command.ljust(width)}   {what}"
