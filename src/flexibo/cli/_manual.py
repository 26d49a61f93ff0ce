"""What ``flexibo run`` does about objectives of a study file that are measured by hand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from flexibo._internal.text import printable_line

if TYPE_CHECKING:
    from flexibo.cli._measure import Place
    from flexibo.study import Study

SHORT = "0.01s"
"""A person takes longer than a run should wait, so it ends when there is nothing left but what they measure."""


def not_waiting(place: Place) -> Place:
    """The same place, without waiting for others unless it was typed how long."""
    return place if place.idle else replace(place, idle=SHORT)


def say_why(study: Study, by_hand: Collection[str]) -> None:
    """Let a study that ended because only a hand can go on with it say so."""
    from flexibo.optimizer import StopKind

    if by_hand and study.stop_kind is StopKind.IDLE:
        study.record_stop(StopKind.MANUAL, f"What is left is measured by hand: {', '.join(by_hand)}.")


def waits_for_hands(study: Study) -> bool:
    """Whether the study was not run at all, or ended because only a hand can go on with it."""
    from flexibo.optimizer import StopKind

    return study.stop_kind in (None, StopKind.MANUAL)


def sentences_by_hand(study: Study, url: str, by_hand: Sequence[str], command: str) -> list[str]:
    """Where the study is kept, and how it is asked and told.

    Args:
        study: The study.
        url: Where it is kept.
        by_hand: The objectives that are measured by hand.
        command: What measures the others; empty where there are none.
    """
    from flexibo.cli._outcome import near, typed
    from flexibo.cli._storage_options import VARIABLE
    from flexibo.storage import shown_url

    has_secret = shown_url(url) != url
    where: dict[str, object] = {"--storage": None if has_secret else near(url), "--name": study.name}
    only = list(by_hand) if command else []
    ask = typed(["flexibo", "ask"], {**where, "--only": only})
    tell = typed(["flexibo", "tell", "NUMBER", "VALUE", "--cost", "COST"], where)
    found = [
        f"The study {study.name!r} is kept in {near(url)}; by hand: {', '.join(by_hand)}.",
        *([f"Set {VARIABLE} to the storage for these commands."] if has_secret else []),
        f"Ask what to measure:   {ask}",
        f"Answer:                {tell}",
        *([f"Then go on here with:  {command}"] if command else []),
    ]
    return [printable_line(sentence) for sentence in found]
