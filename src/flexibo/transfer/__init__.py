"""Transfer: stored studies copied, exported as events or as a table, and imported.

It imports study and storage. What starts with an underscore is private.
"""

from flexibo.transfer._event_file import Exported, event_lines, import_events, read_events
from flexibo.transfer._result_table import Results, import_results, option_value, read_results
from flexibo.transfer._unstored_answers import holds_answers, import_answers, read_answers
from flexibo.transfer.checkpoint_copies import CopiedCheckpoints, copy_checkpoints, unfinished_trainings
from flexibo.transfer.evaluations import STATES, Record, records, table_lines
from flexibo.transfer.known import learn_from
from flexibo.transfer.salvage import Salvaged, Verified, salvaged, salvaged_lines, verified, verified_lines
from flexibo.transfer.study_copies import StudyCopy, not_stored, study_copy

__all__ = [
    "STATES",
    "CopiedCheckpoints",
    "Exported",
    "Record",
    "Results",
    "Salvaged",
    "StudyCopy",
    "Verified",
    "copy_checkpoints",
    "event_lines",
    "holds_answers",
    "import_answers",
    "import_events",
    "import_results",
    "learn_from",
    "not_stored",
    "option_value",
    "read_answers",
    "read_events",
    "read_results",
    "records",
    "salvaged",
    "salvaged_lines",
    "study_copy",
    "table_lines",
    "unfinished_trainings",
    "verified",
    "verified_lines",
]
