from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from flexibo.compare.runs import SHARES, Moment, Run
from flexibo.compare.statistics.errors import FLOOR
from flexibo.compare.statistics.ranking import against_best, ranking
from flexibo.compare.statistics.ratios import Ratio
from flexibo.errors import InvalidValueError, UnknownNameError


def run(problem: str, method: str, seed: int, error: float) -> Run:
    """A run whose error is the same at every moment."""
    return Run(problem, method, seed, tuple(Moment(share, share * 100, error, 0.0, (1, 1)) for share in SHARES))


def table(found: Mapping[str, Mapping[str, Sequence[float]]]) -> list[Run]:
    """Runs by problem and method, a seed per error."""
    return [
        run(problem, method, seed, error)
        for problem, by_method in found.items()
        for method, values in by_method.items()
        for seed, error in enumerate(values)
    ]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def simulated(problems: int, methods: int, seeds: int, seed: int = 0) -> list[Run]:
    draw = rng(seed)
    return table(
        {f"p{p}": {f"m{m}": draw.lognormal(-2, 0.5, seeds).tolist() for m in range(methods)} for p in range(problems)}
    )


HAND = table(
    {
        "p": {"ours": [0.1, 0.1], "good": [0.05, 0.05], "bad": [0.4, 0.4]},
        "q": {"ours": [0.1, 0.3], "good": [0.4, 1.2], "bad": [0.2, 0.6]},
        "r": {"ours": [0.0, 0.0], "good": [0.0, 0.0], "bad": [0.032, 0.032], "slow": [0.016, 0.016]},
    }
)


def test_a_ranking_by_hand() -> None:
    result = ranking(HAND, 1.0)
    assert result.ours == "ours"
    assert result.problems == ("p", "q", "r")
    found = {ranked.method: ranked for ranked in result.complete}
    assert list(found) == ["ours", "good", "bad"]
    assert found["ours"].geometric_mean == pytest.approx((0.1 * 0.03**0.5 * 0.001) ** (1 / 3))
    assert found["good"].geometric_mean == pytest.approx((0.05 * 0.48**0.5 * 0.001) ** (1 / 3))
    # On r, ours and good share the first two places.
    assert [found[m].mean_rank for m in found] == pytest.approx([(2 + 1 + 1.5) / 3, (1 + 3 + 1.5) / 3, (3 + 2 + 3) / 3])
    assert found["good"].ratio.value == pytest.approx((2 * 0.25 * 1) ** (1 / 3))
    assert found["bad"].ratio.value == pytest.approx((0.25 * 0.5 / 32) ** (1 / 3))
    assert {p: r.value for p, r in found["good"].ratios.items()} == pytest.approx({"p": 2.0, "q": 0.25, "r": 1.0})
    standings = {p: ratio.standing for p, ratio in found["good"].ratios.items()}
    assert standings == {"p": "behind", "q": "ahead", "r": "undecided"}
    assert found["ours"].ratio == Ratio(1.0, 1.0, 1.0, 2)


def test_a_method_with_holes_is_compared_on_its_own_problems_and_displaces_nobody() -> None:
    result = ranking(HAND, 1.0)
    (slow,) = result.partial
    assert slow.method == "slow"
    assert list(slow.ratios) == ["r"]
    assert slow.geometric_mean == pytest.approx(0.016)
    assert slow.mean_rank == 3.0  # behind ours and good, before bad
    assert slow.ratio.value == pytest.approx(1 / 16)
    bad = result.complete[-1]
    assert bad.mean_rank == pytest.approx(8 / 3)


def test_only_problems_of_the_chosen_method_count() -> None:
    result = ranking(HAND, 1.0, ours="slow")
    assert result.problems == ("r",)
    assert {ranked.method for ranked in result.complete} == {"ours", "good", "bad", "slow"}
    assert result.complete[0].geometric_mean == pytest.approx(FLOOR)


def test_a_method_without_a_common_seed_is_named_and_not_ranked() -> None:
    result = ranking([*HAND, run("p", "late", 99, 0.1)], 1.0)
    assert result.unmatched == ("late",)
    assert "late" not in {ranked.method for ranked in (*result.complete, *result.partial)}


