"""A small study whose queue is measured by an executor that a test gives."""

from __future__ import annotations

from flexibo import Objective, Space, Study
from flexibo.executors import Executor, Measure
from flexibo.history.events import Asked, Told


def check_queue(executor: Executor) -> None:
    """Run a study with a queued design, then confirm its front by second readings; all of it is measured once."""
    # Not functions of this module, which the workers of a cluster may not have.
    functions: dict[str, Measure] = {
        "error": lambda design: (design["x"], 1.0),
        "joules": lambda design: (1.0 - design["x"], 1.0),
    }
    study = Study(
        Space({"x": (0.0, 1.0)}),
        [Objective("error"), Objective("joules", noisy=True, remeasure=True)],
        method="random",
        budget=12,
        seed=1,
        n_initial=2,
    )
    queued = study.enqueue({"x": 0.125})
    study.run(functions, executor=executor, progress=False)
    assert study.queue == ()
    assert sorted(asked_of(study, queued.number)) == ["error", "joules"]
    first = [event.evaluation for event in study.events if isinstance(event, Asked)][:2]
    assert all(evaluation.queued == queued.number for evaluation in first)
    confirmed = study.confirm(functions, readings=2, budget=20, executor=executor, progress=False)
    assert confirmed
    assert study.queue == ()
    assert all(asked_of(study, one.number) for one in confirmed)
    told = [event.number for event in study.events if isinstance(event, Told)]
    assert len(told) == len(set(told)) == len([event for event in study.events if isinstance(event, Asked)])
    assert study.spent == len(told)


def asked_of(study: Study, number: int) -> list[str]:
    """The objectives that were asked of a queued design."""
    return [e.evaluation.objective for e in study.events if isinstance(e, Asked) and e.evaluation.queued == number]
