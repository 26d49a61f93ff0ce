"""Study: ask, tell, run, resume, front. Here the mind meets the world.

It imports the optimizer, results, storage and executors. What starts with an underscore is private.

`study.py` says what a study can do. How it does so: `_create.py` and `settings.py` open one; `_ask.py` chooses and
claims, `_claims.py` gives back what a call could not return; `answers.py` checks what is told; `_queue.py` and
`_confirm.py` put designs next in line; `_runs.py` runs the loop of `_run.py`; `_last_stop.py` and `stop_rules.py` say
why it ends; `event_log.py` and `_guarded_log.py` store what happened.
"""

from flexibo.study.study import Study

__all__ = ["Study"]
