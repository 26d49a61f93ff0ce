"""A real SLURM cluster of one machine, in a temporary folder, from the programs of Debian's slurm-wlm and munge."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")
LIMIT = 60.0


def missing() -> str:
    """Why no cluster can be started here; empty if it can."""
    lacking = [name for name in NEEDED if shutil.which(name, path=_path()) is None]
    if lacking:
        return f"needs {', '.join(lacking)} (Debian: slurm-wlm, munge)"
    return "" if os.getuid() == 0 else "a SLURM cluster is started by root"


def _path() -> str:
    return os.environ.get("PATH", "") + os.pathsep + "/usr/sbin"


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


class SlurmCluster:
    """Four processors, 20 GB of which a job gets 200 MB by default, and a GPU that is none.

    Jobs of partition urgent preempt those of cpu, which is the default, and of gpu. Partition closed starts none.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        self.host = socket.gethostname().partition(".")[0]
        self.ports = (_free_port(), _free_port())
        self.configuration = self.folder / "slurm.conf"
        self.configuration.write_text(self._configured())
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        names = {"socket": "munge", "key-file": "munge.key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        try:
            self._start("munged", "--foreground", "--force", *(f"--{o}={self.folder / f}" for o, f in names.items()))
            self.wait(lambda: (self.folder / "munge").exists())
            self.start_controller()
            self.start_machine()
            self.wait(lambda: "idle" in self.told("sinfo", "-h", "-o", "%T"))
        except BaseException:
            self.close()
            raise

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which the commands of SLURM find this cluster."""
        return {"SLURM_CONF": str(self.configuration), "PATH": _path()}

    def start_controller(self) -> None:
        self._start("slurmctld", "-D", "-f", str(self.configuration))
        self.wait(lambda: "UP" in self.told("scontrol", "ping"))

    def start_machine(self) -> None:
        self._start("slurmd", "-D", "-f", str(self.configuration))

    def kill(self, name: str) -> None:
        """Kill a daemon for real."""
        daemon = self._daemons.pop(name)
        daemon.kill()
        daemon.wait()

    def told(self, *command: str) -> str:
        """What a command of SLURM prints; empty if it fails."""
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **self.environment})
        return done.stdout if done.returncode == 0 else ""

    def jobs(self, *states: str) -> list[str]:
        wanted = ",".join(states) or "all"
        return self.told("squeue", "-h", "-o", "%i", f"--states={wanted}").split()

    @staticmethod
    def wait(is_so: Callable[[], object], seconds: float = LIMIT) -> None:
        end = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < end, "it never happened"
            time.sleep(0.05)

    def close(self) -> None:
        for number in self.jobs("PENDING", "RUNNING"):
            self.told("scancel", "--signal=KILL", "--full", number)
            self.told("scancel", number)
        for pid in self.step_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for name in reversed(list(self._daemons)):
            self.kill(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def step_processes(self) -> list[int]:
        """The processes of slurmd that look after one job each."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (path / "comm").read_text().startswith("slurmstepd") and str(self.folder) in _environment(path):
                    found.append(int(path.name))
        return found

    def _start(self, program: str, *arguments: str) -> None:
        log = open(self.folder / f"{program}.out", "ab")  # noqa: SIM115  # the program's, until it ends
        with log:
            self._daemons[program] = subprocess.Popen(
                [str(shutil.which(program, path=_path())), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.environment},
            )

    def _configured(self) -> str:
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        controller, machine = self.ports
        settings = {
            "ClusterName": "one",
            "SlurmctldHost": f"{self.host}(127.0.0.1)",
            "SlurmUser": "root",
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={self.folder / 'munge'}",
            "CredType": "cred/munge",
            "SlurmctldPort": controller,
            "SlurmdPort": machine,
            "StateSaveLocation": self.folder / "state",
            "SlurmdSpoolDir": self.folder / "spool",
            "SlurmctldPidFile": self.folder / "slurmctld.pid",
            "SlurmdPidFile": self.folder / "slurmd.pid",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_Core_Memory",
            "SchedulerParameters": "batch_sched_delay=0,sched_interval=1,bf_interval=1,sched_min_interval=0",
            "MpiDefault": "none",
            "AccountingStorageType": "accounting_storage/none",
            "JobAcctGatherType": "jobacct_gather/linux",
            "JobAcctGatherFrequency": "task=1",
            "JobAcctGatherParams": "OverMemoryKill",
            "ReturnToService": 2,
            "SlurmdTimeout": 5,
            "SlurmctldTimeout": 5,
            "MessageTimeout": 5,
            "KillWait": 1,
            "CompleteWait": 0,
            "PreemptType": "preempt/partition_prio",
            "PreemptMode": "CANCEL",
            "DefMemPerNode": 200,
            "SlurmdParameters": "config_overrides",  # the machine may have less
            "GresTypes": "gpu",
            "NodeName": f"{self.host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=20000 Gres=gpu:1 State=UNKNOWN",
        }
        (self.folder / "gres.conf").write_text(f"NodeName={self.host} Name=gpu File=/dev/null\n")
        partitions = {"cpu": "Default=YES", "gpu": "", "urgent": "PriorityTier=10", "closed": "State=DOWN"}
        lines = [f"{name}={value}" for name, value in settings.items()]
        lines += [f"PartitionName={name} Nodes={self.host} {more}" for name, more in partitions.items()]
        return "\n".join([*lines, ""])


def _environment(path: Path) -> str:
    return (path / "environ").read_bytes().decode(errors="replace")
