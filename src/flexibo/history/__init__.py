"""The append-only memory of a study: its events, and the state derived from them.

It imports the space and the objectives. Beliefs, methods, storage, studies and all that shows a study import it.
"""

from flexibo.history.events import Evaluation, Event
from flexibo.history.history import History

__all__ = ["Evaluation", "Event", "History"]
