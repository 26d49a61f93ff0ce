"""The append-only memory of a study: its events, and what they add up to.

It imports the space and the objectives. Every package that thinks, stores or shows imports it.
"""

from flexibo.history.events import Evaluation, Event
from flexibo.history.history import History

__all__ = ["Evaluation", "Event", "History"]
