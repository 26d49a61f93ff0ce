from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flexibo._internal.arrays import plain


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
    ],
)
def test_a_numpy_scalar_becomes_one_of_python(given: np.generic, expected: object) -> None:
    found = plain(given)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("given", [3, True, "a", None, [np.int64(3)], np.array(3.0), np.array([3.0])], ids=repr)
def test_anything_else_stays_the_same_object(given: Any) -> None:
    assert plain(given) is given
