"""Processes of different users that cannot see each other, as under the mount option ``hidepid=2`` of Linux."""

from __future__ import annotations

import ctypes
import os
from multiprocessing.context import ForkServerContext

FIRST_USER = 20_000
"""The number of the first user; it needs no account."""
NEW_MOUNTS = 0x00020000  # CLONE_NEWNS
PRIVATE = 1 << 18 | 1 << 14  # MS_PRIVATE | MS_REC
KEEP_CAPABILITIES = 8  # PR_SET_KEEPCAPS
CAPABILITIES_VERSION = 0x20080522
READ_ANY_FILE = 1 << 2  # CAP_DAC_READ_SEARCH


def hide(user: int) -> None:
    """Become another user, with a view of the processes that shows only its own; only root can.

    It may still read any file, as Python may be installed where only root can read.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.unshare(NEW_MOUNTS))
    _check(libc.mount(b"none", b"/", None, PRIVATE, None))
    _check(libc.mount(b"proc", b"/proc", b"proc", 0, b"hidepid=2"))
    os.umask(0)
    os.setgroups([])
    os.setgid(user)
    _check(libc.prctl(KEEP_CAPABILITIES, 1, 0, 0, 0))
    os.setuid(user)
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0)
    _check(libc.capset(header, (ctypes.c_uint32 * 6)(READ_ANY_FILE, READ_ANY_FILE)))


def can_hide(context: ForkServerContext) -> bool:
    """Whether processes can be hidden here, and are: tried in processes of their own."""
    trial = context.Process(target=_try, args=(os.getpid(),))
    trial.start()
    trial.join()
    return trial.exitcode == 0


def _try(other: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    hide(FIRST_USER)
    if os.path.exists(f"/proc/{other}"):
        raise OSError("Processes of other users can be seen.")


def _check(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
