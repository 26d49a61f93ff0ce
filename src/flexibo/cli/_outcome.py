"""What is said at the end of a run: how to go on, and the whole as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexibo._internal.text import printable_line

if TYPE_CHECKING:
    from flexibo.study import Study


def typed(words: Sequence[str], options: Mapping[str, object]) -> str:
    """A command as it can be typed again; what is None, False or empty is left out, a list is repeated.

    >>> typed(["flexibo", "run", "my study.yaml"], {"--only": ["a", "b"], "--json": True, "--name": ""})
    "flexibo run 'my study.yaml' --only a --only b --json"
    """
    found = list(words)
    for option, value in options.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is True:
                found.append(option)
            elif one not in (None, False, ""):
                found += [option, str(one)]
    return shlex.join(found)


def resume_command(url: str, name: str, options: Mapping[str, object]) -> str:
    """The command that goes on with a stored study; a URL with a secret is left to the environment."""
    from flexibo.cli._storage_options import VARIABLE
    from flexibo.storage import shown_url

    has_secret = shown_url(url) != url
    command = typed(["flexibo", "resume"], {"--storage": None if has_secret else near(url), "--name": name, **options})
    return f"{command} (with {VARIABLE} set to the storage)" if has_secret else command


def near(url: str) -> str:
    """A storage URL for people: without secrets, and relative to the working folder where it is in there."""
    from flexibo.storage import shown_url

    scheme, sign, path = url.partition(":///")
    here = f"{Path.cwd()}/"
    if scheme.startswith("sqlite") and sign and path.startswith(here):
        return f"{scheme}:///{path.removeprefix(here)}"
    return shown_url(url)


def sentences(study: Study, url: str, command: str, larger: str, *, measured: int) -> list[str]:
    """Where the study is kept, and how to go on.

    Args:
        study: The study after it ran.
        url: Where it is kept.
        command: What goes on with it.
        larger: What goes on with it where its budget is spent.
        measured: How many evaluations were made just now.
    """
    from flexibo.cli.running import is_interrupted
    from flexibo.optimizer import StopKind

    found = [f"The study {study.name!r} is kept in {near(url)}."]
    if is_interrupted(study):
        found.append(f"Go on with: {command}")
    elif not measured:
        found.insert(0, f"Nothing was measured: the study had ended before. {study.stopped}")
    if study.budget is not None and study.stop_kind is StopKind.BUDGET:
        found.append(f"Go on with a larger budget: {larger}")
    return [printable_line(sentence) for sentence in found]


def larger_budget(budget: float | None) -> str:
    """Twice a budget, as it can be typed.

    >>> larger_budget(45.0), larger_budget(1800.0)
    ('90s', '60m')
    """
    seconds = 2 * (budget or 30.0)
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("m", 60.0)):
        if seconds >= 2 * length and seconds % length == 0:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"


def facts(study: Study, url: str, command: str) -> dict[str, Any]:
    """A study that has run, ready for JSON."""
    from flexibo.cli.running import is_interrupted
    from flexibo.storage import shown_url

    summary = study.summary()
    return {
        "study": study.name,
        "storage": shown_url(url),
        "method": summary.method,
        "stopped": summary.stopped,
        "stop_kind": summary.stop_kind,
        "interrupted": is_interrupted(study),
        "spent": summary.spent,
        "budget": summary.budget,
        "evaluations": dict(summary.evaluations),
        "costs": dict(summary.costs),
        "failures": dict(summary.failures),
        "hypervolume": summary.hypervolume,
        "region_volume": summary.region_volume,
        "reference": None if summary.reference is None else dict(summary.reference),
        "front": [
            {
                "design": dict(row.design),
                "values": dict(row.values),
                "measured": dict(row.measured),
                "deviations": dict(row.deviations),
            }
            for row in study.front()
        ],
        "go_on": command,
    }
