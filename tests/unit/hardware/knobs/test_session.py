"""Sessions: settings hold inside, and everything is as it was afterwards, whatever happens."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from tests.ordinary_user import as_an_ordinary_user
from tests.unit.hardware.fake_linux import FakeKernel, contents, denied, fork, invalid, jetson, journal_in, linux, put

from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.hardware.knobs import (
    InUseError,
    Journal,
    JournalError,
    KnobError,
    Level,
    LinuxMachine,
    RestoreError,
    Write,
    linux_knobs,
    restore,
    settings,
)

VALUES: dict[str, Level] = {
    "active_cores": 3,
    "cpu_frequency": 0.96,
    "swappiness": 10,
    "dirty_background_ratio": 50,
    "dirty_ratio": 5,
    "cache_pressure": 500,
    "scheduler": "NOOP",
}


class Bench:
    """A kernel, its knobs and a journal."""

    def __init__(self, folder: Path) -> None:
        self.kernel = FakeKernel(linux(folder))
        self.journal = journal_in(folder, self.kernel.roots)
        self.before = contents(self.kernel.roots)

    def session(self, values: dict[str, Level] | None = None, **more: bool):  # type: ignore[no-untyped-def]
        knobs = linux_knobs(self.kernel)
        return settings(knobs, VALUES if values is None else values, machine=self.kernel, journal=self.journal, **more)

    def fails(self, error: type[BaseException], match: str, values: dict[str, Level] | None = None) -> None:
        """A session that cannot be entered."""
        with pytest.raises(error, match=match), self.session(values):
            pytest.fail("the body must not run")

    def is_as_it_was(self) -> bool:
        return contents(self.kernel.roots) == self.before and not self.journal.path.exists()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(autouse=True)
def same_handlers() -> Iterator[None]:
    """Every test leaves the handlers of signals as they were."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    assert [signal.getsignal(number) for number in numbers] == before


def test_settings_hold_inside_and_are_put_back_after(bench: Bench) -> None:
    knobs = linux_knobs(bench.kernel)
    with bench.session() as writes:
        assert {knob.name: knob.read() for knob in knobs if knob.name in VALUES} == VALUES
        entry = bench.journal.load()
        assert entry is not None
        assert entry.writes == writes
    assert bench.is_as_it_was()


def test_knobs_are_set_in_their_own_order_and_put_back_in_reverse(bench: Bench) -> None:
    with bench.session({"swappiness": 10, "cpu_frequency": 0.96, "active_cores": 2}):
        made = list(bench.kernel.written)
    back = bench.kernel.written[len(made) :]
    assert [Path(path).parts[-1] for path, _ in made] == [
        *("online", "online"),
        *("scaling_min_freq", "scaling_max_freq"),
        "swappiness",
    ]
    assert [path for path, _ in back] == [path for path, _ in reversed(made)]


def test_the_journal_is_there_before_the_first_change(bench: Bench) -> None:
    present: list[bool] = []
    bench.kernel.watch = lambda: present.append(bench.journal.path.exists())
    with bench.session():
        pass
    assert present
    assert all(present)


def test_at_every_change_the_journal_says_how_to_undo_all_that_was_changed(bench: Bench) -> None:
    watched = 0

    def check() -> None:
        nonlocal watched
        watched += 1
        entry = bench.journal.load()
        assert entry is not None
        undone = dict(contents(bench.kernel.roots))
        for write in reversed(entry.writes):
            undone[write.undo_path] = f"{write.before}\n"
        for path, text in bench.before.items():
            if not path.endswith(("affected_cpus", "scheduler")):
                assert undone[path] == text

    bench.kernel.watch = check
    with bench.session():
        pass
    assert watched > 12


def test_a_dry_run_writes_nothing_and_says_what_it_would(bench: Bench) -> None:
    with bench.session({"swappiness": 10, "dirty_ratio": 20}, dry_run=True) as writes:
        assert writes == (Write(str(bench.kernel.roots.proc / "sys/vm/swappiness"), "10", "60"),)
    with bench.session(dry_run=True) as writes:
        pass
    assert len(writes) == 10
    assert bench.kernel.written == []
    assert bench.is_as_it_was()
    assert not bench.journal.path.parent.exists()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_whatever_is_raised_inside_everything_is_put_back(bench: Bench, error: type[BaseException]) -> None:
    with pytest.raises(error), bench.session():
        raise error
    assert bench.is_as_it_was()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_that_would_end_the_process_ends_the_session_first(bench: Bench, number: int, status: int) -> None:
    with pytest.raises(SystemExit) as caught, bench.session():
        os.kill(os.getpid(), number)
    assert caught.value.code == status
    assert bench.is_as_it_was()


