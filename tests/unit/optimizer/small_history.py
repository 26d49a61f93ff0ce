"""A history of designs on a line with two objectives, written event by event, and a surrogate without opinions."""

from __future__ import annotations

import numpy as np

from flexibo import Design, Objective, Space
from flexibo.history import History
from flexibo.history.events import Asked, BudgetSet, Evaluation, Failed, Told

SPACE = Space({"x": [0, 1, 2, 3]})


def at(x: int) -> Design:
    return SPACE.design({"x": x})


def history_of(*objectives: Objective, budget: float | None = None, space: Space = SPACE) -> History:
    """An empty history; by default of the objectives a and b."""
    history = History(space, objectives or [Objective("a"), Objective("b")])
    if budget is not None:
        history.append(BudgetSet(budget))
    return history


def ask(history: History, design: Design, objective: str, *, initial: bool = False, cost: float = 0.0) -> int:
    """Ask for an objective of a design; the number of the question."""
    number = len(history.asked)
    yields = tuple(history.names[j] for j in history.purchases[history.purchase_of(objective)].members)
    history.append(Asked(Evaluation(design, objective, None, cost, "", number, yields, initial=initial)))
    return number


def tell(history: History, design: Design, value: float, *names: str, cost: float = 1.0, initial: bool = False) -> None:
    """Measure objectives of a design, all with the same value."""
    for name in names or history.names:
        history.append(Told(ask(history, design, name, initial=initial), {name: value}, cost))


def fail(history: History, design: Design, objective: str, *, impossible: bool = False, reason: str = "broken") -> None:
    history.append(Failed(ask(history, design, objective), reason, 1.0, impossible=impossible))


class Flat:
    """Predicts the mean of what it learned from, with a deviation of 1, for every design."""

    def __init__(self, y: np.ndarray | None = None) -> None:
        self.y = np.empty(0) if y is None else y

    def fit(self, X: np.ndarray, y: np.ndarray, *, groups: object, rng: object) -> Flat:
        return Flat(y)

    def extend(self, X: np.ndarray, y: np.ndarray) -> Flat:
        return Flat(np.append(self.y, y))

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full(len(X), self.y.mean()), np.ones(len(X))
