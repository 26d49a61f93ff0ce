"""Hints on how a valid study file could cost less."""

from __future__ import annotations

import re

from flexibo.studyfile.command import Command
from flexibo.studyfile.file import StudyFile
from flexibo.studyfile.template import Template, variable


def dependence_hints(file: StudyFile) -> list[str]:
    """A sentence for each objective that seems to depend on fewer options than it declares."""
    shared = {objective.measured_with for objective in file.objectives}
    found = []
    for objective in file.objectives:
        measure = file.measures.get(objective.name)
        if objective.options is not None or objective.name in shared or not isinstance(measure, Command):
            continue
        used = _used(measure.template, file.space.names)
        if used and len(used) < len(file.space.names):
            found.append(
                f"{objective.name} uses {', '.join(f'{{{name}}}' for name in used)} only; if it does not read the "
                f"others from its environment, set options: [{', '.join(used)}] and it is measured less often."
            )
    return found


def _used(template: Template, options: tuple[str, ...]) -> list[str]:
    """The options that a command names, in their order; empty if it may read all, or has no placeholder."""
    if not template.options or "FLEXIBO_DESIGN" in template.text:
        return []
    words = set(re.findall(r"\w+", template.text))
    return [name for name in options if name in template.options or variable(name) in words]
