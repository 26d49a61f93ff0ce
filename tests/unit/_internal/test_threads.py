from __future__ import annotations

import pytest
from threadpoolctl import ThreadpoolController

from flexibo._internal.threads import single_thread


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in ThreadpoolController().info() if library["user_api"] == "blas"}


def test_blas_has_one_thread_inside_and_as_many_as_before_afterwards() -> None:
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        assert blas_threads() == {2}
        with single_thread():
            assert blas_threads() == {1}
            with single_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_an_error_inside_restores_the_number_of_threads() -> None:
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        with pytest.raises(ZeroDivisionError), single_thread():
            1 / 0  # noqa: B018
        assert blas_threads() == {2}
