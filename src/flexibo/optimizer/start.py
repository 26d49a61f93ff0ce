"""The start of a study: what is measured before the method chooses.

A study with `n_initial` or designs of the user's measures these designs completely (`missing_initial`). By default the
start costs at most a fifth of the budget, whatever that is (`affordable_start`):

1. `FEWEST` designs are measured completely. They show what each purchase costs, and no model starts with less.
2. Then the purchases are measured of further designs, the cheapest first. Each has an equal share of the fifth, and
   what one leaves belongs to the more expensive ones: cheap ones are measured of more designs (`readings`).

Of an objective with steps, for a method that chooses how far to go, the same money buys looks at more designs, and only
then complete evaluations of some of them (`_looking_start`).

The designs fill the space, and the first few of them are far apart (`flexibo.belief.candidates`). Prices are those
learned so far, so the plan changes with the answers. Where a stop rule limits the number of evaluations, the same holds
for a fifth of these. Without any limit, `MOST` designs are measured completely.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo._internal.numbers import rounded_up
from flexibo.belief.costs import mean_costs
from flexibo.belief.failures import chance_of_success
from flexibo.belief.price_list import ROUNDING
from flexibo.belief.proxies import CHEAP_PROXY, asked_proxies, proxy_purchases
from flexibo.history import History
from flexibo.history.events import Evaluation
from flexibo.optimizer._looking_start import LookingStart, begins_with_looks, first_stop
from flexibo.optimizer._request import Request
from flexibo.optimizer.predictor import Predictor
from flexibo.optimizer.stop import WAITING_FOR_OTHERS, Stop, StopKind, initial_too_expensive
from flexibo.space import Design

SHARE = 0.2  # of the budget, or of the evaluations that a stop rule allows
FEWEST = 2  # designs that are measured completely, whatever they cost
MOST = 10  # designs that are measured completely at most
MOST_CHEAP = 20  # designs of which a cheap purchase is measured at most
CHEAP = 0.5  # a purchase is cheap if it costs at most this share of the most expensive one
UNLIKELY = 0.3  # a design that was drawn is left out if its chance of success is below this
COUNTED = "max_evaluations"  # the stop rule that limits the number of evaluations

Task: TypeAlias = tuple[Design, list[int]]
"""A design, and the purchases to ask of it together."""


def start_question(request: Request, predictor: Predictor, *, n_given: int) -> Evaluation | Stop | None:
    """The next question of the start, or why it cannot be asked; None if the start is over.

    `n_given` is how many of the initial designs the user gave rather than drew.
    """
    history, coupled = request.history, predictor.method.coupled
    if history.chosen:
        return None
    proxies = asked_proxies(history) if predictor.has_looks else ()
    if predictor.full_start:
        tasks = missing_initial(history, predictor.initial, n_given, coupled=coupled, proxies=proxies)
        return _question(request, tasks, predictor.initial, chosen=True)
    has_looks = predictor.has_looks
    tasks = affordable_start(request, predictor.initial, coupled=coupled, proxies=proxies, has_looks=has_looks)
    question = _question(request, tasks, predictor.initial, chosen=False, has_looks=has_looks)
    is_begun = all(map(history.count, range(len(history.quantities))))
    return None if isinstance(question, Stop) and question.kind is StopKind.BUDGET and is_begun else question


def missing_initial(
    history: History, initial: Sequence[Design], n_given: int, *, coupled: bool, proxies: Sequence[int] = ()
) -> list[Task]:
    """The initial designs that are not measured yet, each with the purchases to ask together; retries come last.

    The user gave `n_given` of them. An imported result replaces the measurement of one of the others, which were drawn.
    Of the proxies, only these purchases are measured.
    """
    counts = [max(n_given, len(initial) - _imported(history, initial, p)) for p in range(len(history.purchases))]
    counts = [count if history.bundles[p] or p in proxies else 0 for p, count in enumerate(counts)]
    left_out = _unlikely(history, initial[n_given:])
    return _tasks(
        history, initial, [[d for d in initial[:count] if d not in left_out] for count in counts], coupled=coupled
    )


def affordable_start(
    request: Request,
    initial: Sequence[Design],
    *,
    coupled: bool,
    proxies: Sequence[int] = (),
    has_looks: bool = False,
) -> list[Task]:
    """What is missing of the first `FEWEST` designs, and then what a fifth of the budget pays.

    If the start `has_looks`, designs are read at the first stop of an objective with steps before some are completed.
    Of the proxies, these purchases are measured, of the designs that their objective is measured of: what they tell is
    learned from both.

    A design of which something cannot be measured, or would probably fail, is replaced by the next one, unless all are
    such. Of designs that must have the same value, one counts.
    """
    history = request.history
    every = range(len(history.purchases))
    hopeless = [design for design in initial if any(history.is_hopeless(p, design) for p, _ in history.counting)]
    designs = [design for design in initial if design not in hopeless] or initial
    unlikely = _unlikely(history, designs)
    designs = [design for design in designs if design not in unlikely] or designs
    offered = request.price_list(history.space.designs(designs))
    prices = np.where(np.isnan(mean_costs(history)) & (offered.prices <= 0.0).all(axis=0), np.nan, offered.prices)
    counts = _with_proxies(history, proxies, prices.mean(axis=0), coupled=coupled)
    imported = [_imported(history, initial, p) for p in every]
    price = dict(zip(designs, offered.prices, strict=True))
    looks = _looking_starts(history, counts) if has_looks else {}

    def pays(prices: FloatArray) -> bool:
        return _is_within_share(history, offered.left, prices)

    def chosen(p: int, count: int) -> list[Design]:
        if p not in looks:
            return _distinct(history, p, designs, count - imported[p])
        open_still = [d for d in designs if not history.attempts(p, d) or _is_tried_again(history, p, d)]
        among = _distinct(history, p, open_still, looks[p].looked - imported[p])
        prices = np.array([price[design][p] for design in among])
        return looks[p].designs(history, among, prices, pays, left=offered.left)

    def missing(counts: Sequence[int]) -> list[Task]:
        return _tasks(history, designs, [chosen(p, counts[p]) for p in every], coupled=coupled)

    complete = [
        (design, purchases)
        for design, purchases in missing([min(FEWEST, count) for count in counts])
        if looks.keys().isdisjoint(purchases) or design in designs[:FEWEST]
    ]
    further = [
        (design, purchases)
        for design, purchases in missing(counts)
        if (design, purchases) not in complete
        and (not looks.keys().isdisjoint(purchases) or pays(price[design][purchases]))
    ]
    # The cheapest first, and each in the order of the designs; what failed before comes last.
    mean = offered.prices.mean(axis=0)
    further.sort(key=lambda task: float(mean[task[1]].max()))
    return complete + sorted(further, key=lambda task: any(history.attempts(p, task[0]) for p in task[1]))


def _looking_starts(history: History, counts: Sequence[int]) -> dict[int, LookingStart]:
    """How purchases that begin with looks are measured, for the price of these numbers of complete evaluations."""
    counted = COUNTED in (history.stop or {})
    plans = {
        p: LookingStart.of(history, p, fewest=FEWEST, pays=counts[p], is_counted=counted) for p, _ in history.counting
    }
    return {p: plan for p, plan in plans.items() if plan is not None}


def readings(prices: FloatArray, limit: float) -> list[int]:
    """Of how many designs each purchase (p,) is measured for at most `limit` in all, given its price; NaN if unknown.

    >>> readings(np.array([1.0, 10.0]), 60.0), readings(np.array([5.0, 5.0]), 60.0)
    ([20, 4], [6, 6])
    """
    counts, left = [FEWEST] * len(prices), limit
    known = [p for p in np.argsort(prices).tolist() if not math.isnan(prices[p])]
    for place, p in enumerate(known):
        price, later = float(prices[p]), known[place + 1 :]
        share = min(left / (len(prices) - place), left - FEWEST * float(prices[later].sum()))
        most = MOST_CHEAP if price < prices[known[-1]] and price <= CHEAP * prices[known[-1]] else MOST
        counts[p] = most if share >= most * price else max(FEWEST, math.floor(share / price))
        left -= counts[p] * price
    return counts


def _with_proxies(history: History, proxies: Sequence[int], prices: FloatArray, *, coupled: bool) -> list[int]:
    """Of how many designs each purchase (p,) is measured: a proxy of as many as its objective, which pays for both.

    One that is known to cost too much to learn what it tells is measured once.
    """
    counting = [p for p, _ in history.counting]
    paid = {p: [q for j in history.bundles[p] for q in proxy_purchases(history, j) if q in proxies] for p in counting}
    together = np.array([prices[p] + sum(prices[q] for q in paid[p]) for p in counting])
    counts = [0] * len(prices)
    for p, count in zip(counting, _counts(history, together, coupled=coupled), strict=True):
        counts[p] = count
        for q in paid[p]:
            counts[q] = max(counts[q], 1 if prices[q] > CHEAP_PROXY * prices[p] else count)
    return counts


def _counts(history: History, prices: FloatArray, *, coupled: bool) -> list[int]:
    """Of how many designs each purchase (p,) is measured; a coupled method measures all of the same designs."""
    limits = [(prices, math.inf if history.budget is None else SHARE * history.budget)]
    if COUNTED in (history.stop or {}):
        limits.append((np.ones_like(prices), SHARE * (history.stop or {})[COUNTED]))
    if all(limit == math.inf for _, limit in limits):
        return [MOST] * len(prices)
    plans = []
    for costs, limit in limits:
        plans.append([readings(costs.sum(keepdims=True), limit)[0]] * len(costs) if coupled else readings(costs, limit))
    return [min(own) for own in zip(*plans, strict=True)]


def _is_within_share(history: History, left: float, prices: FloatArray) -> bool:
    """Whether a fifth of the budget, and of the evaluations, pays these parts of a design; `left` is of the budget."""
    rule = history.stop or {}
    if COUNTED in rule and len(history.asked) + len(prices) > SHARE * rule[COUNTED]:
        return False
    budget = history.budget
    return budget is None or float(prices.sum()) <= left - (1.0 - SHARE) * budget + ROUNDING * budget


def _distinct(history: History, p: int, designs: Sequence[Design], count: int) -> list[Design]:
    """The first of the designs, as many as have `count` different values of purchase p."""
    keys: dict[int, Design] = {}
    for design in designs:
        if not history.is_hopeless(p, design):
            keys.setdefault(history.key(p, design), design)
    return list(keys.values())[: max(0, count)]


def _tasks(
    history: History, designs: Sequence[Design], chosen: Sequence[Sequence[Design]], *, coupled: bool
) -> list[Task]:
    """What is missing of the designs that were chosen for each purchase, design by design; retries come last."""
    fresh: list[Task] = []
    again: list[Task] = []
    for design in designs:
        wanted = [p for p, some in enumerate(chosen) if design in some and _is_missing(history, p, design)]
        new = [p for p in wanted if not history.attempts(p, design)]
        fresh += [(design, new)] if coupled and new else [(design, [p]) for p in new]
        again += [(design, [p]) for p in wanted if p not in new and _is_tried_again(history, p, design)]
    return fresh + again


def _unlikely(history: History, designs: Sequence[Design]) -> set[Design]:
    """The designs that will fail by what failures before have taught; none while something was never measured."""
    if not designs or not all(map(history.count, range(len(history.quantities)))):
        return set()
    chance = chance_of_success(history, history.space.designs(designs))
    return {design for design, likely in zip(designs, chance >= UNLIKELY, strict=True) if not likely}


def _is_tried_again(history: History, p: int, design: Design) -> bool:
    """Whether a design of the start that failed is tried again at once: its worker was lost, or the user says so.

    After an error, the chance of success decides as for any other design.
    """
    lead = history.objectives[history.purchases[p].members[0]]
    return lead.retries is not None or not history.is_failed(p, design)


def _is_missing(history: History, p: int, design: Design) -> bool:
    return not (history.is_measured(p, design) or history.is_pending(p, design) or history.is_hopeless(p, design))


def _imported(history: History, initial: Sequence[Design], p: int) -> int:
    """How many designs besides the initial ones have imported results of all objectives of purchase p."""
    names = [history.names[j] for j in history.purchases[p].members]
    known = {history.key(p, m.design) for m in history.measurements if m.number is None and m.values.keys() >= {*names}}
    return len(known - {history.key(p, design) for design in initial})


def _question(
    request: Request, tasks: Sequence[Task], initial: Sequence[Design], *, chosen: bool, has_looks: bool = False
) -> Evaluation | Stop | None:
    """The question of the first task that is wanted; None if there is no task. The user may have `chosen` the start."""
    if not tasks:
        return None
    names = [[request.history.purchases[p].objective for p in purchases] for _, purchases in tasks]
    place = next((place for place, some in enumerate(names) if not request.wanted.isdisjoint(some)), None)
    if place is None:
        return WAITING_FOR_OTHERS
    design, purchases = tasks[place]
    offered = request.prices(design)
    if not offered.pays(offered.prices[0, purchases].sum()):
        missing = sum(len(some) for some in names if not request.wanted.isdisjoint(some))
        needs, unpriced = _needed_budget(request, tasks)
        return initial_too_expensive(request.history, missing, needs, unpriced, chosen=chosen)
    asked = request.wanted_first(names[place])
    place = initial.index(design)
    has_looks = has_looks and any(begins_with_looks(request.history, p) for p, _ in request.history.counting)
    if not has_looks or not begins_with_looks(request.history, purchases[0]):
        why = _why(place, len(initial), chosen=chosen, has_looks=has_looks)
        return request.question(design, asked, initial=True, why=why)
    stop = first_stop(request.history, purchases[0], design)
    return request.question(design, asked, initial=True, why=_why_so_far(place, stop), stop=stop)


def _needed_budget(request: Request, tasks: Sequence[Task]) -> tuple[float, list[str]]:
    """The budget that pays these tasks too, and the objectives of unknown cost, which count as the most expensive."""
    history, known = request.history, request.costs.known(request.history)
    offered = request.prices(*(design for design, _ in tasks))
    guess = float(offered.prices[:, known].max(initial=0.0))
    prices = np.where(known, offered.prices, guess)
    unpriced = {p for _, purchases in tasks for p in purchases if not known[p]}
    missing = sum(float(prices[i, purchases].sum()) for i, (_, purchases) in enumerate(tasks))
    paid = (history.budget or 0.0) - offered.left
    return rounded_up(paid + missing), [history.purchases[p].objective for p in sorted(unpriced)]


def _why(i: int, n: int, *, chosen: bool, has_looks: bool = False) -> str:
    """Why the i-th of n initial designs is measured; the start may have looks at other objectives."""
    if has_looks and i < FEWEST:
        return f"initial design {i + 1}: the first {FEWEST} show what each objective costs"
    if chosen:
        return f"initial design {i + 1} of {n}: all are measured before the method chooses"
    if i < FEWEST:
        return f"initial design {i + 1}: the first {FEWEST} are measured completely and show what each objective costs"
    return f"initial design {i + 1}: one of those that fill the space before the method chooses"


def _why_so_far(i: int, stop: int | None) -> str:
    """Why the i-th initial design is read at its first stop, or, if `stop` is None, completed."""
    if stop is not None:
        return f"initial design {i + 1}: its first stop shows what it costs and how it begins"
    return f"initial design {i + 1}: completed to learn what early values tell; of those seen it is not expensive"
