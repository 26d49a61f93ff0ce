"""Why a measurement that stopped before its last step is not continued."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexibo._internal.numbers import format_number
from flexibo._internal.text import printable_line, shortened
from flexibo.history import History
from flexibo.history.events import Evaluation, Failed
from flexibo.objectives import Objective
from flexibo.results.handover import Selection
from flexibo.results.known_designs import KnownDesigns
from flexibo.results.promising import gain_text
from flexibo.study import Study
from flexibo.views._models import every_objective_measured


@dataclass(frozen=True, slots=True)
class Prospects:
    """What completing the designs of a study promises; nothing is known until every objective has a value."""

    history: History
    failures: dict[int, str]  # the reasons of those evaluations that failed
    known: KnownDesigns | None
    chosen: Selection | None

    @classmethod
    def of(cls, study: Study) -> Prospects:
        """What the models of a study say now."""
        history = study.history
        failures = {event.number: event.reason for event in history.events if isinstance(event, Failed)}
        if not every_objective_measured(history):
            return cls(history, failures, None, None)
        known = KnownDesigns.of(study.predictor, history)
        return cls(history, failures, known, Selection.of(known))

    def why_stopped(self, asked: Evaluation, objective: Objective) -> str:
        """Why a measurement did not go on, given the last question about it: what is expected, gained and paid."""
        if asked.number in self.failures:
            return f"failed: {shortened(printable_line(self.failures[asked.number]))}"
        if self.known is None or self.chosen is None:
            return ""
        i = self._most_promising(asked, objective)
        facts, name = self.known.facts(i), objective.name
        unit = f" {objective.unit}" if objective.unit else ""
        value, deviation = format_number(facts["estimates"][name], 3), format_number(facts["deviations"][name], 2)
        expected = f"expected at step {objective.stops[-1]}: {value} ±{deviation}{unit}"
        gain, price = float(self.chosen.gains[i]), float(self.known.missing_prices(np.array([i])).sum())
        if gain <= 0.0:
            return f"{expected}; going on would add nothing to the front"
        adds = gain_text(gain / self.chosen.volume) if self.chosen.volume > 0.0 else format_number(gain, 3)
        cost = f" for {format_number(price, 3)} {self.history.cost_unit}".rstrip() if np.isfinite(price) else ""
        return f"{expected}; going on may add {adds} to the front{cost}"

    def _most_promising(self, asked: Evaluation, objective: Objective) -> int:
        """Of the designs that share this measurement, the place of the one that promises most."""
        assert self.chosen is not None
        designs, options = self.history.designs, objective.depends_on
        places = np.flatnonzero(designs.keys(options) == self.history.space.designs([asked.design]).keys(options)[0])
        return int(places[np.argmax(self.chosen.gains[places])])
