"""``flexibo note``: a note of the user's, stored with a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flexibo.cli._options import JSONFlag, StorageURL, StudyName
from flexibo.cli._text import print_json, squeezed
from flexibo.cli.verify import place_url
from flexibo.errors import InvalidValueError


def note(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[STUDY] TEXT",
            help="STUDY is a file, or a URL as for --storage. TEXT is one argument: quote it.",
            show_default=False,
        ),
    ],
    storage: StorageURL = "",
    name: StudyName = "",
    json: JSONFlag = False,
) -> None:
    """Store a note with a study, for people: 'flexibo status' and the dashboard show it with its time.

    It changes no question and no result, and can be written while others measure.
    """
    from flexibo.history.events import LONGEST_TEXT
    from flexibo.study.notes import add_note

    place, text = _split(words)
    study, noted = add_note(place_url(place, storage), name or None, text)
    if json:
        print_json({"study": study, "note": noted.text})
        return
    cut = f" It was cut at {LONGEST_TEXT:,} characters." if noted.text != text else ""
    typer.echo(squeezed(f"The note is stored with study {study!r}.{cut}"))


def _split(words: list[str]) -> tuple[str, str]:
    """The study, empty if none was named, and the text; a text without quotes is refused."""
    *places, text = words
    if not places:
        return "", text
    if len(places) > 1 or not ("://" in places[0] or Path(places[0]).expanduser().exists()):
        raise InvalidValueError(
            f"The text is {len(words)} arguments, and {places[0]!r} is no file of studies; give the text in quotes, as "
            "in flexibo note 'the fan was replaced'."
        )
    return places[0], text
