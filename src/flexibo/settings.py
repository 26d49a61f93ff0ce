"""Settings: what a study was created with. They are stored with it, and must agree when it is opened again."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flexibo.candidates import initial_designs as drawn_designs
from flexibo.costs import CostCallable
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.objectives import Objective
from flexibo.space import Design, Space
from flexibo.surrogates import Surrogate

N_INITIAL = 10
CANDIDATES = 1000
DELTA = 0.05


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides the questions of a study, beside its history.

    Attributes:
        space: The design space.
        objectives: The objectives.
        method: Name of the method.
        seed: Decides every draw.
        initial_designs: Measured first, in all objectives.
        candidates: How many designs are drawn for each question.
        delta: The paper's confidence parameter.
        cost: Name of the cost function, "callable", or "" for the method's own.
        surrogate: Name or description of the surrogate, or "" for the method's own.
    """

    space: Space
    objectives: tuple[Objective, ...]
    method: str
    seed: int
    initial_designs: tuple[Design, ...]
    candidates: int
    delta: float
    cost: str
    surrogate: str

    def to_dict(self) -> dict[str, Any]:
        """The settings, ready for JSON."""
        return {
            "space": self.space.to_dict(),
            "objectives": [objective.to_dict() for objective in self.objectives],
            "method": self.method,
            "seed": self.seed,
            "initial_designs": [dict(design) for design in self.initial_designs],
            "candidates": self.candidates,
            "delta": self.delta,
            "cost": self.cost,
            "surrogate": self.surrogate,
        }

    def check_against(self, stored: Mapping[str, Any], study: str) -> None:
        """Refuse to go on with a stored study under other settings."""
        mine = self.to_dict()
        for key in mine:
            if mine[key] != stored.get(key):
                shown = "" if key in ("space", "objectives", "initial_designs") else f" {stored.get(key)!r}"
                given = "others" if not shown else repr(mine[key])
                raise InvalidValueError(
                    f"The stored study {study!r} was created with {key}{shown}; {given} given. "
                    "Open it with the same settings, or choose another name."
                )


def checked_settings(
    space: Space,
    objectives: tuple[Objective, ...],
    stored: Mapping[str, Any],
    *,
    method: str,
    seed: int | None,
    n_initial: int | None,
    initial_designs: Iterable[Mapping[str, Any]] | None,
    candidates: int | None,
    delta: float | None,
    cost: str | CostCallable | None,
    surrogate: str | Surrogate | None,
) -> Settings:
    """The settings that the arguments mean; what is None comes from the stored study, or is the default."""
    if seed is None:
        seed = stored.get("seed", secrets.randbelow(2**31))
    seed = whole_number("seed", seed, least=0)
    if n_initial is None and initial_designs is None and stored:
        initial_designs = stored["initial_designs"]
    if candidates is None:
        candidates = stored.get("candidates", CANDIDATES)
    if delta is None:
        delta = stored.get("delta", DELTA)
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 < delta < 1:
        raise InvalidValueError(f"delta is {delta!r}; it must lie between 0 and 1.")
    return Settings(
        space=space,
        objectives=objectives,
        method=method,
        seed=seed,
        initial_designs=_initial(space, seed, n_initial, initial_designs),
        candidates=whole_number("candidates", candidates, least=1),
        delta=float(delta),
        cost=_name(cost) if cost is not None else stored.get("cost", ""),
        surrogate=_name(surrogate) if surrogate is not None else stored.get("surrogate", ""),
    )


def _name(choice: object) -> str:
    if isinstance(choice, str):
        return choice
    return "callable" if callable(choice) else repr(choice)


def _initial(
    space: Space, seed: int, n_initial: int | None, given: Iterable[Mapping[str, Any]] | None
) -> tuple[Design, ...]:
    """The given designs first, then drawn ones up to n_initial."""
    first = () if given is None else tuple(dict.fromkeys(space.design(design) for design in given))
    count = (N_INITIAL if given is None else max(1, len(first))) if n_initial is None else n_initial
    count = whole_number("n_initial", count, least=1)
    if count <= len(first):
        return first
    drawn = [design for design in drawn_designs(space, count, seed) if design not in first]
    return (*first, *drawn[: count - len(first)])


def whole_number(name: str, number: object, *, least: int) -> int:
    """The number as an int that is not below `least`."""
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise InvalidValueError(f"{name} is {number!r}; it must be a whole number, {least} or more.")
    return number


def checked_budget(budget: object) -> float | None:
    """The budget as a positive float, or None for no limit."""
    if budget is None:
        return None
    if isinstance(budget, bool) or not isinstance(budget, int | float):
        raise InvalidTypeError(f"budget is {budget!r}; it must be a number, or None for no limit.")
    if not math.isfinite(budget) or budget <= 0:
        raise InvalidValueError(f"budget is {budget!r}; it must be above zero, or None for no limit.")
    return float(budget)


def check_budget_covers_initial(budget: float | None, settings: Settings, leads: Sequence[str]) -> None:
    """Refuse a budget that, by the objectives' own prior costs, cannot pay the initial designs."""
    priors = [o.cost for o in settings.objectives if o.name in leads]
    if budget is None or any(prior is None for prior in priors):
        return
    needed = len(settings.initial_designs) * sum(prior for prior in priors if prior is not None)
    if needed > budget:
        raise InvalidValueError(
            f"budget is {budget:g}, but {len(settings.initial_designs)} initial designs are expected to cost "
            f"{needed:g}; raise the budget or lower n_initial."
        )


def checked_cost(cost: object) -> float:
    """The cost of an evaluation as a finite float, zero or more."""
    try:
        number = float(cost)  # type: ignore[arg-type]  # anything float() takes is a number here
    except (TypeError, ValueError):
        raise InvalidTypeError(f"cost is {cost!r}; it must be a number, zero or more.") from None
    if isinstance(cost, str) or not math.isfinite(number) or number < 0:
        raise InvalidValueError(f"cost is {cost!r}; it must be a number, zero or more.")
    return number


def checked_reference(
    reference: Mapping[str, float] | Sequence[float], objectives: Sequence[Objective]
) -> dict[str, float]:
    """The reference point by objective, in the users' values."""
    names = [objective.name for objective in objectives]
    if not isinstance(reference, Mapping):
        try:
            values = list(reference)
        except TypeError:
            raise InvalidTypeError(
                f"reference is {reference!r}; give a value for each of {', '.join(names)}."
            ) from None
        if len(values) != len(names):
            raise InvalidValueError(f"reference has {len(values)} values; {len(names)} objectives need one each.")
        reference = dict(zip(names, values, strict=True))
    if set(reference) != set(names):
        raise InvalidValueError(f"reference names {', '.join(map(str, reference))}; it must name {', '.join(names)}.")
    return {objective.name: objective.checked_value(reference[objective.name]) for objective in objectives}
