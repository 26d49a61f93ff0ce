"""Study files: a study described in YAML, checked as a whole. Imports study, storage and executors."""

from flexibo.studyfile._executor import ExecutorChoice
from flexibo.studyfile.command import Command
from flexibo.studyfile.file import StudyFile, read_study_file
from flexibo.studyfile.file_origin import has_changed, is_from_file, stored_file
from flexibo.studyfile.functions import Function
from flexibo.studyfile.mistakes import StudyFileError

__all__ = [
    "Command",
    "ExecutorChoice",
    "Function",
    "StudyFile",
    "StudyFileError",
    "has_changed",
    "is_from_file",
    "read_study_file",
    "stored_file",
]
