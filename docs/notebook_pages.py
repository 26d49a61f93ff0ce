"""Notebooks as pages of the documentation: their text, their code and the outputs that are stored with them."""

from __future__ import annotations

import json
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx

FENCE = "`" * 5  # longer than any fence in a notebook


class NotebookParser(MystParser):
    """Reads a notebook as the Markdown that it stands for."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Parse a notebook into a document."""
        super().parse(markdown(json.loads(inputstring)), document)


def markdown(notebook: dict[str, Any]) -> str:
    """A notebook as Markdown, with its outputs.

    >>> markdown({"cells": [{"cell_type": "markdown", "source": ["# A ", "page"]}]})
    '# A page'
    """
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts += [_fenced("python", source), *map(_output, cell["outputs"])]
    return "\n\n".join(filter(None, parts))


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "text/html" in data:
        return _fenced(
            "{raw} html", f'<div style="overflow-x:auto;margin:0 0 1em 1em">{"".join(data["text/html"])}</div>'
        )
    return _fenced("text", "".join(data["text/plain"]))


def _fenced(language: str, text: str) -> str:
    return f"{FENCE}{language}\n{text}\n{FENCE}" if text else ""


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx read notebooks."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
