"""Settings: what a study was created with. They are stored with it, and must be the same when it is opened."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from flexibo._internal.checks import checked_delta, whole_number
from flexibo._internal.numbers import ROUNDING, format_number, rounded_up
from flexibo.belief.candidates import filling_designs
from flexibo.belief.candidates import initial_designs as drawn_designs
from flexibo.belief.costs import CostCallable
from flexibo.errors import InvalidTypeError, InvalidValueError, SettingsDifferError
from flexibo.history import History
from flexibo.methods.table import find_method
from flexibo.objectives import OWN, Objective
from flexibo.optimizer.start import FEWEST, MOST, MOST_CHEAP
from flexibo.space import Design, Space
from flexibo.space.changes import is_same_space, present_space, with_stored_scales
from flexibo.study.changes import option_text
from flexibo.surrogates import Surrogate

Choice = TypeVar("Choice")
CANDIDATES = 1000
MOST_CANDIDATES = 1_000_000  # more would fill the memory of whoever asks
DELTA = 0.05
ADDED_LATER: Mapping[str, Any] = {"full_start": True}
"""Settings that older studies were stored without, and what held for these."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What determines the questions of a study, besides its history."""

    space: Space
    objectives: tuple[Objective, ...]
    method: str
    seed: int
    initial_designs: tuple[Design, ...]  # measured first
    n_given: int  # how many of these the user gave; the others were drawn
    full_start: bool  # whether they are measured in all objectives; otherwise as far as a share of the budget pays
    candidates: int  # how many designs are drawn for each question
    delta: float  # the paper's confidence parameter
    cost: str  # name of the cost function, "callable", or "" for the method's own
    surrogate: str  # name or description of the surrogate, or "" for the method's own

    @classmethod
    def of(cls, history: History) -> Settings:
        """The latest settings of a stored study."""
        stored = {**ADDED_LATER, **history.settings}
        designs = tuple(history.space.known_designs(stored["initial_designs"]))
        parts = {"space": history.space, "objectives": history.objectives, "initial_designs": designs}
        return cls(**{field.name: stored[field.name] for field in fields(cls)} | parts)

    def to_dict(self) -> dict[str, Any]:
        """The settings, ready for JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {
            "space": self.space.to_dict(),
            "objectives": [objective.to_dict() for objective in self.objectives],
            "initial_designs": [dict(design) for design in self.initial_designs],
        }

    def check_against(self, stored: Mapping[str, Any], study: str) -> None:
        """Refuse to open a stored study with other settings."""
        for key, given in self.to_dict().items():
            before = stored.get(key, ADDED_LATER.get(key))
            if key == "objectives":
                before, given = _what_matters(before or []), _what_matters(given)
            if given != before:
                raise _other(key, before, given, study)


def check_same_space(space: Space, stored: Mapping[str, Any], study: str) -> None:
    """Refuse to open a stored study with another space; what was legal before a change does not matter."""
    given, before = present_space(with_stored_scales(space, stored["space"])).to_dict(), stored["space"]
    if "defaults" in before:
        before = present_space(_stored_space(before)).to_dict()
    if not is_same_space(before, given):
        raise _other("space", before, given, study)


def check_same_objectives(objectives: Sequence[Objective], stored: Mapping[str, Any], study: str) -> None:
    """Refuse to open a stored study with other objectives."""
    given, before = _what_matters([one.to_dict() for one in objectives]), _what_matters(stored["objectives"])
    if given != before:
        raise _other("objectives", before, given, study)


def check_choice(what: str, given: object, stored: Mapping[str, Any], study: str) -> None:
    """Refuse to open a stored study with another surrogate or another cost, where one is given."""
    if given is not None and choice_name(given) != stored[what]:
        raise _other(what, stored[what], choice_name(given), study)


def _stored_space(data: Mapping[str, Any]) -> Space:
    """A space as it is stored, without its rule."""
    return Space.from_dict(data, valid=every_design if data.get("has_rule") else None)


def every_design(design: Mapping[str, Any]) -> bool:
    """The rule in place of one that is not stored."""
    return True


def _other(key: str, stored: Any, given: Any, study: str) -> SettingsDifferError:
    return SettingsDifferError(
        f"The stored study {study!r} has {_difference(key, stored, given)}.",
        "Open it with the same settings, change it with Study.load(...).change(...), or choose another name.",
    )


def _what_matters(objectives: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The objectives without what may change each time a study is opened: it affects no question."""
    return [{k: v for k, v in one.items() if k not in OWN} for one in objectives]


