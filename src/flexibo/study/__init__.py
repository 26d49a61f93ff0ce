"""Study: ask, tell, run, resume, front. Here the mind meets the world.

It imports the optimizer, results, storage and executors. What starts with an underscore is private.
"""

from flexibo.study.study import Study

__all__ = ["Study"]
