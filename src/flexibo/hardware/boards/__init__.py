"""Boards: machines that cannot run flexibo, measured through an agent that is copied there.

`agent.py` is one file that runs on the board, alone, with Python 3.6. The rest speaks to it. So what both sides need,
such as the values of memory knobs, is in that file.
"""

from __future__ import annotations

from flexibo.hardware.boards.agent_file import AGENT_PATH, agent_digest, agent_text, install
from flexibo.hardware.boards.board import BOARD_KNOBS, Board, BoardReading, BoardRequest, BoardTimeoutError
from flexibo.hardware.boards.links import BoardError, BoardPlace, SocketPlace, SshPlace

__all__ = [
    "AGENT_PATH",
    "BOARD_KNOBS",
    "Board",
    "BoardError",
    "BoardPlace",
    "BoardReading",
    "BoardRequest",
    "BoardTimeoutError",
    "SocketPlace",
    "SshPlace",
    "agent_digest",
    "agent_text",
    "install",
]
