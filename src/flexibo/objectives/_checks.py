"""Whether the objectives of a study fit together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.objectives.objective import Objective
from flexibo.objectives.purchase import purchases


def check_objectives(objectives: Iterable[Objective | str], options: Sequence[str]) -> tuple[Objective, ...]:
    """The objectives of a study; an error unless they fit together and their options exist."""
    if isinstance(objectives, str | Objective | Mapping) or not isinstance(objectives, Iterable):
        raise InvalidTypeError(
            f"objectives is {objectives!r}; give a list such as [Objective('error'), Objective('speed', 'max')]."
        )
    checked = tuple(Objective(o) if isinstance(o, str) else o for o in objectives)
    for objective in checked:
        if not isinstance(objective, Objective):
            raise InvalidTypeError(f"An objective is {objective!r}; give Objective(...) or a name.")
    names = [objective.name for objective in checked]
    count = sum(not objective.is_proxy for objective in checked)
    if count < 2:
        raise InvalidValueError(
            f"A study needs at least two objectives, or one and a constraint; {count} given. "
            "For one objective alone use a single-objective optimiser."
        )
    if not any(objective.optimise for objective in checked):
        raise InvalidValueError(
            f"Every objective is a constraint only ({', '.join(names)}); remove the bound of one, or give it "
            "optimise=True."
        )
    for name in names:
        if names.count(name) > 1:
            raise InvalidValueError(f"Two objectives are named {name!r}; names must differ.")
    for objective in checked:
        for option in objective.options or ():
            if option not in options:
                raise unknown_name(f"option of objective {objective.name!r}:", option, options)
        for option in objective.reuse:
            if option not in options:
                raise unknown_name(f"option in reuse of objective {objective.name!r}:", option, options)
        for field in ("measured_with", "fails_with"):
            other = getattr(objective, field)
            if other is not None and other not in names:
                raise unknown_name(f"objective in {field} of {objective.name!r}:", other, names)
        lead = next((other for other in checked if other.name == objective.measured_with), None)
        if lead is not None and lead.stops:
            raise InvalidValueError(
                f"Objective {objective.name!r} is measured_with {lead.name!r}, which has steps; an objective with "
                "steps is measured alone."
            )
        if objective.fails_with == objective.name:
            raise InvalidValueError(f"Objective {objective.name!r} has fails_with itself; name another one.")
    _check_proxies(checked)
    # In the order of the space, so that a set of options has the same order in every process.
    checked = tuple(
        replace(
            o,
            options=None if o.options is None else tuple(name for name in options if name in o.options),
            reuse=tuple(name for name in options if name in o.reuse),
        )
        for o in checked
    )
    purchases(checked)
    return tuple(sorted(checked, key=lambda objective: objective.is_proxy))  # what counts first


def _check_proxies(objectives: Sequence[Objective]) -> None:
    """An error unless every proxy is one of another objective, and measured alone."""
    by_name = {objective.name: objective for objective in objectives}
    named = {name for objective in objectives for name in objective.proxies}
    for objective in objectives:
        for name in objective.proxies:
            if name == objective.name:
                raise InvalidValueError(f"Objective {name!r} has itself among its proxies; name another one.")
            if name not in by_name:
                raise unknown_name(f"objective in proxies of {objective.name!r}:", name, by_name)
            _check_proxy(by_name[name], objective)
        if objective.is_proxy and objective.name not in named:
            raise InvalidValueError(
                f"Objective {objective.name!r} has optimise=False and no bound; give at_most or at_least, name it in "
                "the proxies of another objective, or leave it out.",
                argument="optimise",
            )
        if objective.measured_with in named:
            raise InvalidValueError(
                f"Objective {objective.name!r} is measured_with {objective.measured_with!r}, which is a proxy; a proxy "
                "is measured alone."
            )


def _check_proxy(proxy: Objective, of: Objective) -> None:
    """An error unless one objective can be the proxy of another one."""
    who = f"Objective {proxy.name!r} is a proxy of {of.name!r}"
    if proxy.is_constraint:
        raise InvalidValueError(f"{who} and has a bound; a proxy limits nothing, so leave the bound out.")
    if proxy.optimise:
        raise InvalidValueError(f"{who} and optimised; a proxy is measured but not optimised, give it optimise=False.")
    if proxy.proxies:
        raise InvalidValueError(
            f"{who} and has proxies of its own ({', '.join(proxy.proxies)}); name all of them in {of.name!r}."
        )
    if proxy.measured_with is not None:
        raise InvalidValueError(
            f"{who} and measured_with {proxy.measured_with!r}; a proxy is measured alone, so leave out measured_with."
        )
    if proxy.stops:
        raise InvalidValueError(f"{who} and has steps; a proxy is measured at once, so leave them out.")
    if proxy.remeasure:
        raise InvalidValueError(f"{who} and has remeasure=True; a proxy is read once, so leave it out.")
