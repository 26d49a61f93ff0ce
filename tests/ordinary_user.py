"""Tests of what an ordinary user may not do, also where the tests are run by root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

NOBODY = 65534


@contextmanager
def as_an_ordinary_user() -> Iterator[None]:
    """Root may read and write every file: step down to a user who may not. Others stay who they are."""
    if os.geteuid() != 0:
        yield
        return
    try:
        os.seteuid(NOBODY)
    except PermissionError:
        pytest.skip("root without the right to become another user")
    try:
        yield
    finally:
        os.seteuid(0)
