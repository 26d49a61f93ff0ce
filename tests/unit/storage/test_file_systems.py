"""Network file systems are known by the list of mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexibo.storage._file_systems import network_file_system

MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:30 / /home rw,relatime shared:5 - nfs4 server:/home rw,vers=4.2
31 30 0:31 / /home/ada/scratch rw - xfs /dev/sdb rw
32 22 0:32 / /mnt/my\\040share rw - cifs //server/share rw
33 22 0:33 / /mnt/ssh rw - fuse.sshfs ada@server: rw
34 22 0:34 / /mnt/image rw - fuse.squashfuse image rw
35 22 0:35 / /over rw - nfs server:/over rw
36 22 0:36 / /over rw - tmpfs none rw
a line that is cut
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/study.db", None),
        ("/home/ada/study.db", "nfs4"),
        ("/homework/study.db", None),
        ("/home/ada/scratch/study.db", None),
        ("/mnt/my share/a/study.db", "cifs"),
        ("/mnt/ssh/study.db", "fuse.sshfs"),
        ("/mnt/image/study.db", None),
        ("/over/study.db", None),
    ],
)
def test_the_mount_of_a_file_decides(tmp_path: Path, path: str, kind: str | None) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert network_file_system(Path(path), mounts) == kind


def test_without_a_list_of_mounts_nothing_is_known(tmp_path: Path) -> None:
    assert network_file_system(tmp_path / "study.db", tmp_path / "mountinfo") is None
