from __future__ import annotations

from typing import Any

from tests.unit.optimizer.small_history import at, history_of, tell

from flexibo.history import History
from flexibo.history.events import Added
from flexibo.optimizer._memory import MethodMemory


def remembering(steps: list[Any] | None = None) -> MethodMemory:
    """A memory whose belief is the number of answers so far, and whose state is the list of all beliefs."""

    def step(before: Any, belief: Any) -> Any:
        if steps is not None:
            steps.append(belief)
        return [*(before or []), belief]

    return MethodMemory(step, lambda past: len(past.measurements))  # type: ignore[arg-type, return-value]


def state(memory: MethodMemory, history: History) -> object:
    return memory.after(history, len(history.measurements))  # type: ignore[arg-type]


def begun() -> History:
    """A history with one initial design."""
    history = history_of()
    tell(history, at(0), 1.0, initial=True)
    return history


def test_the_first_step_remembers_nothing_and_initial_designs_are_no_steps() -> None:
    assert state(remembering(), begun()) == [2]


def test_each_question_that_was_asked_adds_one_step() -> None:
    history, memory = begun(), remembering()
    for x in (1, 2):
        state(memory, history)
        tell(history, at(x), 1.0, "a")
    assert state(memory, history) == [2, 3, 4]


def test_a_memory_that_was_not_there_replays_the_events_to_the_same_state() -> None:
    history, memory = begun(), remembering()
    for x in (1, 2, 3):
        live = state(memory, history)
        tell(history, at(x), 1.0, "a")
    live = state(memory, history)
    assert state(remembering(), history) == live == [2, 3, 4, 5]


def test_asking_again_without_a_new_question_changes_nothing_and_replays_nothing() -> None:
    history = begun()
    for x in (1, 2):
        tell(history, at(x), 1.0, "a")
    steps: list[Any] = []
    memory = remembering(steps)
    first = state(memory, history)
    steps.clear()
    assert state(memory, history) == first
    assert len(steps) == 1


def test_a_step_whose_question_was_not_asked_is_made_anew() -> None:
    history, memory = begun(), remembering()
    assert state(memory, history) == [2]
    history.append(Added(at(3), {"a": 1.0}, {}))
    assert state(memory, history) == [3]


def test_another_history_is_replayed() -> None:
    first, second, memory = begun(), begun(), remembering()
    tell(first, at(1), 1.0, "a")
    tell(second, at(1), 1.0, "a", "b")
    assert state(memory, first) == [2, 3]
    assert state(memory, second) == state(remembering(), second)