def test_one_problem_with_one_seed_leaves_the_whole_mean_open() -> None:
    runs = [*table({"p": {"a": [0.1, 0.2, 0.3], "b": [0.2, 0.4, 0.6]}}), run("q", "a", 0, 0.1), run("q", "b", 0, 0.2)]
    ranked = ranking(runs, 1.0, ours="a").complete[1]
    assert ranked.ratio == Ratio(pytest.approx(0.5), 0.0, np.inf, 1)  # type: ignore[arg-type]
    assert [ranked.ratios[p].standing for p in "pq"] == ["ahead", "undecided"]
    assert ranked.seeds == 1


def test_the_order_of_runs_does_not_matter() -> None:
    runs = simulated(4, 5, 6)
    shuffled = random.Random(3).sample(runs, len(runs))
    assert ranking(runs, 1.0, ours="m1") == ranking(shuffled, 1.0, ours="m1")
    others = ["m3", "m0", "m2"]
    assert against_best(runs, "m1", others, 1.0) == against_best(shuffled, "m1", others[::-1], 1.0)


def test_what_is_said_of_a_method_does_not_depend_on_others() -> None:
    runs = simulated(3, 4, 6)
    few = [r for r in runs if r.method in ("m0", "m2")]
    (alone,) = (s for s in ranking(few, 1.0, ours="m0").complete if s.method == "m2")
    (among,) = (s for s in ranking(runs, 1.0, ours="m0").complete if s.method == "m2")
    assert (alone.ratio, alone.ratios) == (among.ratio, among.ratios)


def test_a_method_with_fewer_seeds_is_ranked_on_these() -> None:
    # On seed 0 all are good, on seed 1 all are bad; "lucky" is worse than "steady" and has the good seed only.
    errors = {"ours": (0.01, 0.4), "steady": (0.02, 0.8), "lucky": (0.04,)}
    runs = [run("p", method, seed, error) for method, own in errors.items() for seed, error in enumerate(own)]
    ours, steady, lucky = ranking(runs, 1.0, ours="ours").complete
    assert [one.method for one in (ours, steady, lucky)] == ["ours", "steady", "lucky"]
    assert [one.mean_rank for one in (ours, steady, lucky)] == [1.0, 2.0, 3.0]
    assert lucky.geometric_mean < ours.geometric_mean


def test_overhead_counts_in_rankings_and_against_the_best() -> None:
    def overhead(method: str, seconds: float, error: float) -> list[Run]:
        moments = [(0.0, 0.0, 0.9, 0.0), (1.0, 90.0, error, seconds)]
        return [Run("p", method, seed, tuple(Moment(*m, (1,)) for m in moments)) for seed in range(4)]

    runs = [*overhead("slow", 60.0, 0.1), *overhead("fast", 1.0, 0.2)]
    paid = {"p": (100.0, 1.0)}
    assert [s.method for s in ranking(runs, 1.0).complete] == ["slow", "fast"]
    assert [s.method for s in ranking(runs, 1.0, prices=paid).complete] == ["fast", "slow"]
    assert against_best(runs, "slow", None, 1.0).ratio.value == pytest.approx(0.5)
    assert against_best(runs, "slow", None, 1.0, prices=paid).ratio.value == pytest.approx(4.5)


def test_the_best_is_chosen_on_all_seeds_and_the_lower_end_on_the_other_half() -> None:
    # Seeds 0 and 2 make one half, 1 and 3 the other: "even" is best on the first, "odd" on the second and on all.
    runs = table({"p": {"ours": [0.2, 0.4, 0.2, 0.4], "even": [0.1, 0.8, 0.1, 0.8], "odd": [0.2, 0.2, 0.2, 0.2]}})
    (one,) = against_best(runs, "ours", None, 1.0).problems
    assert one.chosen == "odd"
    assert (one.ours, one.best) == pytest.approx((0.08**0.5, 0.2))
    assert one.ratio.value == pytest.approx(2**0.5)
    # On the even half "odd" is judged, on the odd half "even": ratios 1 and 1/2.
    assert one.lower == pytest.approx({0: 0.0, 1: np.log(0.5), 2: 0.0, 3: np.log(0.5)})
    assert one.logs == pytest.approx({0: 0.0, 1: np.log(2.0), 2: 0.0, 3: np.log(2.0)})
    assert one.ratio.low < 0.5**0.5 < one.ratio.value < one.ratio.high
    assert one.separate


