"""Transfer: stored studies copied, exported as events or as a table, and imported again."""

from flexibo.transfer.copies import StudyCopy, not_stored, study_copy
from flexibo.transfer.events import Exported, event_lines, import_events, read_events
from flexibo.transfer.records import STATES, Record, records
from flexibo.transfer.results import Results, import_results, read_results
from flexibo.transfer.table import table_lines

__all__ = [
    "STATES",
    "Exported",
    "Record",
    "Results",
    "StudyCopy",
    "event_lines",
    "import_events",
    "import_results",
    "not_stored",
    "read_events",
    "read_results",
    "records",
    "study_copy",
    "table_lines",
]
