"""What a method remembers from question to question, derived from the history alone.

PAL keeps the intersection of all boxes it ever had. Whether that was kept in memory or is rebuilt by replaying the
events, the next question is the same.
"""

from __future__ import annotations

from collections.abc import Callable

from flexibo.belief.belief import Belief
from flexibo.history import History
from flexibo.history.events import Asked, Changed
from flexibo.methods.base import Step


class MethodMemory:
    """The memory of a method with one step per question; `believe` gives the belief at a question."""

    def __init__(self, step: Step, believe: Callable[[History], Belief]) -> None:
        self._step = step
        self._believe = believe
        self._of: History | None = None
        self._states: dict[int, object] = {}

    def after(self, history: History, belief: Belief) -> object:
        """What is remembered after the step of the question that follows this history."""
        before = self._before(history)
        state = self._step(before, belief)
        last = history.scored[-1] if history.scored else None
        self._states = {len(history.asked): state} | ({} if last is None else {last: before})
        return state

    def _before(self, history: History) -> object:
        """What was remembered after the last question that was scored and asked."""
        last = history.scored[-1] if history.scored else None
        if last is None:
            self._of = history
            return None
        if self._of is not history or last not in self._states:
            self._of = history
            self._states = {last: self._replayed(history)}
        return self._states[last]

    def _replayed(self, history: History) -> object:
        past = History(history.space, history.objectives)
        state: object = None
        for event in history.events:
            if isinstance(event, Changed):
                state = None  # what came before was of another space or of other objectives
            if isinstance(event, Asked) and past.is_scored(event.evaluation):
                state = self._step(state, self._believe(past))
            past.append(event)
        return state
