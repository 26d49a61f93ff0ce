from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from flexibo.compare.runs import SHARES, Moment, Run
from flexibo.compare.statistics.errors import FLOOR, errors, mean_errors, mean_evaluations, overhead_per_evaluation
from flexibo.compare.statistics.ranking import against_best, ranking
from flexibo.compare.statistics.ratios import Ratio, paired_ratio
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


THINKER = Run(
    "p",
    "slow",
    0,
    (
        Moment(0.0, 0.0, 0.9, 30.0, (0,)),
        Moment(0.5, 40.0, 0.5, 40.0, (4,)),
        Moment(1.0, 90.0, 0.1, 60.0, (9,)),
    ),
)


def test_errors_are_those_of_the_last_moment_within_the_share() -> None:
    assert [errors([THINKER], share)["p"]["slow"][0] for share in (0.0, 0.49, 0.5, 0.99, 1.0)] == [
        0.9,
        0.9,
        0.5,
        0.5,
        0.1,
    ]


@pytest.mark.parametrize(
    ("price", "share", "expected"),
    [
        (0.0, 1.0, 0.1),
        (1.0, 1.0, 0.5),  # 90 + 60 is more than 100; 40 + 40 is not
        (1.5, 1.0, 0.5),  # 40 + 60 is just enough
        (1.51, 1.0, 0.9),
        (0.2, 0.5, 0.5),  # 40 + 8
        (0.3, 0.5, 0.9),  # 40 + 12
        (50.0, 1.0, 0.9),  # even the first thoughts are too dear: the initial designs are everybody's
        (1.0, 0.0, 0.9),
    ],
)
def test_thinking_counts_as_cost(price: float, share: float, expected: float) -> None:
    assert errors([THINKER], share, thinking={"p": (100.0, price)})["p"]["slow"][0] == expected


def test_free_thinking_changes_nothing_though_nothing_more_is_bought() -> None:
    moments = (Moment(0.0, 0.0, 0.9, 1.0, (0,)), Moment(0.5, 20.0, 0.5, 2.0, (2,)), Moment(1.0, 20.0, 0.4, 3.0, (2,)))
    runs = [Run("p", "m", 0, moments)]
    assert errors(runs, 0.5, thinking={"p": (100.0, 0.0)}) == errors(runs, 0.5)


def test_a_problem_without_a_price_of_thinking_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="'p' has no price of thinking"):
        errors([THINKER], 1.0, thinking={"q": (1.0, 1.0)})


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_outside_the_budget_is_refused(share: float) -> None:
    with pytest.raises(InvalidValueError, match="between 0 and 1"):
        errors([THINKER], share)


def test_runs_that_cannot_be_judged_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="twice"):
        errors([THINKER, THINKER], 1.0)
    with pytest.raises(InvalidValueError, match="finite"):
        errors([run("p", "m", 0, float("nan"))], 1.0)
    with pytest.raises(InvalidValueError, match="no moments"):
        errors([Run("p", "m", 0, ())], 1.0)


def test_means_and_standard_errors_are_of_floored_errors() -> None:
    found = mean_errors(errors(table({"p": {"a": [0.0, 0.003], "b": [0.5]}}), 1.0))["p"]
    assert found["a"].mean == pytest.approx(0.002)
    assert found["a"].standard_error == pytest.approx(0.001)  # deviation 0.001 sqrt(2), over sqrt(2)
    assert (found["a"].seeds, found["b"].seeds) == (2, 1)
    assert found["b"].mean == 0.5
    assert np.isnan(found["b"].standard_error)


def test_a_ratio_is_of_means_over_the_seeds_that_both_have() -> None:
    ratio = paired_ratio({0: 0.1, 1: 0.3, 7: 9.0}, {0: 0.2, 1: 0.2, 8: 9.0}, rng())
    assert ratio.value == pytest.approx(1.0)
    assert ratio.seeds == 2
    # One of the two seeds is drawn each time: half or one and a half, 0.866 on geometric average, moved back twice.
    assert ratio.low == pytest.approx(0.5 / 0.75, rel=0.05)
    assert ratio.high == pytest.approx(1.5 / 0.75, rel=0.05)


