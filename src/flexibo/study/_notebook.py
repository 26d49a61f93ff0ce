"""A study in a notebook: its summary as HTML, and a cell that shows a run and is updated in place.

IPython is used only where it is running already; nothing here imports it otherwise.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from flexibo._internal.html import ACCENT, LINE, html_block, html_heading, html_line, html_table
from flexibo._internal.numbers import format_number, format_spent
from flexibo.history.readings import confirmed_front, readings
from flexibo.results.picture import picture

if TYPE_CHECKING:
    from flexibo.history import History
    from flexibo.history.events import Evaluation
    from flexibo.results.handover import HandOver

SECONDS = 0.5  # the least time between two updates of a cell
MOST_PENDING = 5  # running evaluations that are listed

Display = Callable[["Html"], Any]
"""Shows HTML in the present cell, and returns a handle whose `update` replaces it."""


class ShownStudy(Protocol):
    """What a cell needs of a study."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def history(self) -> History:
        """The events so far."""

    def hand_over(self) -> HandOver:
        """The confirmed and the promising designs so far."""


@dataclass(frozen=True, slots=True)
class Html:
    """HTML that a notebook shows, and what is shown where there is none."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def notebook_display() -> Display | None:
    """What shows HTML in the present cell; None if this process is not the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    found = None if shell is None else shell.get_ipython()
    if getattr(found, "kernel", None) is None:  # a terminal shows no HTML
        return None
    from IPython.display import display

    return lambda html: display(html, display_id=True)


class LiveCell:
    """A cell that shows how far a study is, at most every `SECONDS`."""

    def __init__(
        self, study: ShownStudy, display: Display, place: str = "", *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._begun = clock()
        self._place = place
        self._shown = {"begun": self._begun, "ended": self._begun}
        self._handle = display(self._html(study))

    def begin(self, study: ShownStudy) -> None:
        """Show what is being measured now."""
        self._limited(study, "begun")

    def update(self, study: ShownStudy) -> None:
        """Show what was measured."""
        self._limited(study, "ended")

    def finish(self, study: ShownStudy, stopped: str) -> None:
        """Show how it ended."""
        self._handle.update(self._html(study, stopped))

    def interrupted(self, study: ShownStudy) -> None:
        """Show that the run was interrupted and how to resume it."""
        self._handle.update(self._html(study, interruption(study.name, self._place)))

    def _limited(self, study: ShownStudy, kind: str) -> None:
        """Update the cell, if that was not done lately: measuring must not wait for pictures."""
        now = self._clock()
        if now - self._shown[kind] >= SECONDS:
            self._shown[kind] = now
            self._handle.update(self._html(study))

    def _html(self, study: ShownStudy, stopped: str = "") -> Html:
        history = study.history
        facts = progress_facts(history, self._clock() - self._begun)
        line = ", ".join(facts)
        now = [] if stopped else [_measured_now(one) for one in list(history.pending.values())[:MOST_PENDING]]
        parts = [
            html_heading(f"Study {study.name}"),
            _bar(history),
            html_line(line),
            *(html_line(text, small=True) for text in now),
            html_line(stopped),
            measured_picture(history),
        ]
        return Html(html_block(*parts), f"Study {study.name}: {line}. {stopped}".rstrip())


def interruption(name: str, place: str) -> str:
    """That the run of a study was interrupted, and how to resume it."""
    again = "Interrupted; what was measured is kept. Call run of this study again to resume"
    if place:
        url = place if "://" in place else f"sqlite:///{place}"
        return f"{again}; after a restart of the kernel, Study.load({url!r}, {name!r}).run(...)."
    return f"{again}. The study is in memory: give it storage='sqlite:///study.db' to keep it when the kernel restarts."


def progress_facts(history: History, seconds: float | None = None) -> list[str]:
    """How far a study is, in a few words."""
    failed = sum(history.failed_attempts.values())
    counts = [f"{name} {history.count(j)}" for j, name in enumerate(history.names)]
    facts = [f"spent {format_spent(history.spent, history.budget, history.cost_unit)}", f"measured {', '.join(counts)}"]
    if failed:
        facts.append(f"{failed} failed")
    facts.append(f"{len(confirmed_front(history, readings(history)))} designs on the confirmed front")
    return facts if seconds is None else [*facts, f"{format_number(seconds, 3)} s in this cell"]


def measured_picture(history: History) -> str:
    """A small picture of the confirmed front, from readings alone."""
    read = readings(history)
    places, optimised = confirmed_front(history, read), list(history.optimised)
    values = read.mean[places][:, optimised]
    for column, j in enumerate(optimised):
        values[:, column] = [history.objectives[j].value(loss) for loss in values[:, column].tolist()]
    return picture([history.names[j] for j in optimised], values, range(1, len(places) + 1))


def study_html(study: ShownStudy, *, method: str, place: str, stopped: str) -> str:
    """A study as HTML: what it searches, how far it is, and its front."""
    history = study.history
    found = study.hand_over()
    rows = [
        ("method", method),
        ("options", f"{', '.join(history.space.names)} ({_count(history.space.size)} designs)"),
        ("objectives", ", ".join(_objective(one) for one in history.objectives)),
        ("progress", ", ".join(progress_facts(history))),
        ("stored in", place or "memory"),
        *(("stopped", stopped),) * bool(stopped),
    ]
    return html_block(html_heading(f"Study {study.name}"), html_table([], rows), found._repr_html_())


def _objective(objective: Any) -> str:
    if objective.is_proxy:
        return f"{objective.name} (proxy)"
    direction = "" if not objective.optimise else " (maximise)" if objective.value(1.0) < 0 else " (minimise)"
    return f"{objective.name}{direction}"


def _count(size: float) -> str:
    return f"{int(size):,}" if size < math.inf else "infinitely many"


def _bar(history: History) -> str:
    """The share of the budget that is spent; nothing without a budget."""
    if not history.budget:
        return ""
    share = max(0.0, min(100.0, 100.0 * history.spent / history.budget))
    inner = f'<div style="width:{share:.1f}%;height:100%;background:{ACCENT};border-radius:3px"></div>'
    return f'<div style="width:360px;max-width:100%;height:8px;border:1px solid {LINE};border-radius:4px">{inner}</div>'


def _measured_now(evaluation: Evaluation) -> str:
    options = ", ".join(f"{name}={value}" for name, value in evaluation.design.items())
    return f"measuring {', '.join(evaluation.yields)} of {options}: {evaluation.why}"
