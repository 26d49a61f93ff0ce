"""Study files: a study described in YAML, checked as a whole. Imports study, storage, executors and systems."""

from flexibo.studyfile._executor import ExecutorChoice
from flexibo.studyfile._fields import cause
from flexibo.studyfile._places import file_stem
from flexibo.studyfile.command import Command
from flexibo.studyfile.file import StudyFile, read_study_file
from flexibo.studyfile.file_origin import has_changed, is_from_file, stored_file
from flexibo.studyfile.functions import Function
from flexibo.studyfile.mistakes import StudyFileError
from flexibo.studyfile.system_file import SystemFile, read_any_file

__all__ = [
    "Command",
    "ExecutorChoice",
    "Function",
    "StudyFile",
    "StudyFileError",
    "SystemFile",
    "cause",
    "file_stem",
    "has_changed",
    "is_from_file",
    "read_any_file",
    "read_study_file",
    "stored_file",
]
