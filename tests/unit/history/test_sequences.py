"""The lists of a history: events that are read again when they are needed, and views of them."""

from __future__ import annotations

import pytest

from flexibo.history._sequences import BLOCK, MOST_BLOCKS, Events
from flexibo.history.events import Event, Noted


def events_after(old: int) -> tuple[Events, list[tuple[int, int]]]:
    """So many old events, and the list of what was loaded of them."""
    loaded: list[tuple[int, int]] = []

    def load(start: int, stop: int) -> list[Event]:
        loaded.append((start, stop))
        return [Noted(str(number)) for number in range(start, stop)]

    events = Events()
    events.begin_with(old, load)
    return events, loaded


def test_old_events_are_loaded_a_block_at_a_time_and_once() -> None:
    events, loaded = events_after(2 * BLOCK + 3)
    events.append(Noted("new"))
    assert len(events) == 2 * BLOCK + 4
    assert events[-1] == Noted("new")
    assert not loaded
    assert events[BLOCK + 1] == events[BLOCK + 1] == Noted(str(BLOCK + 1))
    assert loaded == [(BLOCK, 2 * BLOCK)]
    assert events[2 * BLOCK :] == [*(Noted(str(2 * BLOCK + i)) for i in range(3)), Noted("new")]
    assert loaded[1:] == [(2 * BLOCK, 2 * BLOCK + 3)]


def test_few_blocks_are_kept() -> None:
    events, loaded = events_after((MOST_BLOCKS + 1) * BLOCK)
    assert len(list(events)) == len(events)
    assert len(loaded) == MOST_BLOCKS + 1
    assert events[-1] == Noted(str(len(events) - 1))
    assert len(loaded) == MOST_BLOCKS + 1, "the last ones are kept"
    assert events[0] == Noted("0")
    assert loaded[-1] == (0, BLOCK), "and the first ones are not"


def test_events_equal_a_list_of_the_same_events_and_have_no_others() -> None:
    events, _ = events_after(2)
    assert events == [Noted("0"), Noted("1")]
    assert events != [Noted("0")]
    with pytest.raises(IndexError):
        events[2]
