"""Beginning a study, or going on with the one that is stored: its settings and what chooses its questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from flexibo.believer import Believer
from flexibo.catalogue import SURROGATES, Method
from flexibo.costs import TRANSFORMS, CostCallable
from flexibo.events import BudgetSet, Created, event_to_dict
from flexibo.log import EventLog
from flexibo.optimizer import Optimizer
from flexibo.settings import Settings, check_budget_covers_initial, check_same_space, stored_choice
from flexibo.surrogates import Surrogate

Settle: TypeAlias = Callable[[Mapping[str, Any]], Settings]
"""From what is stored, if anything is, to the settings that the user's arguments mean."""


def optimizer_of(
    method: Method, settings: Settings, *, surrogate: str | Surrogate | None, cost: str | CostCallable | None
) -> Optimizer:
    """What chooses the questions of a study with these settings.

    Args:
        method: The method.
        settings: What the study was created with.
        surrogate: The surrogate that was given, for what cannot be stored.
        cost: The cost function that was given, likewise.
    """
    believer = Believer(
        method,
        settings.initial_designs,
        seed=settings.seed,
        m=settings.candidates,
        delta=settings.delta,
        surrogate=stored_choice("surrogate", surrogate, settings.surrogate, SURROGATES),
        cost=stored_choice("cost", cost, settings.cost, TRANSFORMS),
    )
    return Optimizer(believer, n_given=settings.n_given)


def founded(
    log: EventLog,
    settle: Settle,
    choose: Callable[[Settings], Optimizer],
    *,
    name: str,
    budget: float | None,
    origin: Mapping[str, Any],
) -> tuple[Settings, Optimizer]:
    """Go on with the study that is stored, or begin it: the settings that hold, and what chooses.

    Another process may begin the same study at this moment: what it has chosen, such as the seed, holds for both.
    """
    stored = log.unread()
    if stored:
        check_same_space(log.history.space, stored[0]["settings"], name)  # or its designs would be misunderstood
    settings = settle(stored[0]["settings"] if stored else {})
    optimizer = choose(settings)
    is_new = not stored
    if is_new:
        check_budget_covers_initial(budget, settings, [purchase.objective for purchase in log.history.purchases])
        first = (Created(settings.to_dict(), origin), BudgetSet(budget))
        stored = log.begun([event_to_dict(event) for event in first])
        if settings.to_dict() != stored[0]["settings"]:
            check_same_space(log.history.space, stored[0]["settings"], name)
            settings = settle(stored[0]["settings"])
            optimizer = choose(settings)
    settings.check_against(stored[0]["settings"], name)
    log.learn(stored, news=is_new)
    return settings, optimizer
