"""What a recording measures: all combinations of some sampled networks and some sampled deployments."""

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
from flexibo.systems.recording.columns import is_scalar

Options = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """The grid of a recording."""

    system: str
    networks: tuple[Options, ...]  # the sampled networks: values of the network's options
    deployments: tuple[Options, ...]  # the sampled deployments: values of the platform's options
    again: frozenset[tuple[int, int]]  # combinations (network, deployment) that are measured twice, to show the noise
    settings: Mapping[str, Any]  # what else decides the values: data, training, platform, seed

    @property
    def fingerprint(self) -> str:
        """Changes with everything that decides what is measured."""
        content = [self.system, self.networks, self.deployments, sorted(self.again), dict(self.settings)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def plain(self) -> dict[str, Any]:
        """The plan as plain values, for a file; the inverse of `plan_from`."""
        return {
            "system": self.system,
            "networks": list(self.networks),
            "deployments": list(self.deployments),
            "again": sorted(map(list, self.again)),
            "settings": dict(self.settings),
        }


def plan_from(plain: Mapping[str, Any]) -> Plan:
    """The plan from `Plan.plain`; raises KeyError, TypeError or ValueError if it is none."""
    again = frozenset((int(network), int(deployment)) for network, deployment in plain["again"])
    networks, deployments = (_combinations(plain[what]) for what in ("networks", "deployments"))
    return Plan(str(plain["system"]), networks, deployments, again, dict(plain["settings"]))


def _combinations(plain: Any) -> tuple[Options, ...]:
    """Option values from a file: at least one combination, all with the same options, no two alike."""
    if not isinstance(plain, list) or not plain or not all(isinstance(one, dict) for one in plain):
        raise TypeError
    kept = {tuple(one.items()) for one in plain if one.keys() == plain[0].keys() and all(map(is_scalar, one.values()))}
    if not plain[0] or len(kept) < len(plain):
        raise ValueError
    return tuple(plain)


def drawn(options: Mapping[str, Values], count: int, rng: np.random.Generator) -> tuple[Options, ...]:
    """At most `count` different combinations of option values; all of them if there are no more."""
    space = Space({name: Ordinal(values) for name, values in options.items()})
    designs = space.enumerate() if space.size <= count else space.sample(count, rng)
    return tuple(dict(design) for design in designs)


def capped(options: Mapping[str, tuple[float, ...]], at_most: Mapping[str, float]) -> dict[str, tuple[float, ...]]:
    """The options without values above a maximum.

    >>> capped({"filters": (16, 32, 64), "size": (1, 3)}, {"filters": 32})
    {'filters': (16, 32), 'size': (1, 3)}
    """
    for name, most in at_most.items():
        if name not in options:
            raise unknown_name("option of the network", name, options)
        if not any(value <= most for value in options[name]):
            raise InvalidValueError(
                f"Option {name!r} has no value of at most {most:g}; its smallest is {options[name][0]}."
            )
    return {
        name: tuple(value for value in values if name not in at_most or value <= at_most[name])
        for name, values in options.items()
    }


def largest_values(given: Sequence[str]) -> dict[str, float]:
    """The largest value of each option, from texts ``OPTION=VALUE``.

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


def wanted_values(given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The values of each option, as texts, from texts ``OPTION=VALUE,VALUE``.

    >>> wanted_values(["batch=16,256"])
    {'batch': ('16', '256')}
    """
    found = {}
    for text in given:
        name, _, values = text.partition("=")
        found[name] = tuple(value.strip() for value in values.split(",") if value.strip())
        if not name or not found[name]:
            raise InvalidValueError(f"--only is {text!r}; write OPTION=VALUE,VALUE, as in batch=16,256.")
    return found


def narrowed(options: Mapping[str, Values], only: Mapping[str, Sequence[str]]) -> dict[str, Values]:
    """The options, restricted to the given values; names of other options are ignored.

    >>> narrowed({"batch": (1, 16, 256), "cuda_graphs": (False, True)}, {"batch": ["256"], "cuda_graphs": ["true"]})
    {'batch': (256,), 'cuda_graphs': (True,)}
    """
    return {name: _chosen(name, values, only[name]) if name in only else values for name, values in options.items()}


def _chosen(name: str, values: Values, wanted: Sequence[str]) -> Any:
    known, texts = {str(value).lower(): value for value in values}, {text.lower() for text in wanted}
    for text in sorted(texts):
        if text not in known:
            raise unknown_name(f"value of option {name!r}", text, known)
    return tuple(value for text, value in known.items() if text in texts)  # in the option's own order


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
    """A plan that depends on its arguments only: sampled networks and deployments, `again` cells measured twice."""
    for name, number, least in (("networks", networks, 1), ("deployments", deployments, 1), ("again", again, 0)):
        if number < least:
            raise InvalidValueError(f"{name} is {number}; it must be at least {least}.")
    rows = drawn(network, networks, np.random.default_rng((seed, 0)))
    columns = drawn(deployment, deployments, np.random.default_rng((seed, 1)))
    cells = np.random.default_rng((seed, 2)).permutation(len(rows) * len(columns))[:again]
    twice = frozenset((int(cell) // len(columns), int(cell) % len(columns)) for cell in cells)
    return Plan(system, rows, columns, twice, {**settings, "seed": seed})
