"""A session: settings that are in force while something is measured, and always restored afterwards.

On success, an exception, Ctrl-C, SIGTERM or SIGHUP, everything is restored, in reverse order, before the session ends.
After kill -9, `restore` does it from the journal.

There is one session per machine: a second one, of another user, nested or in another thread, is refused, because it
would record the changes of the first as the original state. A session also works outside the main thread, but signals
do not reach it there: one that ends the process leaves the journal. A process forked inside a session restores nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

from flexibo.errors import unknown_name
from flexibo.hardware.knobs._lock import held
from flexibo.hardware.knobs._signals import held_signals
from flexibo.hardware.knobs.base import Knob, KnobError, Level, Machine, RestoreError, Write, agrees, chosen
from flexibo.hardware.knobs.journal import Journal, JournalEntry, JournalError

# A limit that is refused because of another one may be accepted once that is restored, and a speed shows its old value
# only after its limits are restored.
_ATTEMPTS = 2


@contextmanager
def settings(
    knobs: Sequence[Knob],
    values: Mapping[str, Level],
    *,
    machine: Machine,
    journal: Journal,
    dry_run: bool = False,
) -> Iterator[tuple[Write, ...]]:
    """A context in which knobs have these values; yields the writes.

    Args:
        knobs: All knobs of the machine; they are set in this order, whatever the order of the values.
        values: Values of some of them, by name.
        machine: The machine that they write to.
        journal: Records the changes until they are restored.
        dry_run: Whether to write nothing, neither settings nor journal.

    Raises:
        InvalidValueError: The machine does not have such a knob or value.
        JournalError: Another session is active, or has left changed settings.
        KnobError: A file cannot be written, or did not take the value; everything is restored.
        RestoreError: Something could not be restored; it takes precedence over errors in the context.
    """
    turned = _turned(knobs, values)
    if dry_run or not turned:
        yield _flat([knob.writes(value) for knob, value in turned])
        return
    owner, made = os.getpid(), list[Write]()
    # The lock comes first: settings that are read before it may be changes of another session.
    with held_signals() as hold, held(journal, roots=machine.roots):
        plans = [knob.writes(value) for knob, value in turned]
        _check_permission(turned, plans, machine)
        journal.begin(_flat(plans))
        try:
            _turn(turned, plans, machine, journal, made)
            hold.end()
            try:
                yield _flat(plans)
            finally:
                hold.begin()
        finally:
            hold.begin()
            if os.getpid() == owner:
                _finish(made, machine, journal)


def restore(journal: Journal, *, machine: Machine, force: bool = False) -> tuple[Write, ...]:
    """Restore the settings that a killed session has left; returns the undone writes, none if there is no journal.

    Args:
        journal: The journal of that session.
        machine: The machine that it wrote to.
        force: Whether to do it even if the session's process is alive or the machine has been restarted.

    Raises:
        JournalError: The journal is damaged, of another boot or in use, or a session is active; nothing is changed.
        RestoreError: Something could not be restored; the journal keeps it.
    """
    if _left(journal, force) is None:
        return ()
    with held_signals(), ExitStack() as stack:
        try:
            stack.enter_context(held(journal, roots=machine.roots))
        except JournalError:
            if not force:
                raise
        entry = _left(journal, force)  # again: another process may have restored it before we got the lock
        if entry is None:
            return ()
        _finish(entry.writes, machine, journal)
    return entry.writes


def check_free(journal: Journal, *, machine: Machine) -> None:
    """Raise the error that a new session would raise, before a long run instead of in the middle of it."""
    with held(journal, roots=machine.roots):
        journal.check_absent()


def _left(journal: Journal, force: bool) -> JournalEntry | None:
    """The journal entry to restore; None if there is none."""
    entry = journal.load()
    if entry is None or force:
        return entry
    if not journal.is_of_this_boot(entry):
        raise journal.stale(entry)
    if journal.is_alive(entry):
        raise JournalError(
            f"Process {entry.pid} is using these settings and will restore them; end it, or give --force."
        )
    return entry


def _turned(knobs: Sequence[Knob], values: Mapping[str, Level]) -> list[tuple[Knob, Level]]:
    names = [knob.name for knob in knobs]
    for name in values:
        if name not in names:
            raise unknown_name("knob", name, names)
    return [(knob, values[knob.name]) for knob in knobs if knob.name in values]


def _flat(plans: Sequence[tuple[Write, ...]]) -> tuple[Write, ...]:
    return tuple(write for plan in plans for write in plan)


def _check_permission(
    turned: Sequence[tuple[Knob, Level]], plans: Sequence[tuple[Write, ...]], machine: Machine
) -> None:
    for (knob, value), plan in zip(turned, plans, strict=True):
        for path in [place for write in plan for place in (write.path, write.undo_path)]:
            if refusal := machine.refusal(path):
                raise KnobError(f"Knob {knob.name!r} cannot be set to {value!r}: {refusal} Nothing was changed.")


def _turn(
    turned: Sequence[tuple[Knob, Level]],
    plans: list[tuple[Write, ...]],
    machine: Machine,
    journal: Journal,
    made: list[Write],
) -> None:
    """Perform and verify all writes; each is added to `made` just before it is performed."""
    for position, (knob, value) in enumerate(turned):
        # Again, because earlier knobs may have changed what it finds: cores that went offline have no frequency, and
        # cores that came online have one.
        plan = knob.writes(value)
        if plan != plans[position]:
            plans[position] = plan
            journal.update(_flat(plans))
        for write in plan:
            made.append(write)
            try:
                machine.write(write.path, write.value)
            except OSError as error:
                raise KnobError(_refused(knob.name, write, error)) from error
        for write in plan:
            if write.readable:
                _verify(knob.name, write, machine)


def _refused(name: str, write: Write, error: OSError) -> str:
    advice = "run as root" if isinstance(error, PermissionError) else "choose a value that the kernel accepts"
    return (
        f"Knob {name!r} could not be set: writing {write.value!r} to {write.path} was refused "
        f"({error.strerror or error}); {advice}. Earlier changes were restored."
    )


def _verify(name: str, write: Write, machine: Machine) -> None:
    try:
        shown = chosen(machine.read(write.path))
    except OSError as error:
        shown = f"nothing ({error.strerror or error})"
    if not agrees(shown, write.value, write.tolerance):
        raise KnobError(
            f"Knob {name!r} did not take its value: {write.path} shows {shown} after {write.value} was written. "
            "Earlier changes were restored."
        )


def _finish(made: Sequence[Write], machine: Machine, journal: Journal) -> None:
    """Restore everything, and remove the journal if that succeeded."""
    faults = _put_back(made, machine)
    if not faults:
        journal.end()
        return
    with suppress(JournalError):  # the old one, which lists more than is needed, will do
        journal.update([write for write in made if write in faults], is_left=True)
    listed = "; ".join(f"{write.undo_path} ({write.before}): {fault}" for write, fault in faults.items())
    raise RestoreError(
        f"Not everything could be restored: {listed}. As root, run: flexibo knobs restore --journal {journal.path}"
    )


def _put_back(made: Sequence[Write], machine: Machine) -> dict[Write, str]:
    """Undo writes, the last one first; returns those that failed, each with the reason."""
    faults = dict.fromkeys(reversed(made), "")
    for _ in range(_ATTEMPTS):
        faults = {write: fault for write in faults if (fault := _undo(write, machine))}
    return faults


def _undo(write: Write, machine: Machine) -> str:
    """Undo one write; returns why that failed, or an empty text."""
    # Read back at once: its file may disappear when others are restored, as the limits of a core that goes offline.
    can_tell = write.readable and write.steady
    with suppress(OSError):  # what cannot be read may still be written
        if can_tell and chosen(machine.read(write.undo_path)) == write.before:
            return ""
    try:
        machine.write(write.undo_path, write.before)
        shown = chosen(machine.read(write.undo_path)) if can_tell else write.before
    except OSError as error:
        return error.strerror or str(error)
    return "" if agrees(shown, write.before, write.tolerance) else f"it shows {shown}"