def test_seeds_are_drawn_in_pairs() -> None:
    hard = {seed: 0.001 * 2**seed for seed in range(10)}
    ratio = paired_ratio({seed: 0.8 * error for seed, error in hard.items() if seed}, hard, rng())
    assert (ratio.low, ratio.value, ratio.high) == pytest.approx((0.8, 0.8, 0.8))
    assert ratio.won


def test_zero_errors_are_equal_and_nobody_wins() -> None:
    ratio = paired_ratio(dict.fromkeys(range(5), 0.0), dict.fromkeys(range(5), FLOOR / 2), rng())
    assert ratio == Ratio(1.0, 1.0, 1.0, 5)
    assert [ratio.won, ratio.lost, ratio.behind, ratio.lost_clearly] == [False] * 4


def test_one_seed_proves_nothing() -> None:
    ratio = paired_ratio({3: 0.9}, {3: 0.1}, rng())
    assert ratio.value == pytest.approx(9.0)
    assert (ratio.low, ratio.high) == (0.0, np.inf)
    assert ratio.behind
    assert [ratio.won, ratio.lost, ratio.lost_clearly] == [False] * 3


def test_no_common_seed_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="no seed in common"):
        paired_ratio({0: 0.1}, {1: 0.1}, rng())


@pytest.mark.parametrize(("level", "draws"), [(0.0, 10), (1.0, 10), (90, 10), (0.9, 0)])
def test_senseless_intervals_are_refused(level: float, draws: int) -> None:
    with pytest.raises(InvalidValueError):
        paired_ratio({0: 0.1}, {0: 0.1}, rng(), level=level, draws=draws)


def test_losing_has_degrees() -> None:
    assert Ratio(1.04, 1.01, 1.06, 9).lost
    assert not Ratio(1.04, 1.01, 1.06, 9).behind
    assert Ratio(1.2, 0.9, 1.5, 9).behind
    assert not Ratio(1.2, 0.9, 1.5, 9).lost
    assert Ratio(1.2, 1.06, 1.5, 9).lost_clearly
    assert not Ratio(1.2, 1.04, 1.5, 9).lost_clearly
    assert Ratio(0.9, 0.8, 0.99, 9).won


def covered(sigma: tuple[float, float], problems: int, seeds: int, repeats: int) -> float:
    """How often the interval of a ranking holds the true ratio of log-normal errors with these deviations."""
    draw, true, hits = rng(5), np.exp((sigma[0] ** 2 - sigma[1] ** 2) / 2), 0
    for _ in range(repeats):
        shared = draw.standard_normal((problems, seeds))
        made = [np.exp(-2 + s * (shared + draw.standard_normal(shared.shape)) / np.sqrt(2)) for s in sigma]
        runs = [
            Run(f"p{p}", method, seed, (Moment(1.0, 1.0, float(values[p, seed]), 0.0, (1,)),))
            for method, values in zip("ab", made, strict=True)
            for p in range(problems)
            for seed in range(seeds)
        ]
        ratio = next(s.ratio for s in ranking(runs, 1.0, draw, ours="a", draws=300).complete if s.method == "b")
        hits += ratio.low <= true <= ratio.high
    return hits / repeats


@pytest.mark.parametrize(
    ("sigma", "problems", "seeds", "repeats", "least", "most"),
    [
        ((0.5, 0.5), 1, 10, 200, 0.80, 0.95),
        ((0.5, 0.5), 1, 3, 200, 0.66, 0.85),
        ((1.0, 0.5), 10, 10, 60, 0.76, 0.97),
    ],
)
def test_intervals_hold_the_truth_nearly_as_often_as_they_promise(
    sigma: tuple[float, float], problems: int, seeds: int, repeats: int, least: float, most: float
) -> None:
    assert least <= covered(sigma, problems, seeds, repeats) <= most


HAND = table(
    {
        "p": {"ours": [0.1, 0.1], "good": [0.05, 0.05], "bad": [0.4, 0.4]},
        "q": {"ours": [0.1, 0.3], "good": [0.4, 1.2], "bad": [0.2, 0.6]},
        "r": {"ours": [0.0, 0.0], "good": [0.0, 0.0], "bad": [0.032, 0.032], "slow": [0.016, 0.016]},
    }
)


