"""The method and the models of a study, as its latest settings say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from flexibo.belief.costs import TRANSFORMS, CostCallable
from flexibo.history import History
from flexibo.methods.base import Method
from flexibo.methods.table import find_method
from flexibo.optimizer import Optimizer
from flexibo.optimizer.predictor import Predictor
from flexibo.study._change import rule_of
from flexibo.study.changes import UNSET, ChangeRequest
from flexibo.study.settings import Settings, choice_name, stored_choice
from flexibo.surrogates import Surrogate
from flexibo.surrogates.table import SURROGATES


class Mind:
    """What decides the questions of a study besides its history; it follows the history when that is changed.

    Attributes:
        surrogate: The surrogate that was given, which may be one that cannot be stored.
        cost: The same of the cost.
    """

    def __init__(self, history: History, *, surrogate: str | Surrogate | None, cost: str | CostCallable | None) -> None:
        self.surrogate = surrogate
        self.cost = cost
        self._history = history
        self._fits: Callable[[], bytes | None] | None = None
        self._made: tuple[Mapping[str, Any], Settings, Optimizer] | None = None
        self._options: frozenset[str] = frozenset()
        self._rules = 0

    def begin_with(self, stored_fits: Callable[[], bytes | None]) -> None:
        """Recall what fits found before; from now on the options of the study and its rule are those known here."""
        self._fits = stored_fits
        self.optimizer.predictor.fits.begin_with(stored_fits)
        self.know()

    def know(self) -> None:
        """This process knows the options and the rule as they are now."""
        self._options, self._rules = frozenset(self._history.space.names), self._history.rules

    @contextmanager
    def changing(self, request: ChangeRequest) -> Iterator[None]:
        """A context in which this process changes the study: it knows what cannot be stored."""
        before = self.surrogate, self.cost, self._history.rule
        self.surrogate = before[0] if request.surrogate is UNSET else request.surrogate
        self.cost = before[1] if request.cost is UNSET else request.cost
        self._history.rule = rule_of(request, self._history.rule)
        is_known = not self.outdated()
        try:
            yield
        except BaseException:
            self.surrogate, self.cost, self._history.rule = before
            raise
        if is_known:
            self.know()

    def outdated(self) -> str:
        """Why this process must not measure any more, in a sentence; empty if it may."""
        new = [name for name in self._history.space.names if name not in self._options]
        if new:
            what = f"option {new[0]!r}, which the functions of this process may not read"
        elif self._history.rules != self._rules:
            what = "another rule, which this process does not know"
        else:
            return ""
        return f"The study was changed and has {what}; start this process again."

    @property
    def settings(self) -> Settings:
        """The latest settings."""
        return self._current()[1]

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer with the latest settings."""
        return self._current()[2]

    @property
    def method(self) -> Method:
        """The method with the latest settings."""
        return self.optimizer.predictor.method

    def _current(self) -> tuple[Mapping[str, Any], Settings, Optimizer]:
        stored = self._history.settings
        if self._made is None or self._made[0] is not stored:
            settings = Settings.of(self._history)
            self._made = stored, settings, self._optimizer(settings)
            if self._fits is not None:
                self._made[2].predictor.fits.begin_with(self._fits)
        return self._made

    def _optimizer(self, settings: Settings) -> Optimizer:
        surrogate = self.surrogate if choice_name(self.surrogate) == settings.surrogate else None
        cost = self.cost if choice_name(self.cost) == settings.cost else None
        predictor = Predictor(
            find_method(settings.method),
            settings.initial_designs,
            full_start=settings.full_start,
            seed=settings.seed,
            m=settings.candidates,
            delta=settings.delta,
            surrogate=stored_choice("surrogate", surrogate, settings.surrogate, SURROGATES),
            cost=stored_choice("cost", cost, settings.cost, TRANSFORMS),
        )
        return Optimizer(predictor, n_given=settings.n_given)