def test_ctrl_c_ends_the_session(bench: Bench) -> None:
    with pytest.raises(KeyboardInterrupt), bench.session():
        os.kill(os.getpid(), signal.SIGINT)
    assert bench.is_as_it_was()


@pytest.mark.parametrize("moment", [1, 5, 9])
def test_ctrl_c_while_settings_are_made_waits_until_they_are(bench: Bench, moment: int) -> None:
    def interrupt() -> None:
        if len(bench.kernel.written) == moment:
            os.kill(os.getpid(), signal.SIGINT)

    bench.kernel.watch = interrupt
    bench.fails(KeyboardInterrupt, "^$")
    assert len(bench.kernel.written) > 12  # all were made, then undone
    assert bench.is_as_it_was()


@pytest.mark.parametrize("moment", [1, 5, 9])
def test_ctrl_c_while_settings_are_put_back_waits_until_they_are(bench: Bench, moment: int) -> None:
    left: list[int] = []

    def interrupt() -> None:
        left.append(len(bench.kernel.written))
        if len(left) == moment:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), bench.session():
        bench.kernel.watch = interrupt
    assert bench.is_as_it_was()


def test_the_users_own_handler_is_called_and_decides(bench: Bench) -> None:
    called: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        called.append(number)

    before = signal.signal(signal.SIGTERM, note)
    try:
        with bench.session():
            os.kill(os.getpid(), signal.SIGTERM)
            assert called == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is note
    finally:
        signal.signal(signal.SIGTERM, before)
    assert bench.is_as_it_was()


def test_an_ignored_signal_stays_ignored(bench: Bench) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with bench.session():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert bench.is_as_it_was()


@pytest.mark.parametrize(
    ("ending", "knob"),
    [
        ("cpu3/online", "active_cores"),
        ("policy2/scaling_max_freq", "cpu_frequency"),
        ("dirty_ratio", "dirty_ratio"),
        ("scheduler", "scheduler"),
    ],
)
def test_a_refused_write_in_the_middle_is_one_sentence_and_all_is_put_back(
    bench: Bench, ending: str, knob: str
) -> None:
    bench.kernel.refuse[ending] = denied()
    bench.fails(KnobError, rf"Knob '{knob}' .*{ending} .*\({os.strerror(errno.EACCES)}\)")
    assert bench.is_as_it_was()
    bench.kernel.refuse[ending] = invalid("")
    bench.fails(KnobError, rf"Knob '{knob}' .*{ending} .*\({os.strerror(errno.EINVAL)}\).*value")
    assert bench.is_as_it_was()


def test_a_write_that_fails_after_it_took_effect_is_undone_too(bench: Bench) -> None:
    def fail() -> None:
        if bench.kernel.written[-1][1] == "10":
            raise denied()

    bench.kernel.watch = fail
    bench.fails(KnobError, "Knob 'swappiness' .*'10' to .*/swappiness ", {"swappiness": 10})
    assert bench.is_as_it_was()


def test_limits_in_bytes_and_a_speed_of_the_users_are_put_back(bench: Bench) -> None:
    put(bench.kernel.roots.proc / "sys/vm/dirty_ratio", 0)
    put(bench.kernel.roots.proc / "sys/vm/dirty_bytes", 268435456)
    policy = bench.kernel.roots.sys / "devices/system/cpu/cpufreq/policy0"
    put(policy / "scaling_governor", "userspace")
    put(policy / "scaling_setspeed", 652800)
    bench.before = contents(bench.kernel.roots)
    with bench.session():
        assert bench.kernel.read(str(policy / "scaling_setspeed")) == "960000"
    assert bench.is_as_it_was()
    assert bench.kernel.read(str(policy / "scaling_setspeed")) == "652800"


def test_a_kernel_that_ignores_a_write_is_found_out(bench: Bench) -> None:
    bench.kernel.ignore.add("swappiness")
    bench.fails(KnobError, r"'swappiness'.*/swappiness shows 60 .*10\b")
    assert bench.is_as_it_was()


def test_a_frequency_may_be_rounded_a_little_but_not_much(bench: Bench) -> None:
    bench.kernel.alter["scaling_max_freq"] = lambda text: str(int(text) + 5000)
    with bench.session({"cpu_frequency": 0.96}):
        pass
    assert bench.kernel.written
    bench.kernel.alter["scaling_max_freq"] = lambda text: "1113600" if text == "960000" else text
    bench.fails(KnobError, "scaling_max_freq shows 1113600 .*960000", {"cpu_frequency": 0.96})
    bench.kernel.alter.clear()
    bench.kernel.alter["swappiness"] = lambda text: "11" if text == "10" else text
    bench.fails(KnobError, "swappiness shows 11 .*10", {"swappiness": 10})