def test_a_ranking_by_hand() -> None:
    result = ranking(HAND, 1.0, rng())
    assert result.ours == "ours"
    assert result.problems == ("p", "q", "r")
    found = {standing.method: standing for standing in result.complete}
    assert list(found) == ["ours", "good", "bad"]
    assert found["ours"].geometric_mean == pytest.approx((0.1 * 0.2 * 0.001) ** (1 / 3))
    assert found["good"].geometric_mean == pytest.approx((0.05 * 0.8 * 0.001) ** (1 / 3))
    # On r, ours and good share the first two places.
    assert [found[m].mean_rank for m in found] == pytest.approx([(2 + 1 + 1.5) / 3, (1 + 3 + 1.5) / 3, (3 + 2 + 3) / 3])
    assert found["good"].ratio.value == pytest.approx((2 * 0.25 * 1) ** (1 / 3))
    assert found["bad"].ratio.value == pytest.approx((0.25 * 0.5 / 32) ** (1 / 3))
    assert {p: r.value for p, r in found["good"].ratios.items()} == pytest.approx({"p": 2.0, "q": 0.25, "r": 1.0})
    assert [p for p, r in found["good"].ratios.items() if r.lost_clearly] == ["p"]
    assert [p for p, r in found["good"].ratios.items() if r.won] == ["q"]
    assert found["ours"].ratio == Ratio(1.0, 1.0, 1.0, 2)


def test_a_method_with_holes_is_compared_on_its_own_problems_and_displaces_nobody() -> None:
    result = ranking(HAND, 1.0, rng())
    (slow,) = result.partial
    assert slow.method == "slow"
    assert list(slow.ratios) == ["r"]
    assert slow.geometric_mean == pytest.approx(0.016)
    assert slow.mean_rank == 3.0  # behind ours and good, before bad
    assert slow.ratio.value == pytest.approx(1 / 16)
    bad = result.complete[-1]
    assert bad.mean_rank == pytest.approx(8 / 3)


def test_only_problems_of_the_chosen_method_count() -> None:
    result = ranking(HAND, 1.0, rng(), ours="slow")
    assert result.problems == ("r",)
    assert {standing.method for standing in result.complete} == {"ours", "good", "bad", "slow"}
    assert result.complete[0].geometric_mean == pytest.approx(FLOOR)


def test_a_method_without_a_common_seed_is_named_and_not_ranked() -> None:
    result = ranking([*HAND, run("p", "late", 99, 0.1)], 1.0, rng())
    assert result.unmatched == ("late",)
    assert "late" not in {standing.method for standing in (*result.complete, *result.partial)}


def test_one_problem_with_one_seed_leaves_the_whole_mean_open() -> None:
    runs = [*table({"p": {"a": [0.1, 0.2, 0.3], "b": [0.2, 0.4, 0.6]}}), run("q", "a", 0, 0.1), run("q", "b", 0, 0.2)]
    standing = ranking(runs, 1.0, rng(), ours="a").complete[1]
    assert standing.ratio == Ratio(pytest.approx(0.5), 0.0, np.inf, 1)  # type: ignore[arg-type]
    assert standing.ratios["p"].won
    assert not standing.ratios["q"].won
    assert standing.seeds == 1


def test_the_order_of_runs_does_not_matter() -> None:
    runs = simulated(4, 5, 6)
    shuffled = random.Random(3).sample(runs, len(runs))
    assert ranking(runs, 1.0, rng(), ours="m1") == ranking(shuffled, 1.0, rng(), ours="m1")
    others = ["m3", "m0", "m2"]
    assert against_best(runs, "m1", others, 1.0, rng()) == against_best(shuffled, "m1", others[::-1], 1.0, rng())


def test_what_is_said_of_a_method_does_not_depend_on_others() -> None:
    runs = simulated(3, 4, 6)
    few = [r for r in runs if r.method in ("m0", "m2")]
    (alone,) = (s for s in ranking(few, 1.0, rng(), ours="m0").complete if s.method == "m2")
    (among,) = (s for s in ranking(runs, 1.0, rng(), ours="m0").complete if s.method == "m2")
    assert (alone.ratio, alone.ratios) == (among.ratio, among.ratios)


