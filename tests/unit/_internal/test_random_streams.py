from __future__ import annotations

import numpy as np

from flexibo._internal.random_streams import Stream, entropy, generator


def test_the_numbers_of_the_streams_never_change() -> None:
    assert {stream.name: stream.value for stream in Stream} == {
        "INITIAL_DESIGNS": 0,
        "SURROGATES": 1,
        "QUESTIONS": 2,
        "EVOLUTION": 3,
        "SOBOL": 4,
        "FIXED_CANDIDATES": 5,
        "REPLACEMENTS": 6,
        "COSTS": 7,
    }


def test_a_stream_is_its_seed_its_number_and_what_tells_draws_apart() -> None:
    assert entropy(9, Stream.QUESTIONS, 4, 1) == (9, 2, 4, 1)
    assert generator(9, Stream.COSTS, 4).random() == np.random.default_rng((9, 7, 4)).random()
    assert generator(9, Stream.COSTS).random() != generator(9, Stream.SOBOL).random()
