"""Adds events to a study, and prints those that are safe by then."""

from __future__ import annotations

from typing import Any

from flexibo.storage.sql import SQLStorage


def main(url: str, worker: str, number: int) -> None:
    storage = SQLStorage(url, "study")
    print("open", flush=True)
    known: list[dict[str, Any]] = []
    for i in range(number):
        event = {"worker": worker, "i": i}

        def decide(new: list[dict[str, Any]], event: dict[str, Any] = event) -> list[dict[str, Any]]:
            known.extend(new)
            return [event]

        storage.commit(len(known), decide)
        known.append(event)
        print(worker, i, flush=True)
    assert storage.read()[: len(known)] == known  # it was given everything, in order and once
