"""What ``flexibo init`` writes and prints: a study file and the program that it tunes, and what every key means."""

from __future__ import annotations

import re
from importlib.resources import files

STUDY, PROGRAM = "study.yaml", "compress.py"
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")


def example_files() -> dict[str, str]:
    """The text of each file by its name, the program before the study that names it."""
    here = files(__name__)
    return {
        PROGRAM: (here / "compress.txt").read_text(encoding="utf-8"),
        STUDY: (here / "study.yaml").read_text(encoding="utf-8"),
    }


def reference_page() -> str:
    """The page on study files, with the texts of its links in place of the links."""
    page = (files(__name__) / "reference.txt").read_text(encoding="utf-8")
    return LINK.sub(r"\1", page)
