"""Whether a file is on a network file system, where the locks of SQLite do not hold between machines."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
NETWORK = {
    *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fhgfs", "glusterfs", "gpfs", "lustre", "ncpfs"),
    *("nfs", "nfs4", "ocfs2", "orangefs", "panfs", "pvfs2", "smb3", "smbfs", "wekafs"),
}
_NETWORK_FUSE = {
    *("ceph", "cifs", "davfs", "gcsfuse", "glusterfs", "goofys", "gpfs", "httpfs", "juicefs", "mfs", "moosefs"),
    *("nfs", "rclone", "s3fs", "smbnetfs", "sshfs"),
}
_ESCAPE = re.compile(r"\\([0-7]{3})")  # of blanks in the names of folders


def network_file_system(path: Path, mounts: Path = MOUNTS) -> str | None:
    """The type of the network file system that holds a file or will; None if it is local, or cannot be known."""
    kind = _file_system(path, mounts)
    plain = kind.removeprefix("fuse.").removeprefix("fuse-").lower()
    is_network = plain in (_NETWORK_FUSE if kind.startswith("fuse") else NETWORK)
    return kind if is_network else None


def _file_system(path: Path, mounts: Path) -> str:
    """The type of the file system of a path, an empty text if it is unknown."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        place = path.resolve()
    except (OSError, RuntimeError):  # no Linux, or links in a circle
        return ""
    best, kind = -1, ""
    for line in lines:
        before, _, after = line.partition(" - ")
        words, described = before.split(), after.split()
        if len(words) < 5 or not described:
            continue
        point = Path(_ESCAPE.sub(lambda match: chr(int(match[1], 8)), words[4]))
        if place.is_relative_to(point) and len(point.parts) >= best:  # of two mounts on one folder the later one counts
            best, kind = len(point.parts), described[0]
    return kind