def _difference(key: str, stored: Any, given: Any) -> str:
    if key == "initial_designs":
        return f"{len(stored)} other initial designs (n_initial, initial_designs)"
    if key == "objectives":
        names = [[objective["name"] for objective in part] for part in (stored, given)]
        if names[0] != names[1]:
            return f"other objectives ({', '.join(names[0])})"
        pairs = zip(stored, given, strict=True)
        changed = [f"{k} of {o['name']!r}" for o, n in pairs for k in dict.fromkeys([*o, *n]) if o.get(k) != n.get(k)]
        return f"other properties of its objectives ({', '.join(changed[:3])})"
    if key == "space":
        old, new = (_stored_space(part).options for part in (stored, given))
        differing = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
        if len(differing) == 1 and (name := differing[0]) in old and name in new:
            return f"another space (see {name}: stored {option_text(old[name])}; given {option_text(new[name])})"
        return f"another space (see {', '.join(differing[:3]) or 'its rule, conditions or table'})"
    if key in ("cost", "surrogate"):
        before = f"{key} {stored!r}" if stored else f"the method's own {key}"
        now = repr(given) if given else "the method's own"
        return f"{before}; {now} given"
    return f"{key} {stored!r}; {given!r} given"


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
    """The settings for these arguments; None stands for the stored setting, or the default."""
    if seed is None:
        seed = stored.get("seed", secrets.randbelow(2**31))
    seed = whole_number("seed", seed, least=0)
    full_start = True
    is_kept = "defaults" in stored.get("space", {})  # a change of the space kept some of them
    if not is_kept and (n_initial is not None or initial_designs is not None):
        first, n_given = _initial(space, seed, n_initial, initial_designs)
    elif stored:
        first, n_given = _initial(space, seed, None, stored["initial_designs"])[0], stored["n_given"]
        full_start = stored.get("full_start", ADDED_LATER["full_start"])
    else:
        count = MOST if find_method(method).coupled else MOST_CHEAP
        first, n_given, full_start = filling_designs(space, count, seed), 0, False
    if candidates is None:
        candidates = stored.get("candidates", CANDIDATES)
    if delta is None:
        delta = stored.get("delta", DELTA)
    return Settings(
        space=space,
        objectives=objectives,
        method=method,
        seed=seed,
        initial_designs=first,
        n_given=n_given,
        full_start=full_start,
        candidates=whole_number("candidates", candidates, least=1, most=MOST_CANDIDATES),
        delta=checked_delta(delta),
        cost=choice_name(cost) if cost is not None else stored.get("cost", ""),
        surrogate=choice_name(surrogate) if surrogate is not None else stored.get("surrogate", ""),
    )


def choice_name(choice: object) -> str:
    """The name of a surrogate or a cost as it is stored; empty for the method's own."""
    if choice is None:
        return ""
    if isinstance(choice, str):
        return choice
    if callable(choice):
        return "callable"
    kind = type(choice)
    # The default repr contains an address, which differs in the next process.
    return f"{kind.__module__}.{kind.__qualname__}" if kind.__repr__ is object.__repr__ else repr(choice)


def _initial(
    space: Space, seed: int, n_initial: int | None, given: Iterable[Mapping[str, Any]] | None
) -> tuple[tuple[Design, ...], int]:
    """The given designs first, then drawn ones up to n_initial; and how many were given."""
    first = () if given is None else tuple(dict.fromkeys(space.design(design) for design in given))
    count = max(1, len(first)) if n_initial is None else n_initial
    count = whole_number("n_initial", count, least=1, most=MOST_CANDIDATES)
    if count <= len(first):
        return first, len(first)
    drawn = [design for design in drawn_designs(space, count, seed) if design not in first]
    return (*first, *drawn[: count - len(first)]), len(first)


def check_budget_covers_initial(budget: float | None, settings: Settings, leads: Sequence[str]) -> None:
    """Refuse a budget that, by the objectives' own prior costs, cannot pay the initial designs."""
    priors = [o.cost for o in settings.objectives if o.name in leads]
    if budget is None or any(prior is None for prior in priors):
        return
    count = len(settings.initial_designs) if settings.full_start else min(FEWEST, len(settings.initial_designs))
    needed = count * sum(prior for prior in priors if prior is not None)
    if needed * (1.0 - ROUNDING) > budget:
        least = format_number(rounded_up(needed))
        raise InvalidValueError(
            f"budget is {budget:g}, but {count} initial designs are expected to cost {least}; raise the budget"
            f"{' or lower n_initial' if settings.full_start else ''}."
        )


def stored_choice(what: str, given: Choice | None, stored: str, known: Iterable[str]) -> Choice | str | None:
    """The given choice, or the stored one; what cannot be stored must be given again."""
    if given is not None or not stored:
        return given
    if stored not in known:
        raise InvalidTypeError(f"The stored study was created with a {what} of your own ({stored}); give it again.")
    return stored