def test_what_cannot_be_put_back_is_named_and_kept_and_the_rest_is_put_back(bench: Bench) -> None:
    remedy = f"flexibo knobs restore --journal {bench.journal.path}"
    with pytest.raises(RestoreError, match=rf"/swappiness \(60\): .*{remedy}"), bench.session():
        bench.kernel.refuse["swappiness"] = denied()
    after = contents(bench.kernel.roots)
    assert [path for path in after if after[path] != bench.before[path]] == [
        str(bench.kernel.roots.proc / "sys/vm/swappiness")
    ]
    entry = bench.journal.load()
    assert entry is not None
    assert [write.before for write in entry.writes] == ["60"]
    bench.fails(JournalError, remedy)
    bench.kernel.refuse.clear()
    assert restore(bench.journal, machine=bench.kernel) == entry.writes
    assert bench.is_as_it_was()


def test_a_place_that_does_not_keep_what_is_put_back_is_named(bench: Bench) -> None:
    with pytest.raises(RestoreError, match=r"swappiness \(60\): it shows 10\."), bench.session({"swappiness": 10}):
        bench.kernel.ignore.add("swappiness")


def test_an_error_inside_is_the_cause_shown_beside_one_of_putting_back(bench: Bench) -> None:
    def fail() -> None:
        bench.kernel.refuse["swappiness"] = denied()
        raise ValueError

    with pytest.raises(RestoreError) as caught, bench.session({"swappiness": 10}):
        fail()
    assert isinstance(caught.value.__context__, ValueError)


def test_a_limit_that_another_program_moved_is_put_back_at_the_second_attempt(bench: Bench) -> None:
    policy = bench.kernel.roots.sys / "devices/system/cpu/cpufreq/policy0"
    put(policy / "scaling_min_freq", 960000)
    put(policy / "scaling_max_freq", 1113600)
    bench.before = contents(bench.kernel.roots)
    with bench.session({"cpu_frequency": 0.499200}):
        put(policy / "scaling_max_freq", 2035200)
        put(policy / "scaling_min_freq", 2035200)
    assert bench.is_as_it_was()


def test_without_permission_nothing_is_changed(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can step down to another user")
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        machine = LinuxMachine(linux(folder))
        swappiness = machine.roots.proc / "sys/vm/swappiness"
        for path in (machine.roots.proc / "sys/vm").iterdir():
            path.chmod(0o666)
        swappiness.chmod(0o644)
        (folder / "run/lock").mkdir(parents=True)
        (folder / "run/lock").chmod(0o1777)
        before = contents(machine.roots)
        values: dict[str, Level] = {"dirty_ratio": 50, "swappiness": 10}
        with (
            as_an_ordinary_user(),
            pytest.raises(KnobError, match=rf"'swappiness'.* 10: {swappiness} .*root"),
            settings(linux_knobs(machine), values, machine=machine, journal=journal_in(folder, machine.roots)),
        ):
            pytest.fail("the body must not run")
        assert contents(machine.roots) == before
        assert not (folder / "state").exists()
    finally:
        shutil.rmtree(folder)


def test_a_wrong_name_or_value_is_refused_before_anything_else(bench: Bench) -> None:
    bench.fails(UnknownNameError, "'swapiness'.*'swappiness'", {"swapiness": 10})
    bench.fails(InvalidValueError, "'swappiness'.*'low'", {"dirty_ratio": 5, "swappiness": "low"})
    assert bench.kernel.written == []
    assert bench.is_as_it_was()


def test_no_settings_need_no_journal(bench: Bench) -> None:
    with bench.session({}) as writes:
        assert writes == ()
        assert not bench.journal.path.exists()


def test_sessions_do_not_nest_and_the_outer_one_is_untouched(bench: Bench) -> None:
    with bench.session({"swappiness": 10}):
        bench.fails(JournalError, rf"This process .*\b{os.getpid()}\b.*session", {"swappiness": 30})
        assert bench.kernel.files.read(str(bench.kernel.roots.proc / "sys/vm/swappiness")) == "10"
    assert bench.is_as_it_was()


def test_a_session_with_another_journal_is_refused_as_well(bench: Bench, tmp_path: Path) -> None:
    # Were it let in, it would take 10 for what was there before and put that back when the first has ended.
    other = Journal(tmp_path / "other.json", bench.kernel.roots)
    with bench.session({"swappiness": 10}):
        with (
            pytest.raises(InUseError, match=rf"This process .*\b{os.getpid()}\b.*session"),
            settings(linux_knobs(bench.kernel), {"swappiness": 30}, machine=bench.kernel, journal=other),
        ):
            pytest.fail("the body must not run")
        assert contents(bench.kernel.roots)[str(bench.kernel.roots.proc / "sys/vm/swappiness")] == "10\n"
        assert not other.path.exists()
    assert bench.is_as_it_was()


def test_a_session_in_another_thread_works(bench: Bench) -> None:
    seen: list[Level] = []

    def work() -> None:
        with bench.session():
            seen.extend(knob.read() for knob in linux_knobs(bench.kernel) if knob.name in VALUES)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == list(VALUES.values())
    assert bench.is_as_it_was()


def test_a_forked_process_puts_nothing_back(bench: Bench) -> None:
    session = bench.session({"swappiness": 10})
    session.__enter__()
    pid = fork()
    if not pid:
        try:
            session.__exit__(None, None, None)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert bench.kernel.files.read(str(bench.kernel.roots.proc / "sys/vm/swappiness")) == "10"
    assert bench.journal.path.exists()
    # The lock is not freed by the forked process either.
    bench.fails(InUseError, rf"This process .*\b{os.getpid()}\b.*session")
    session.__exit__(None, None, None)
    assert bench.is_as_it_was()


def test_cores_that_come_online_get_the_frequency_too(tmp_path: Path) -> None:
    kernel = FakeKernel(jetson(tmp_path))
    for core in (1, 2):
        kernel.write(str(kernel.roots.sys / f"devices/system/cpu/cpu{core}/online"), "0")
    before = contents(kernel.roots)
    journal = journal_in(tmp_path, kernel.roots)
    values: dict[str, Level] = {"active_cores": 6, "cpu_frequency": 0.96}
    policy = kernel.roots.sys / "devices/system/cpu/cpufreq/policy1"
    with settings(linux_knobs(kernel), values, machine=kernel, journal=journal):
        assert (policy / "scaling_max_freq").read_text() == "960000\n"
        entry = journal.load()
        assert entry is not None
        assert str(policy / "scaling_max_freq") in {write.path for write in entry.writes}
    assert contents(kernel.roots) == before


@pytest.mark.parametrize("moment", range(1, 13))
def test_restore_puts_all_back_wherever_a_session_was_killed(tmp_path: Path, moment: int) -> None:
    bench = Bench(tmp_path)
    pid = fork()
    if not pid:
        bench.kernel.watch = lambda: (
            os.kill(os.getpid(), signal.SIGKILL) if len(bench.kernel.written) == moment else None
        )
        try:
            with bench.session():
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert contents(bench.kernel.roots) != bench.before
    bench.fails(JournalError, rf"process {pid}\b.*flexibo knobs restore")
    assert restore(bench.journal, machine=bench.kernel)
    assert bench.is_as_it_was()
    assert restore(bench.journal, machine=bench.kernel) == ()
    assert bench.is_as_it_was()


def test_restore_leaves_a_living_session_alone_unless_it_is_forced(bench: Bench) -> None:
    with bench.session({"swappiness": 10}):
        with pytest.raises(JournalError, match=rf"Process {os.getpid()}\b.*--force"):
            restore(bench.journal, machine=bench.kernel)
        assert bench.journal.path.exists()
        assert len(restore(bench.journal, machine=bench.kernel, force=True)) == 1
        assert bench.is_as_it_was()
    assert bench.is_as_it_was()


def test_restore_does_not_apply_a_journal_of_another_boot_unless_it_is_forced(bench: Bench) -> None:
    bench.journal.begin([Write(str(bench.kernel.roots.proc / "sys/vm/swappiness"), "10", "33")])
    put(bench.kernel.roots.proc / "sys/kernel/random/boot_id", "later")
    with pytest.raises(JournalError, match=f"{bench.journal.path}.*restarted.*--force"):
        restore(bench.journal, machine=bench.kernel)
    assert bench.kernel.written == []
    restore(bench.journal, machine=bench.kernel, force=True)
    assert [text for _, text in bench.kernel.written] == ["33"]
    assert not bench.journal.path.exists()


def test_restore_writes_nothing_of_a_hostile_journal(bench: Bench, tmp_path: Path) -> None:
    secret = put(tmp_path / "secret", "kept")
    good = Write(str(bench.kernel.roots.proc / "sys/vm/swappiness"), "10", "33")
    bench.journal.begin([good, good])
    text = bench.journal.path.read_text()
    bench.journal.path.write_text(text[::-1].replace(good.path[::-1], str(secret)[::-1], 1)[::-1])
    with pytest.raises(JournalError, match=rf"{bench.journal.path} .*{str(secret)!r}.*no knob"):
        restore(bench.journal, machine=bench.kernel, force=True)
    assert bench.kernel.written == []
    assert secret.read_text() == "kept\n"