def test_the_mean_over_some_problems_is_that_of_a_comparison_of_these() -> None:
    runs = simulated(5, 4, 6)
    some = ["p1", "p3"]
    whole = against_best(runs, "m0", None, 1.0)
    part = against_best([r for r in runs if r.problem in some], "m0", None, 1.0)
    assert whole.over(some) == part.ratio
    assert whole.over(["p0", "p1", "p2", "p3", "p4"]) == whole.ratio
    assert whole.over([]) is None


def test_the_measure_decides() -> None:
    def both(method: str, confirmed: float, model: float) -> list[Run]:
        moments = (Moment(0.0, 0.0, confirmed, 0.0, (1,), model=model),)
        return [Run("p", method, seed, moments) for seed in range(4)]

    runs = [*both("a", 0.1, 0.4), *both("b", 0.2, 0.2), *table({"p": {"c": [0.01] * 4}})]
    assert against_best(runs, "a", None, 1.0).problems[0].chosen == "c"
    assert against_best(runs, "a", ["b", "c"], 1.0, measure="model").ratio.value == pytest.approx(2.0)
    assert [one.method for one in ranking(runs, 1.0, measure="model").complete] == ["b", "a"]


def test_few_seeds_are_said_to_be_few() -> None:
    runs = table({"p": {"ours": [0.2, 0.2], "a": [0.1, 0.4], "b": [0.3, 0.3]}})
    result = against_best(runs, "ours", None, 1.0)
    (one,) = result.problems
    assert not one.separate
    assert one.chosen == "a"
    assert one.ratio.value == pytest.approx(1.0)
    assert one.ratio.seeds == 2
    single = against_best([r for r in runs if r.seed == 0], "ours", None, 1.0)
    assert single.ratio == Ratio(pytest.approx(2.0), 0.0, np.inf, 1)  # type: ignore[arg-type]
    assert single.behind == ()


def test_others_with_holes_are_left_out_where_they_did_not_run() -> None:
    runs = table(
        {
            "p": {"ours": [0.1] * 4, "a": [0.2] * 4, "b": [0.05] * 4},
            "q": {"ours": [0.1] * 4, "a": [0.2] * 4},
            "alone": {"ours": [0.1] * 4},
            "theirs": {"a": [0.1] * 4},
        }
    )
    result = against_best(runs, "ours", None, 1.0)
    assert [(v.problem, v.chosen, v.left_out) for v in result.problems] == [("p", "b", ()), ("q", "a", ())]
    assert result.ratio.value == pytest.approx(1.0)  # 2 on p, 1/2 on q
    assert result.behind == ("p",)


def test_an_other_with_few_seeds_is_judged_on_these_and_takes_none_from_the_rest() -> None:
    runs = table(
        {"p": {"ours": [0.1] * 8, "a": [0.2] * 8, "slow": [0.05] * 3}, "q": {"ours": [0.1] * 8, "a": [0.2] * 8}}
    )
    one, whole = against_best(runs, "ours", None, 1.0).problems
    assert (one.chosen, one.left_out, one.ratio.seeds, one.best) == ("slow", (), 3, pytest.approx(0.05))
    assert whole.ratio.seeds == 8
    runs = table({"p": {"ours": [0.1] * 8, "a": [0.2] * 8, "slow": [0.5] * 3}})
    assert [(v.chosen, v.ratio.seeds) for v in against_best(runs, "ours", None, 1.0).problems] == [("a", 8)]


def test_an_other_with_too_few_seeds_is_left_out_and_named() -> None:
    runs = table({"p": {"ours": [0.1] * 8, "a": [0.2] * 8, "slow": [0.01] * 2}})
    (one,) = against_best(runs, "ours", None, 1.0).problems
    assert (one.chosen, one.left_out, one.ratio.seeds) == ("a", ("slow",), 8)
    (kept,) = against_best(runs, "ours", None, 1.0, fewest=1).problems
    assert (kept.chosen, kept.left_out, kept.ratio.seeds, kept.separate) == ("slow", (), 2, False)


