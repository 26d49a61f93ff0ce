"""What a study was made of, in words; anybody who can write to its storage may have written it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flexibo._internal.numbers import format_number
from flexibo.cli._text import counted
from flexibo.results.chance import CHANCE

MOST = 1e15  # larger numbers mean nothing here, and NaN is not smaller


def made_sentence(origin: Mapping[str, Any]) -> str:
    """How a study began: its file, or the system with what decides its values; empty if a program made it.

    >>> made_sentence({"study_file": "/home/ada/study.yaml", "sha256": "beef"})
    'Made by flexibo run: study file /home/ada/study.yaml.'
    >>> made_sentence({"system": "lenet-h200", "recorded": True})
    'Made by flexibo run: recorded table lenet-h200.'
    >>> made_sentence({"system": "lenet", "size": "tiny", "limit": 1, "longest": float("inf"), "knobs": 3})
    'Made by flexibo run: system lenet, size tiny, at most 1 training example.'
    """
    said = list(_parts(origin))
    return f"Made by flexibo run: {', '.join(said)}." if said else ""


def _parts(origin: Mapping[str, Any]) -> Iterator[str]:
    if origin.get("study_file"):
        yield f"study file {origin['study_file']}"
    if system := origin.get("system"):
        yield f"{'recorded table' if origin.get('recorded') else 'system'} {system}"
    for key in ("size", "dataset"):
        if origin.get(key):
            yield f"{key} {origin[key]}"
    if _is_number(origin.get("limit")):
        yield f"at most {counted(int(origin['limit']), 'training example')}"
    if _is_number(origin.get("epochs")):
        yield counted(int(origin["epochs"]), "epoch")
    if origin.get("augment"):
        yield "images shifted and mirrored"
    if origin.get("platform"):
        yield f"platform {origin['platform']}"
    if origin.get("read_from"):
        yield f"energy from {origin['read_from']}"
    for key, words in (("knobs", "knobs"), ("and", "and")):
        if isinstance(origin.get(key), list) and origin[key]:
            yield f"{words} {' '.join(map(str, origin[key]))}"
    if _is_number(origin.get("longest")):
        yield f"evaluations of at most {format_number(float(origin['longest']))} s"
    if isinstance(origin.get("meters"), Mapping):
        yield from (f"{objective} from {meter}" for objective, meter in origin["meters"].items())
    level = origin.get(CHANCE)
    if isinstance(level, Mapping) and _is_number(level.get("percent")):
        yield f"{level.get('objective')} by chance {format_number(float(level['percent']))} %"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST
