"""Pages of interactive charts in one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flexibo._internal.text import printable_line
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.web.assets import PAGE_SCRIPTS, PAGE_STYLES, SCRIPTS, STYLES, asset
from flexibo.web.charts import CHARTS
from flexibo.web.document import document, embedded_json, write_document

_FIGURE = """<figure>
<figcaption><h2>{title}</h2><p>{caption}</p></figcaption>
<div class="chart" data-picture="{name}" data-view="{view}"></div>
</figure>"""


def page(title: str, charts: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """One HTML file with interactive charts.

    Args:
        title: The heading, and the title of the window.
        charts: Names of charts (see `CHARTS`), each with the view it draws: a view of `flexibo.views` as a dictionary.
    """
    if not charts:
        raise InvalidValueError("The list of charts is empty; a page needs at least one.")
    texts = [_checked(name, view) for name, view in charts]
    views = list(dict.fromkeys(texts))
    figures = [
        _FIGURE.format(title=CHARTS[name].title, caption=CHARTS[name].caption, name=name, view=views.index(text))
        for (name, _), text in zip(charts, texts, strict=True)
    ]
    return document(
        title,
        "\n".join(figures),
        data=f"[{','.join(views)}]",
        styles=[asset(name) for name in (*STYLES, *PAGE_STYLES)],
        scripts=[asset(name) for name in (*SCRIPTS, *PAGE_SCRIPTS)],
    )


def write_page(path: str | Path, title: str, charts: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Write a page to a file. An existing file is replaced by the complete page or left unchanged."""
    write_document(path, page(title, charts))


def _checked(name: str, view: Mapping[str, Any]) -> str:
    """A view as JSON that may stand in a page."""
    if name not in CHARTS:
        raise unknown_name("chart", name, CHARTS)
    kind, needed = view.get("kind"), CHARTS[name].kind
    if kind != needed:
        raise InvalidValueError(f"Chart {name!r} is given a view of kind {kind!r}; it draws views of kind {needed!r}.")
    try:
        return embedded_json(view)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(
            f"The view of chart {name!r} cannot be written as JSON: {printable_line(error)}."
        ) from None
