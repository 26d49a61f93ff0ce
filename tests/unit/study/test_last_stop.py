"""Why a study has stopped: what the last call found out holds until something happens."""

from __future__ import annotations

from flexibo import Objective, Space
from flexibo.history import History
from flexibo.history.events import BudgetSet, Noted, Stopped
from flexibo.optimizer import Stop, StopKind
from flexibo.study._last_stop import LastStop, stopped_events

SPENT = Stop(StopKind.BUDGET, "Nothing is left.")


def history() -> History:
    return History(Space({"x": (0.0, 1.0)}), [Objective("a"), Objective("b")])


def test_a_stop_holds_until_something_happens() -> None:
    known = history()
    last = LastStop(known)
    assert last.known() is None
    last.remember(SPENT)
    known.append(Noted("A note changes nothing."))
    assert last.known() == SPENT
    known.append(BudgetSet(20.0))
    assert last.known() is None


def test_a_call_that_found_something_to_ask_ends_a_stop() -> None:
    last = LastStop(history())
    last.remember(SPENT)
    last.remember(None)
    assert last.known() is None


def test_a_stored_stop_is_known_where_none_is_remembered() -> None:
    known = history()
    known.append(Stopped("rule", "It was enough."))
    assert LastStop(known).known() == Stop(StopKind.RULE, "It was enough.")


def test_a_stop_of_the_same_kind_is_stored_once() -> None:
    known = history()
    (event,) = stopped_events(known, SPENT)
    assert event == Stopped("budget", SPENT.reason)
    known.append(event)
    assert stopped_events(known, SPENT) == []
    assert stopped_events(known, Stop(StopKind.RULE, "Another.")) == [Stopped("rule", "Another.")]
