"""Which designs are considered: the initial ones, and the candidates of each question."""

from __future__ import annotations

import numpy as np

from flexibo._internal.random_streams import Stream, generator
from flexibo.history import History
from flexibo.history.readings import confirmed_front, readings
from flexibo.space import Design, Designs, Space
from flexibo.space.filling import filling, spread

DRAWS_PER_CANDIDATE = 50  # a rule that forbids nearly everything makes the draw smaller, not slow
MOST_PARENTS = 12  # at most this many designs of the front lend their neighbours to the candidates
CORNERS = 0.04  # the share of the candidates that are corners of the space, as long as these are worth it
DISAPPOINTING = 3  # they are not once this many more of them missed the front than are on it


def initial_designs(space: Space, count: int, seed: int) -> tuple[Design, ...]:
    """The first designs of a study: a uniform draw that depends on space, count and seed, not on the method."""
    return tuple(space.sample(count, generator(seed, Stream.INITIAL_DESIGNS)))


def filling_designs(space: Space, count: int, seed: int) -> tuple[Design, ...]:
    """Designs that fill the space evenly, ordered so that the first few of them are far apart."""
    rng = generator(seed, Stream.INITIAL_DESIGNS)
    found = space.from_codes(np.empty((0, len(space.names))))
    for block in filling(space, rng):
        found += block
        if len(found) >= count:
            break
    if not len(found):
        found = space.sample(count, rng)  # an error that says why
    return tuple(spread(found[:count]))


def candidates(
    space: Space,
    m: int,
    known: Designs,
    rng: np.random.Generator,
    *,
    parents: Designs | None = None,
    steps: bool = False,
    corners: bool = False,
) -> Designs:
    """The candidates X_m: distinct designs drawn by Monte Carlo, after all that were asked about before (`known`).

    If the space has at most m designs, all of them are candidates. Neighbours of the parents replace up to half of the
    draw; with `steps`, half of these are random steps away from the parents instead, where there is no pool. With
    `corners`, a few of the draw are corners of the space.
    """
    if space.size <= m:
        return (known + space.enumerate()).unique()
    near = known[:0]
    if parents is not None and len(parents):
        near = around(space, m // 2, parents, rng) if steps else neighbourhood(space, parents, m // 2, rng)
    if corners:
        near += space.corners(round(CORNERS * m), rng)
    drawn = space.sample(m - len(near), rng, draws=DRAWS_PER_CANDIDATE * m)
    return (known + near + drawn).unique()


def corners_are_worth_it(history: History) -> bool:
    """Whether corners of the space are candidates: until too many of those that were measured missed the front.

    Models are least certain there, so they promise much. Where losses rise or fall with every option they keep it.
    """
    if history.space.pool is not None:  # it has none
        return False
    places = np.flatnonzero(history.space.is_corner(history.designs))
    if len(places) < DISAPPOINTING:
        return True
    read = readings(history)
    on_front = np.isin(places, confirmed_front(history, read))
    missed = read.complete[places] & ~on_front
    return int(missed.sum()) - int(on_front.sum()) < DISAPPOINTING


def around(space: Space, most: int, parents: Designs, rng: np.random.Generator) -> Designs:
    """At most `most` designs around the parents: half neighbours, half random steps away, where there is no pool."""
    away = space.steps_away(parents, most // 2, rng)
    return (neighbourhood(space, parents, most - len(away), rng) + away).unique()


def neighbourhood(space: Space, parents: Designs, most: int, rng: np.random.Generator) -> Designs:
    """At most `most` designs that differ in one option from one of the parents."""
    near = parents[:0]
    for i in rng.permutation(len(parents))[:MOST_PARENTS]:
        near += space.neighbours(parents[[int(i)]], rng)
    near = near.unique()
    return near[np.sort(rng.permutation(len(near))[:most])]