def test_the_generator_decides_the_interval() -> None:
    runs = simulated(2, 3, 6)
    first, again, other = (ranking(runs, 1.0, rng(seed), ours="m0", draws=200) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_thinking_counts_in_rankings_and_against_the_best() -> None:
    def thinker(method: str, seconds: float, error: float) -> list[Run]:
        moments = [(0.0, 0.0, 0.9, 0.0), (1.0, 90.0, error, seconds)]
        return [Run("p", method, seed, tuple(Moment(*m, (1,)) for m in moments)) for seed in range(4)]

    runs = [*thinker("slow", 60.0, 0.1), *thinker("fast", 1.0, 0.2)]
    paid = {"p": (100.0, 1.0)}
    assert [s.method for s in ranking(runs, 1.0, rng()).complete] == ["slow", "fast"]
    assert [s.method for s in ranking(runs, 1.0, rng(), thinking=paid).complete] == ["fast", "slow"]
    assert against_best(runs, "slow", None, 1.0, rng()).ratio.value == pytest.approx(0.5)
    assert against_best(runs, "slow", None, 1.0, rng(), thinking=paid).ratio.value == pytest.approx(4.5)


def test_the_best_is_chosen_on_the_other_half_of_the_seeds() -> None:
    # Seeds 0 and 2 make one half, 1 and 3 the other: "even" is best on the first, "odd" on the second.
    runs = table({"p": {"ours": [0.2, 0.3, 0.2, 0.3], "even": [0.1, 0.8, 0.1, 0.8], "odd": [0.4, 0.2, 0.4, 0.2]}})
    (versus,) = against_best(runs, "ours", None, 1.0, rng()).problems
    assert versus.chosen == ("even", "odd")
    assert versus.ours == pytest.approx(0.25)
    assert versus.best == pytest.approx((0.4 + 0.8) / 2)  # odd judged on the even half, even on the odd half
    assert versus.ratio.value == pytest.approx(0.25 / 0.6)
    assert versus.separate


def test_halves_count_by_their_seeds() -> None:
    runs = table({"p": {"ours": [0.1, 0.6, 0.1, 0.6, 0.1], "other": [0.2] * 5, "worse": [0.9] * 5}})
    (versus,) = against_best(runs, "ours", None, 1.0, rng()).problems
    assert versus.ours == pytest.approx(0.3)  # three seeds in the one half, two in the other
    assert versus.ratio.value == pytest.approx(1.5)
    drawn = against_best(runs, "ours", None, 1.0, rng(), draws=50).problems[0].ratio
    assert (drawn.low, drawn.high) == pytest.approx((1.5, 1.5))  # each half is constant: nothing varies


def test_the_choice_is_repeated_in_every_draw() -> None:
    # On both halves "a" is the best, by a hair; in many draws "b" is.
    runs = table({"p": {"ours": [0.1] * 8, "a": [0.1] * 6 + [0.5] * 2, "b": [0.21] * 8}})
    alone, among = (against_best(runs, "ours", others, 1.0, rng()).problems[0] for others in (["a"], ["a", "b"]))
    assert alone.chosen == among.chosen == ("a",)
    assert alone.ratio.value == among.ratio.value == pytest.approx(0.5)
    assert abs(np.log(alone.ratio.low / among.ratio.low)) > 0.1


def test_few_seeds_are_said_to_be_few() -> None:
    runs = table({"p": {"ours": [0.2, 0.2, 0.2], "a": [0.1, 0.1, 0.4], "b": [0.3, 0.3, 0.3]}})
    result = against_best(runs, "ours", None, 1.0, rng())
    (versus,) = result.problems
    assert not versus.separate
    assert versus.chosen == ("a",)
    assert versus.ratio.value == pytest.approx(1.0)
    assert versus.ratio.seeds == 3
    single = against_best([r for r in runs if r.seed == 0], "ours", None, 1.0, rng())
    assert single.ratio == Ratio(pytest.approx(2.0), 0.0, np.inf, 1)  # type: ignore[arg-type]
    assert single.lost_clearly == ()


def test_others_with_holes_are_left_out_where_they_did_not_run() -> None:
    runs = table(
        {
            "p": {"ours": [0.1] * 4, "a": [0.2] * 4, "b": [0.05] * 4},
            "q": {"ours": [0.1] * 4, "a": [0.2] * 4},
            "alone": {"ours": [0.1] * 4},
            "theirs": {"a": [0.1] * 4},
        }
    )
    result = against_best(runs, "ours", None, 1.0, rng())
    assert [(v.problem, v.chosen, v.left_out) for v in result.problems] == [("p", ("b",), ()), ("q", ("a",), ())]
    assert result.ratio.value == pytest.approx(1.0)  # 2 on p, 1/2 on q
    assert result.lost_clearly == ("p",)


def test_an_other_with_few_seeds_does_not_take_them_from_everybody() -> None:
    runs = table({"p": {"ours": [0.1] * 8, "a": [0.2] * 8, "slow": [0.01] * 3}})
    (versus,) = against_best(runs, "ours", None, 1.0, rng()).problems
    assert (versus.chosen, versus.left_out, versus.ratio.seeds) == (("a",), ("slow",), 8)
    (kept,) = against_best(runs, "ours", None, 1.0, rng(), fewest=1).problems
    assert (kept.chosen, kept.left_out, kept.ratio.seeds) == (("slow",), (), 3)
    assert not kept.separate


def test_others_with_disjoint_seeds_are_not_mixed() -> None:
    runs = [
        *(run("p", "ours", seed, 0.1) for seed in range(10)),
        *(run("p", "a", seed, 0.2) for seed in range(5)),
        *(run("p", "b", seed, 0.3) for seed in range(5, 10)),
    ]
    (versus,) = against_best(runs, "ours", None, 1.0, rng(), fewest=1).problems
    assert (versus.chosen, versus.left_out) == (("a",), ("b",))


def test_seeds_that_we_do_not_have_count_for_nobody() -> None:
    runs = [r for r in table({"p": {"ours": [0.1] * 9, "a": [0.2] * 9}}) if r.method == "a" or r.seed < 2]
    (versus,) = against_best(runs, "ours", None, 1.0, rng()).problems
    assert (versus.chosen, versus.ratio.seeds, versus.separate) == (("a",), 2, False)


def test_chosen_others_only_are_looked_at() -> None:
    runs = table({"p": {"ours": [0.1] * 4, "a": [0.2] * 4, "b": [0.05] * 4}})
    assert against_best(runs, "ours", ["ours", "a"], 1.0, rng()).others == ("a",)
    assert against_best(runs, "ours", ["ours", "a"], 1.0, rng()).ratio.value == pytest.approx(0.5)


def test_names_that_nobody_has_are_refused() -> None:
    runs = simulated(1, 2, 4)
    with pytest.raises(UnknownNameError, match="'m9'"):
        ranking(runs, 1.0, rng(), ours="m9")
    with pytest.raises(UnknownNameError, match="'m9'"):
        against_best(runs, "m0", ["m9"], 1.0, rng())
    with pytest.raises(InvalidValueError, match="nothing to compare"):
        against_best(runs, "m0", ["m0"], 1.0, rng())
    with pytest.raises(InvalidValueError, match="no runs"):
        ranking([], 1.0, rng())


def test_thinking_and_evaluations_are_of_whole_runs() -> None:
    def counted(seed: int, overhead_s: float, counts: tuple[int, int]) -> Run:
        half = tuple(count // 2 for count in counts)
        return Run("p", "m", seed, (Moment(0.5, 0, 0.1, 1.0, half), Moment(1.0, 0, 0.1, overhead_s, counts)))

    runs = [counted(0, 8.0, (2, 6)), counted(1, 4.0, (4, 12))]
    assert overhead_per_evaluation(runs) == {"p": {"m": pytest.approx(12 / 24)}}
    assert mean_evaluations(runs) == {"p": {"m": (3.0, 9.0)}}
    assert mean_evaluations(runs, 0.5) == {"p": {"m": (1.5, 4.5)}}
    idle = overhead_per_evaluation([counted(0, 1.0, (0, 0))])
    assert np.isnan(idle["p"]["m"])


def test_results_are_values() -> None:
    result = ranking(HAND, 1.0, rng())
    with pytest.raises(FrozenInstanceError):
        result.share = 0.5  # type: ignore[misc]


def test_a_whole_suite_takes_little_time() -> None:
    runs = simulated(20, 20, 10)
    start = time.process_time()
    ranking(runs, 1.0, rng(), ours="m0")
    against_best(runs, "m0", None, 1.0, rng())
    assert time.process_time() - start < 4.0
