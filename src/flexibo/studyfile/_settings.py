"""The keys of a study file that are arguments of `flexibo.Study`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flexibo.belief.costs import TRANSFORMS
from flexibo.errors import FlexiBOError
from flexibo.methods.table import METHODS, check_method, find_method
from flexibo.objectives import Objective
from flexibo.space import Space
from flexibo.study import Study
from flexibo.study.stop_rules import RULES
from flexibo.studyfile._fields import Fields, cause
from flexibo.studyfile._yaml_nodes import YamlList, YamlMapping, YamlScalar
from flexibo.studyfile.mistakes import nearest
from flexibo.surrogates.table import SURROGATES

MOST_INITIAL = 100_000
MOST_CANDIDATES = 1_000_000
MOST_SEED = 2**128 - 1


def settings_of(fields: Fields, objectives: Sequence[Objective]) -> dict[str, Any]:
    """The settings in the file; errors are noted, missing ones are omitted."""
    optimised = [objective.name for objective in objectives if objective.optimise]
    found = {
        "method": _method(fields),
        "budget": fields.duration("budget"),
        "seed": fields.whole("seed", 0, MOST_SEED),
        "n_initial": fields.whole("n_initial", 1, MOST_INITIAL),
        "candidates": fields.whole("candidates", 1, MOST_CANDIDATES),
        "delta": fields.number("delta"),
        "surrogate": fields.one_of("surrogate", SURROGATES),
        "lease": fields.duration("lease"),
        "reference": fields.amounts("reference", optimised or None, "optimised objective"),
        "stop": _stop(fields),
    }
    return {key: value for key, value in found.items() if value is not None}


def cost_of(fields: Fields, function: Callable[[], Any]) -> dict[str, Any]:
    """The cost function: one of the known ones by name, or ``module:function``."""
    text = fields.text("cost")
    if text is None:
        return {}
    if ":" in text:
        given = function()
        return {} if given is None else {"cost": given}
    if text not in TRANSFORMS:
        fields.note("cost", f"Unknown cost {text!r}{nearest(text, TRANSFORMS)} A function is given as module:function.")
        return {}
    return {"cost": text}


def initial_of(fields: Fields, space: Space | None) -> dict[str, Any]:
    node = fields.table.get("initial_designs")
    if node is None:
        return {}
    if not isinstance(node, YamlList):
        fields.note("initial_designs", "initial_designs must be a list of designs, as in - {filters: 16, cores: 2}.")
        return {}
    designs = []
    for item in node.items:
        if not isinstance(item, YamlMapping):
            fields.mistakes.add(item.place, "An initial design is not a mapping of options to values.")
            continue
        nodes = {entry.key: entry.node for entry in item.entries}
        design = {key: node.value if isinstance(node, YamlScalar) else None for key, node in nodes.items()}
        designs.append(design)
        try:
            if space is not None:
                space.design(design)
        except FlexiBOError as error:
            fields.mistakes.add(item.place, f"In initial_designs: {error}")
    return {"initial_designs": designs}


def check_whole(fields: Fields, space: Space, objectives: Sequence[Objective], settings: Mapping[str, Any]) -> None:
    """Note what is wrong with the study as a whole, by creating it in memory."""
    try:
        Study(space, objectives, **settings)
    except FlexiBOError as error:
        key = cause(lambda given: Study(space, objectives, **given), settings)
        fields.note(key or ("method" if _is_refused(settings.get("method"), objectives) else "objectives"), str(error))


def _is_refused(method: str | None, objectives: Sequence[Objective]) -> bool:
    """Whether a method that the file names cannot handle the objectives."""
    try:
        if method is not None:
            check_method(find_method(method), objectives)
    except FlexiBOError:
        return True
    return False


def _method(fields: Fields) -> str | None:
    name = fields.text("method")
    if name is None:
        return None
    try:
        return find_method(name).name
    except FlexiBOError:
        fields.note("method", f"Unknown method {name!r}{nearest(name, METHODS)} 'flexibo methods' lists them.")
        return None


def _stop(fields: Fields) -> dict[str, Any] | None:
    inner = fields.inner("stop", " of stop", "a mapping such as {max_evaluations: 100}")
    if inner is None:
        return None
    inner.check_keys(RULES)
    found: dict[str, Any] = {
        "max_evaluations": inner.whole("max_evaluations", 1),
        "gain_per_cost": inner.number("gain_per_cost"),
        "max_seconds": inner.duration("max_seconds"),
        "certified_error": inner.share("certified_error"),
    }
    if (gain := found["gain_per_cost"]) is not None and gain < 0:
        inner.note("gain_per_cost", f"gain_per_cost of stop is {gain}; it must be zero or more.")
    return {rule: limit for rule, limit in found.items() if limit is not None}
