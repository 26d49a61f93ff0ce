from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from flexibo.compare.workers import finished
from flexibo.errors import FlexiBOError


def test_tasks_come_back_with_their_results() -> None:
    assert sorted(finished(abs, [-3, 2, -1, 5], 2)) == [(-3, 3), (-1, 1), (2, 2), (5, 5)]


def test_one_process_works_here_and_in_order() -> None:
    assert list(finished(os.path.basename, ["a/b", "c/d"], 1)) == [("a/b", "b"), ("c/d", "d")]


@pytest.mark.slow
def test_a_worker_that_dies_is_one_sentence() -> None:
    with pytest.raises(FlexiBOError, match="process died"):
        list(finished(os._exit, list(range(1, 9)), 2))


def test_what_a_task_raises_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        list(finished(_inverse, [1, 0], 1))


def _inverse(number: int) -> float:
    return 1 / number


def test_workers_are_stopped_when_nobody_wants_more() -> None:
    results: Iterator[tuple[int, int]] = finished(abs, list(range(50)), 2)  # type: ignore[assignment]
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert os.environ.get("NUMEXPR_NUM_THREADS") is None
