"""The example that ``flexibo init`` writes: a study file and the program that it tunes."""

from __future__ import annotations

from importlib.resources import files

STUDY, PROGRAM = "study.yaml", "compress.py"


def example_files() -> dict[str, str]:
    """The text of each file by its name, the program before the study that names it."""
    here = files(__name__)
    return {
        PROGRAM: (here / "compress.txt").read_text(encoding="utf-8"),
        STUDY: (here / "study.yaml").read_text(encoding="utf-8"),
    }
