"""Examples in memory, and errors about their files."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from flexibo.errors import FlexiBOError
from flexibo.systems.data.base import (
    DamagedDataError,
    Dataset,
    Images,
    MissingDataError,
    Question,
    Questions,
    Recordings,
    Reviews,
)

EVIL = "a\nflexibo: fine\x1b[2J\u202e"
ESCAPED = r"a\nflexibo: fine\x1b[2J\u202e"


def test_a_damaged_data_error_survives_the_way_from_another_process() -> None:
    error = pickle.loads(pickle.dumps(DamagedDataError(EVIL)))
    assert (type(error), str(error)) == (DamagedDataError, ESCAPED)


def test_a_missing_data_error_keeps_its_lines_and_no_name_adds_one() -> None:
    error = MissingDataError("None is there:", f"- {EVIL}")
    assert str(error) == f"None is there:\n- {ESCAPED}"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (MissingDataError, str(error))


def test_errors_about_data_can_be_handled_as_what_they_are_in_python() -> None:
    assert issubclass(MissingDataError, FlexiBOError)
    assert issubclass(MissingDataError, FileNotFoundError)
    assert issubclass(DamagedDataError, FlexiBOError)
    assert issubclass(DamagedDataError, ValueError)


@pytest.mark.parametrize(
    "examples",
    [
        Images(np.zeros((3, 1, 2, 2), dtype=np.uint8), np.zeros(3, dtype=np.int64), ("a", "b")),
        Reviews(("a", "b", "c"), np.zeros(3, dtype=np.int64)),
        Questions((Question("c", "q", ()),) * 3),
        Recordings((np.zeros(8, dtype=np.float32),) * 3, 8, ("a", "b", "c")),
    ],
    ids=lambda examples: type(examples).__name__,
)
def test_examples_are_counted_and_cannot_be_replaced(examples: Images | Reviews | Questions | Recordings) -> None:
    assert len(examples) == 3
    data = Dataset("small", examples, examples, "f")
    assert data.note == ""
    with pytest.raises(FrozenInstanceError):
        data.train = examples  # type: ignore[misc]
