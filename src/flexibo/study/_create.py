"""Creating a study, or opening the stored one: its settings, and the optimizer that follows from them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from flexibo.belief.costs import TRANSFORMS, CostCallable
from flexibo.errors import SettingsDifferError
from flexibo.history import History
from flexibo.history.event_dicts import event_to_dict
from flexibo.history.events import BudgetSet, Created, Event, ReferenceFixed
from flexibo.methods.base import Method
from flexibo.optimizer import Optimizer
from flexibo.optimizer.predictor import Predictor
from flexibo.study.event_log import EventLog, Notify
from flexibo.study.settings import Settings, check_budget_covers_initial, check_same_space, stored_choice
from flexibo.surrogates import Surrogate
from flexibo.surrogates.table import SURROGATES

logger = logging.getLogger(__name__)


def optimizer_of(
    method: Method, settings: Settings, *, surrogate: str | Surrogate | None, cost: str | CostCallable | None
) -> Optimizer:
    predictor = Predictor(
        method,
        settings.initial_designs,
        full_start=settings.full_start,
        seed=settings.seed,
        m=settings.candidates,
        delta=settings.delta,
        surrogate=stored_choice("surrogate", surrogate, settings.surrogate, SURROGATES),
        cost=stored_choice("cost", cost, settings.cost, TRANSFORMS),
    )
    return Optimizer(predictor, n_given=settings.n_given)


def open_or_create(
    log: EventLog,
    settings_from: Callable[[Mapping[str, Any]], Settings],
    optimizer_from: Callable[[Settings], Optimizer],
    *,
    name: str,
    budget: float | None,
    origin: Mapping[str, Any],
    notify: Notify,
) -> tuple[Settings, Optimizer]:
    """Open the stored study, or create it; returns its settings and its optimizer.

    `settings_from` gets the stored settings, which are empty for a new study. Another process may create the same study
    at this moment: what it has chosen, such as the seed, holds for both.
    """
    begun = log.first()
    if begun is not None:
        check_same_space(log.history.space, begun["settings"], name)  # or its designs would be misread
        settings = settings_from(begun["settings"])
        optimizer = optimizer_from(settings)
        settings.check_against(begun["settings"], name)
        log.begin()  # old events are no news
        return settings, optimizer
    settings = settings_from({})
    optimizer = optimizer_from(settings)
    check_budget_covers_initial(budget, settings, [purchase.objective for purchase in log.history.purchases])
    first = (Created(settings.to_dict(), origin), BudgetSet(budget))
    stored = log.create([event_to_dict(event) for event in first])
    if settings.to_dict() != stored[0]["settings"]:
        check_same_space(log.history.space, stored[0]["settings"], name)
        settings = settings_from(stored[0]["settings"])
        optimizer = optimizer_from(settings)
    settings.check_against(stored[0]["settings"], name)
    log.learn(stored, notify)
    return settings, optimizer


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
    if stored is None:
        return [ReferenceFixed(reference)]
    if stored != reference:
        raise SettingsDifferError(
            f"The stored study {name!r} has the reference {stored}; {reference} given.",
            "A reference point is fixed once.",
        )
    return []