def test_the_best_other_may_be_chosen_on_the_other_seeds() -> None:
    """Each is lucky once: afterwards one of them looks better than both are on other seeds."""
    lucky = {"ours": [0.1] * 4, "a": [0.01, 0.2, 0.2, 0.2], "b": [0.15, 0.15, 0.15, 0.15]}
    (after,) = against_best(table({"p": lucky}), "ours", None, 1.0).problems
    result = against_best(table({"p": lucky}), "ours", None, 1.0, other_seeds=True)
    (one,) = result.problems
    assert (after.chosen, one.chosen, result.other_seeds) == ("a", "a", True)
    # On seeds 1 to 3 the lucky seed 0 decides for a; without it b is the best.
    assert one.logs == pytest.approx({0: math.log(0.1 / 0.15), 1: math.log(0.5), 2: math.log(0.5), 3: math.log(0.5)})
    assert one.ratio.value < after.ratio.value
    single = against_best(table({"p": {"ours": [0.1], "a": [0.2]}}), "ours", None, 1.0, other_seeds=True)
    assert single.ratio.value == pytest.approx(0.5)


def test_others_with_disjoint_seeds_are_each_judged_on_their_own() -> None:
    runs = [
        *(run("p", "ours", seed, 0.1 if seed < 5 else 0.4) for seed in range(10)),
        *(run("p", "a", seed, 0.2) for seed in range(5)),
        *(run("p", "b", seed, 0.3) for seed in range(5, 10)),
    ]
    (one,) = against_best(runs, "ours", None, 1.0).problems
    assert (one.chosen, one.ours, one.ratio.value) == ("b", pytest.approx(0.4), pytest.approx(4 / 3))


def test_seeds_of_one_half_only_are_not_separate() -> None:
    runs = [
        *(run("p", "ours", seed, 0.1) for seed in range(10)),
        *(run("p", "a", seed, 0.2) for seed in range(0, 10, 2)),
    ]
    (one,) = against_best(runs, "ours", None, 1.0).problems
    assert (one.ratio.seeds, one.separate, one.lower) == (5, False, one.logs)


def test_seeds_that_we_do_not_have_count_for_nobody() -> None:
    runs = [r for r in table({"p": {"ours": [0.1] * 9, "a": [0.2] * 9}}) if r.method == "a" or r.seed < 2]
    (one,) = against_best(runs, "ours", None, 1.0).problems
    assert (one.chosen, one.ratio.seeds, one.separate) == ("a", 2, False)


def test_chosen_others_only_are_looked_at() -> None:
    runs = table({"p": {"ours": [0.1] * 4, "a": [0.2] * 4, "b": [0.05] * 4}})
    assert against_best(runs, "ours", ["ours", "a"], 1.0).others == ("a",)
    assert against_best(runs, "ours", ["ours", "a"], 1.0).ratio.value == pytest.approx(0.5)


def test_names_that_nobody_has_are_refused() -> None:
    runs = simulated(1, 2, 4)
    with pytest.raises(UnknownNameError, match="'m9'"):
        ranking(runs, 1.0, ours="m9")
    with pytest.raises(InvalidValueError):
        against_best(runs, "m0", ["m9"], 1.0)
    with pytest.raises(InvalidValueError, match="nothing to compare"):
        against_best(runs, "m0", ["m0"], 1.0)
    with pytest.raises(InvalidValueError, match="no runs"):
        ranking([], 1.0)


def test_results_are_values() -> None:
    result = ranking(HAND, 1.0)
    with pytest.raises(FrozenInstanceError):
        result.share = 0.5  # type: ignore[misc]


def test_a_whole_suite_takes_little_time() -> None:
    runs = simulated(20, 20, 10)
    start = time.process_time()
    ranking(runs, 1.0, ours="m0")
    against_best(runs, "m0", None, 1.0)
    assert time.process_time() - start < 4.0
