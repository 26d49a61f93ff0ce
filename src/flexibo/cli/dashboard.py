"""``flexibo dashboard``: stored studies, live in a browser."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Annotated

import typer

from flexibo.cli._storage_options import VARIABLE, storage_url
from flexibo.cli._text import in_words

TOKEN_VARIABLE = "FLEXIBO_DASHBOARD_TOKEN"
PORT = 8765
NICENESS = 5
"""How far the dashboard steps back behind what is measured on the same machine."""


def dashboard(
    storages: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STORAGE",
            help="Where studies are kept: sqlite:///FILE, the FILE itself, or postgresql://USER@HOST/DATABASE. "
            f"By default {VARIABLE}, or the only .db file of this folder.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen at; one that others can reach needs a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port to listen at; 0 takes any that is free.")] = PORT,
    token: Annotated[
        str,
        typer.Option(
            help="What whoever looks must show. One is made where it is needed and none is given.",
            envvar=TOKEN_VARIABLE,
            show_envvar=True,
            show_default=False,
        ),
    ] = "",
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = False,
) -> None:
    """Show stored studies live in a browser, until Ctrl-C; nothing is changed, also while others write."""
    from flexibo.errors import missing_extra

    try:
        from flexibo.dashboard.server import bound_address, chosen_token, serve
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in ("starlette", "uvicorn", "h11", "anyio"):
            raise missing_extra("starlette and uvicorn", "dashboard") from None
        raise
    urls = _urls(storages or [])
    for url in urls:
        _look(url)
    address = bound_address(host, port)
    key = chosen_token(token, needed=not address.is_loopback)
    page = address.url(key)
    with suppress(OSError):
        os.nice(NICENESS)
    typer.echo(f"The dashboard is at {page}")
    typer.echo("Ctrl-C ends it.")
    serve(urls, address, key, ready=lambda: _open(page) if open_page else None)
    typer.echo("\nThe dashboard has ended.")


def _urls(given: list[str]) -> list[str]:
    """The storages; a file may be named as it is."""
    urls = given or [storage_url(os.environ.get(VARIABLE, ""))]
    return list(dict.fromkeys(url if "://" in url or not os.path.isfile(url) else f"sqlite:///{url}" for url in urls))


def _look(url: str) -> None:
    """Refuse what is no storage, and say what is wrong with one that cannot be read yet: it may come."""
    from flexibo.storage import StorageError, shown_url, stored_studies

    try:
        number = len(stored_studies(url, patience=3.0))
    except StorageError as error:
        typer.echo(f"flexibo: {in_words(str(error))} The dashboard shows it when it is there.", err=True)
    else:
        typer.echo(f"{in_words(shown_url(url))}: {number} {'study' if number == 1 else 'studies'}")


def _open(address: str) -> None:
    """Open a browser; a machine without one is no error."""
    import webbrowser

    with suppress(Exception):
        webbrowser.open(address)
