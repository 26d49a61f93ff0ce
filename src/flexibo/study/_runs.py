"""A run of a study from its arguments to its stop: one at a time, and whatever ends it, nothing stays claimed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from flexibo._internal.interrupts import Terminated
from flexibo._internal.text import printable
from flexibo.errors import FunctionError, InvalidValueError, MachineError
from flexibo.executors import Executor, Measure, Outcome, find_executor
from flexibo.history import History
from flexibo.objectives import Objective
from flexibo.optimizer.stop import Stop, StopKind
from flexibo.study._arguments import checked_executor, checked_functions
from flexibo.study._claims import Claims
from flexibo.study._notebook import ShownStudy
from flexibo.study._run import FirstCallError, RunLoop, RunnableStudy
from flexibo.study.progress import progress_bar

logger = logging.getLogger(__name__)

INTERRUPTED = Stop(StopKind.INTERRUPTED, "Interrupted; what was measured is kept.")
TERMINATED = Stop(StopKind.TERMINATED, "Interrupted by SIGTERM; what was measured is kept.")


class StoppingStudy(ShownStudy, Protocol):
    """What a run needs of the study that it is a run of."""

    @property
    def objectives(self) -> Sequence[Objective]:
        """All objectives."""

    @property
    def shared(self) -> bool:
        """Whether other processes can write to the study."""

    def with_steps(self, objective: Objective, measure: Measure) -> Measure:
        """A function as an executor calls it."""

    def record_stop(self, kind: StopKind, reason: str, *, needs: float | None = None) -> None:
        """Store why the study stopped."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a run measures with: a function for each objective that it serves, and the executor that calls them."""

    functions: Mapping[str, Measure]
    executor: Executor


class Runs:
    """The runs of a study, one at a time."""

    def __init__(self) -> None:
        self._turn = threading.Lock()

    @contextmanager
    def begun(
        self, history: History, objectives: Mapping[str, Measure], executor: Executor | str, *, some: bool
    ) -> Iterator[Means]:
        """The functions of all objectives, or of some, and the executor, checked, while no other thread runs this."""
        leads = _leads(history)
        functions = checked_functions(objectives, history.names, leads, some=some)
        with closing(find_executor(executor)) if isinstance(executor, str) else nullcontext(executor) as opened:
            checked_executor(opened, leads)
            if not self._turn.acquire(blocking=False):
                raise InvalidValueError(
                    "This study is being run already; to run it in two threads, open it in each of them from one "
                    "storage."
                )
            try:
                yield Means(functions, opened)
            finally:
                self._turn.release()


def run_until_stopped(
    study: StoppingStudy,
    source: RunnableStudy,
    means: Means,
    claims: Claims,
    *,
    progress: bool | None,
    idle: float | None,
    place: str = "",
) -> None:
    """Measure what `source`, the study or its queue, asks until it stops; an interrupt is a stop too."""
    functions = means.functions

    def served() -> dict[str, Objective]:
        leads = _leads(study.history)
        return {o.name: o for o in study.objectives if o.name in leads and o.name in functions}

    with progress_bar(study, progress, place) as bar:
        loop = RunLoop(
            source,
            served,
            functions,
            means.executor,
            lambda: bar.update(study),
            begin=lambda: bar.begin(study),
            prepare=study.with_steps,
            alone=not study.shared,
            serves_all=lambda: set(_leads(study.history)) == set(functions),
            idle=idle,
        )
        before, interruption, fault = claims.held(), None, ""
        try:
            stop = loop.run()
        except MachineError as error:
            fault = str(error)
            raise
        except FirstCallError as broken:
            fault = broken.outcome.reason
            raise
        except KeyboardInterrupt as error:
            stop = interruption = TERMINATED if isinstance(error, Terminated) else INTERRUPTED
        finally:
            claims.give_back(claims.held() - before, fault)
        study.record_stop(stop.kind, stop.reason, needs=stop.needs)
        if interruption is not None:
            bar.interrupted(study)
        else:
            bar.finish(study, stop.reason)


def explained(outcome: Outcome, kept: Path | None = None) -> Exception:
    """The error of a function whose first call failed, with a note; of another process with its traceback as text.

    The note says where the values are `kept` that it reported on the way.
    """
    error = outcome.error or FunctionError(f"The function of {outcome.evaluation.objective!r} failed: {outcome.reason}")
    notes = [
        f"It is the first call of this function, for the design {dict(outcome.evaluation.design)}. Nothing is counted: "
        "mend the function and run again, or let it count as a failed evaluation with run(..., raise_first=False)."
    ]
    if kept is not None:
        notes.append(f"Values that it reported on the way are kept; if they are wrong, remove {kept}.")
    if outcome.error is None:
        notes.insert(0, outcome.mistake.rstrip())
    for note in notes:
        if hasattr(error, "add_note"):
            error.add_note(note)
        else:  # Python 3.10
            logger.error("%s", printable(note))
    return error


def _leads(history: History) -> list[str]:
    """The objectives that are asked for."""
    return [purchase.objective for purchase in history.purchases]
