"""Executors: where measurements run."""

from flexibo.executors.base import Executor, Measure, Outcome
from flexibo.executors.inline import InlineExecutor
from flexibo.executors.measuring import measured

__all__ = ["Executor", "InlineExecutor", "Measure", "Outcome", "measured"]
