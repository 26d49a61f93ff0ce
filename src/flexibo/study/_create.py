"""Creating a study, or opening the stored one: its settings, and the optimizer that follows from them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from flexibo.errors import SettingsDifferError
from flexibo.history import History
from flexibo.history.event_dicts import event_to_dict
from flexibo.history.events import BudgetSet, Created, Event, ReferenceFixed
from flexibo.storage import NoSuchStorageError
from flexibo.study._mind import Mind
from flexibo.study.event_log import EventLog, Notify
from flexibo.study.settings import Settings, check_budget_covers_initial, check_same_objectives, check_same_space

logger = logging.getLogger(__name__)


def open_or_create(
    log: EventLog,
    mind: Mind,
    settings_from: Callable[[History, Mapping[str, Any]], Settings],
    *,
    name: str,
    budget: float | None,
    origin: Mapping[str, Any],
    notify: Notify,
) -> None:
    """Open the stored study, or create it.

    `settings_from` gets the stored settings, which are empty for a new study. Another process may create the same study
    at this moment: what it has chosen, such as the seed, holds for both.
    """
    history = log.history
    space, objectives = history.space, history.objectives
    begun = log.first()
    if begun is not None:
        log.begin_as(begun)
        log.begin()  # old events are no news
    else:
        settings = settings_from(history, {})
        history.settings = settings.to_dict()
        try:
            mind.optimizer  # noqa: B018  # an error before anything is stored
        finally:
            history.settings = {}
        check_budget_covers_initial(budget, settings, [purchase.objective for purchase in history.purchases])
        first = (Created(settings.to_dict(), origin), BudgetSet(budget))
        stored = log.create([event_to_dict(event) for event in first])
        if settings.to_dict() != stored[0]["settings"]:
            log.begin_as(stored[0])
        log.learn(stored, notify)
    check_same_space(space, history.settings, name)
    check_same_objectives(objectives, history.settings, name)
    settings_from(history, history.settings).check_against(history.settings, name)
    history.forget_own()


def open_stored(log: EventLog, name: str, *, own: bool) -> None:
    """Open a study with whatever settings it has; see `History.begin_as`."""
    begun = log.first()
    if begun is None:
        raise NoSuchStorageError(f"The storage holds no study {name!r}; start one with Study(..., storage=...).")
    log.begin_as(begun, own=own)
    log.begin()
    log.history.forget_own()


def raised_budget(history: History, budget: float | None, *, name: str) -> list[Event]:
    """The event that sets the budget given when the study was opened, unless a larger one is stored."""
    stored = history.budget
    if budget is None or budget == stored:
        return []
    if stored is None or budget > stored:
        return [BudgetSet(budget)]
    logger.warning("Study %r has the larger budget of %g, which stays; set its budget to lower it.", name, stored)
    return []


def fixed_reference(history: History, reference: Mapping[str, float], *, name: str) -> list[Event]:
    """The event that fixes the given reference point; an error where another one is stored."""
    stored = history.reference_values()
    if stored is None or (stored == reference and history.is_reference_found):
        return [ReferenceFixed(reference)]
    if stored != reference:
        raise SettingsDifferError(
            f"The stored study {name!r} has the reference {stored}; {reference} given.",
            "Leave it out, or change it with Study.load(...).change(reference=...).",
        )
    return []
