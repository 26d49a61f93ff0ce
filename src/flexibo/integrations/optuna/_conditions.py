"""Which parameters depend on others, found in the trials of a define-by-run script.

A script that asks for `momentum` only if the optimiser is "sgd" leaves trials with and without a momentum. A parameter
that some trials lack is taken to depend on those parameters whose values tell the trials with it from those without:
they become its parents, and the values that trials with it had keep it active. A wrong guess does little harm: a
parameter that a script asks for and that was not proposed is drawn on its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flexibo import Categorical, Integer, Ordinal, Real
from flexibo.space import Level, Option

MOST_VALUES = 1_000  # a parameter with more of them is no parent
Condition = dict[str, list[Level]]
Row = Mapping[str, Level]


def conditions(rows: Sequence[Row], options: Mapping[str, Option]) -> dict[str, Condition | None]:
    """For each option that some rows lack, its parents with the values that keep it active.

    It is None if no parents explain where the option is missing. Options are in the order in which scripts ask for
    them, and parents come before their children.
    """
    found: dict[str, Condition | None] = {}
    names = list(options)
    for place, child in enumerate(names):
        lacking = [row for row in rows if child not in row]
        if lacking:
            having = [row for row in rows if child in row]
            parents = [name for name in names[:place] if found.get(name, {}) is not None]
            found[child] = _condition(having, lacking, {name: options[name] for name in parents})
    return found


def _condition(having: Sequence[Row], lacking: Sequence[Row], options: Mapping[str, Option]) -> Condition | None:
    """The fewest parents whose values exclude all rows that lack a child, the most telling first."""
    candidates = {name: _kept(having, name, option) for name, option in options.items()}
    condition: Condition = {}
    left = list(lacking)
    while left:
        excluded = {
            name: sum(row.get(name) not in values for row in left) for name, values in candidates.items() if values
        }
        # Between equals, the one with fewest values: many values tell any few trials apart.
        best = min(excluded, key=lambda name: (-excluded[name], options[name].size), default=None)
        if best is None or not excluded[best]:
            return None
        condition[best] = candidates[best]
        left = [row for row in left if row.get(best) in candidates[best]]
    return condition


def _kept(having: Sequence[Row], name: str, option: Option) -> list[Level]:
    """The values of a parent in the rows that have a child; none if it cannot be its parent."""
    if isinstance(option, Real) or option.size > MOST_VALUES or not all(name in row for row in having):
        return []
    seen = {row[name] for row in having}
    if isinstance(option, Integer) and seen:
        numbers = [int(value) for value in seen]
        return list(range(min(numbers), max(numbers) + 1))
    if isinstance(option, (Categorical, Ordinal)):
        return [value for value in option.values if value in seen]
    return []
