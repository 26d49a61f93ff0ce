"""Laws of the start of a study, whatever the objectives cost and whichever evaluations fail."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.effort import examples

from flexibo import Space, Study
from flexibo.optimizer.start import FEWEST, MOST, MOST_CHEAP, SHARE

SPACE = Space({"x": (0.0, 1.0), "kind": ["a", "b", "c"], "n": (1, 9)})
PRICES = st.lists(st.floats(0.01, 100.0), min_size=2, max_size=4)


@settings(max_examples=examples(30), deadline=None)
@given(
    prices=PRICES,
    designs=st.floats(1.0, 60.0),
    spread=st.floats(1.0, 6.0),
    failing=st.floats(0.0, 0.3),
    coupled=st.booleans(),
    workers=st.integers(1, 5),
)
def test_the_start_costs_a_fifth_of_the_budget_or_a_few_designs(
    prices: list[float], designs: float, spread: float, failing: float, coupled: bool, workers: int
) -> None:
    names = [f"f{j}" for j in range(len(prices))]
    budget = designs * sum(prices)
    method = "random-coupled" if coupled else "random"
    study = Study(SPACE, names, method=method, budget=budget, seed=0)
    read, greatest, unfit = dict.fromkeys(names, 0), 0.0, 0.0
    pending = []
    while True:
        while len(pending) < workers and (evaluation := study.ask()) is not None and evaluation.initial:
            pending.append(evaluation)
        if not pending:
            break
        evaluation = pending.pop(0)
        place = float(evaluation.design["x"])
        cost = prices[names.index(evaluation.objective)] * spread ** (2.0 * place - 1.0)
        greatest = max(greatest, cost)
        if place < failing:
            study.fail(evaluation, "too small", cost=cost, impossible=True)
            unfit += cost
        else:
            study.tell(evaluation, place, cost=cost)
            read[evaluation.objective] += 1
    at_once = workers * greatest * len(prices) * (spread > 1.0 or failing > 0.0)
    few = FEWEST * sum(prices) * spread
    assert study.spent <= max(SHARE * budget, few + unfit) + at_once + 1e-6 * budget
    assert max(read.values()) <= (MOST if coupled else MOST_CHEAP)
