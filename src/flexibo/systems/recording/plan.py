"""What a recording measures: every combination of some drawn networks with some drawn deployments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexibo.errors import InvalidValueError, unknown_name
from flexibo.space import Ordinal, Space
from flexibo.systems.options import Values

Options = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """The grid of a recording.

    Attributes:
        system: The name of the system.
        networks: The drawn networks: values of the network's options.
        deployments: The drawn deployments: values of the platform's options.
        again: Combinations (network, deployment) that are read twice, which shows the noise.
        settings: What else decides the values, for the table: data, training, platform, seed.
    """

    system: str
    networks: tuple[Options, ...]
    deployments: tuple[Options, ...]
    again: frozenset[tuple[int, int]]
    settings: Mapping[str, Any]

    @property
    def fingerprint(self) -> str:
        """Changes when anything does that decides what is measured."""
        content = [self.system, self.networks, self.deployments, sorted(self.again), dict(self.settings)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def drawn(options: Mapping[str, Values], count: int, rng: np.random.Generator) -> tuple[Options, ...]:
    """At most `count` different combinations of option values, all of them where there are no more."""
    space = Space({name: Ordinal(values) for name, values in options.items()})
    designs = space.enumerate() if space.size <= count else space.sample(count, rng)
    return tuple(dict(design) for design in designs)


def capped(options: Mapping[str, tuple[float, ...]], at_most: Mapping[str, float]) -> dict[str, tuple[float, ...]]:
    """The options without values above the largest that is wanted of them.

    >>> capped({"filters": (16, 32, 64), "size": (1, 3)}, {"filters": 32})
    {'filters': (16, 32), 'size': (1, 3)}
    """
    for name, most in at_most.items():
        if name not in options:
            raise unknown_name("option of the network", name, options)
        if not any(value <= most for value in options[name]):
            raise InvalidValueError(
                f"Option {name!r} has no value of at most {most:g}; its least is {options[name][0]}."
            )
    return {
        name: tuple(value for value in values if name not in at_most or value <= at_most[name])
        for name, values in options.items()
    }


def largest_values(given: Sequence[str]) -> dict[str, float]:
    """From what a user types, ``OPTION=VALUE``, the largest value that is wanted of each option.

    >>> largest_values(["filters=64"])
    {'filters': 64.0}
    """
    found = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise InvalidValueError(f"--at-most is {text!r}; write OPTION=VALUE, as in filters_1=64.") from None
    return found


def planned(
    system: str,
    network: Mapping[str, Values],
    deployment: Mapping[str, Values],
    *,
    networks: int,
    deployments: int,
    again: int,
    settings: Mapping[str, Any],
    seed: int,
) -> Plan:
    """A plan that depends on its arguments alone.

    Args:
        system: The name of the system.
        network: The options of the network with their values.
        deployment: The options of the platform with their values.
        networks: How many networks to draw.
        deployments: How many deployments to draw.
        again: How many combinations to read a second time.
        settings: What else decides the values.
        seed: Of the draws.
    """
    for name, number, least in (("networks", networks, 1), ("deployments", deployments, 1), ("again", again, 0)):
        if number < least:
            raise InvalidValueError(f"{name} is {number}; it must be at least {least}.")
    rows = drawn(network, networks, np.random.default_rng((seed, 0)))
    columns = drawn(deployment, deployments, np.random.default_rng((seed, 1)))
    cells = np.random.default_rng((seed, 2)).permutation(len(rows) * len(columns))[:again]
    twice = frozenset((int(cell) // len(columns), int(cell) % len(columns)) for cell in cells)
    return Plan(system, rows, columns, twice, {**settings, "seed": seed})
