"""Record tables of the paper's systems in pieces: ``python -m benchmarks.record_all --out DIR --seconds 540``.

A call first trains networks, several at a time in processes of their own (under NVIDIA MPS if it is there), then ends
those processes and measures what must be measured alone: the time of a training step and of a test of each network, and
the energy and latency of each deployment, one after the other. Every result is written to a journal at once, and the
tables are written at the end. The same command continues; nothing is measured twice. A recording of longer or shorter
trainings starts anew, but may take readings and the times of epochs from the journals or tables of another one
(--earlier); if it has all of them, give all the time to trainings (--share 1). A recording of other deployments takes
trainings from a journal there.

The error is measured after every epoch and kept. `training_seconds` is the time that a training takes alone: the number
of its steps times the time of a step, measured over at least 0.3 s with nothing else on the GPU, plus one test.

It needs torch, numpy, pillow and an NVML binding. Data is read from --data or FLEXIBO_DATA.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import lru_cache, partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from benchmarks.record_earlier import TIMES, Known, earlier, same_trainings
from benchmarks.record_recipes import RECIPES, plan_of, recipe_of
from flexibo.errors import DesignError, FlexiBOError
from flexibo.hardware import EstimatedMeter
from flexibo.hardware.knobs import Journal
from flexibo.systems.build import task_of
from flexibo.systems.catalogue import PaperSystem, find_system
from flexibo.systems.data.catalogue import load_dataset
from flexibo.systems.network_runner import NetworkRunner
from flexibo.systems.platforms import Platform, find_platform
from flexibo.systems.recording.journal import RecordingJournal, opened
from flexibo.systems.recording.measuring import complete, recorded
from flexibo.systems.recording.plan import Plan
from flexibo.systems.recording.session import described
from flexibo.systems.recording.table import write_table

SEED = 0
ALONE_SECONDS = 0.3  # training steps are timed for at least this long
WARM_STEPS = 5
STEP_SECONDS = 0.005  # assumed of a step of a network that was not timed
GRACE_SECONDS = 20.0  # how long trainings may exceed their share of the time
READ_SECONDS = 4.0  # the expected time of all readings of one network
SPARE_SECONDS = 5.0  # to write the tables
Item = tuple[str, int]  # a system and the number of a network
Say = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A system that is being recorded."""

    system: PaperSystem
    task: Any
    plan: Plan
    journal: RecordingJournal
    earlier: Known | None = None  # of trainings of another length

    def is_trained(self, n: int) -> bool:
        return n in self.journal.errors

    def is_timed(self, n: int) -> bool:
        outcome = self.journal.errors[n]
        return "failed" in outcome or "epoch_seconds" in outcome

    def unread(self, n: int) -> list[int]:
        return [d for d in range(len(self.plan.deployments)) if (n, d) not in self.journal.readings]

    def work(self, n: int) -> float:
        """The seconds that a training may take alone: as timed, or by its steps, more for a longer sequence."""
        network = self.plan.networks[n]
        if times := self.times(n):
            return float(times["training_seconds"])
        steps: int = self.task.epochs(network) * _steps_of_epoch(self.task, network)
        return STEP_SECONDS * steps * math.sqrt(int(network.get("sequence_length", 1)))

    def times(self, n: int) -> dict[str, Any] | None:
        """The times of a network that trains alike: the same steps, of another learning rate or dropout."""
        for known, other in self._twins(n):
            found = known.errors.get(other, {})
            if "epoch_seconds" in found and "test_seconds" in found:
                epochs = self.task.epochs(self.plan.networks[n])
                total = epochs * found["epoch_seconds"] + found["test_seconds"]
                return {**{name: found[name] for name in TIMES if name in found}, "training_seconds": total}
        return None

    def reading(self, n: int, d: int) -> Mapping[str, Any] | None:
        """The reading of a network that runs alike."""
        found = (known.reading(other, self.plan.deployments[d]) for known, other in self._twins(n))
        return next((reading for reading in found if reading is not None), None)

    def must_be_read(self, n: int) -> bool:
        """Whether something of a network is left to be measured alone."""
        return any(self.reading(n, d) is None for d in self.unread(n))

    def _twins(self, n: int) -> Iterator[tuple[Known, int]]:
        """The networks that run exactly like this one: they differ in how they are trained."""
        mine = self._running(self.plan.networks[n])
        journal = self.journal
        own = Known(self.plan.networks, self.plan.deployments, journal.errors, journal.readings, journal.heading)
        for known in (own, self.earlier) if self.earlier else (own,):
            for other, network in enumerate(known.networks):
                if (known is not own or other != n) and self._running(network) == mine:
                    yield known, other

    def _running(self, network: Mapping[str, Any]) -> list[Any]:
        return [network[name] for name in self.system.running_options]


@dataclass(slots=True)
class Child:
    """A process that answers one request at a time; one that died or took too long is replaced."""

    serve: Callable[[Connection], None]
    process: Any = None
    pipe: Any = None
    item: Any = field(default=None)

    def start(self) -> None:
        mine, theirs = multiprocessing.Pipe()
        # A fork shares the loaded data; this process never touches the GPU, so the child may.
        self.process = multiprocessing.get_context("fork").Process(
            target=_serve, args=(self.serve, theirs), daemon=True
        )
        self.process.start()
        theirs.close()
        self.pipe, self.item = mine, None

    def ask(self, item: Any, request: Any) -> None:
        if self.process is None or not self.process.is_alive():
            self.start()
        self.item = item
        self.pipe.send(request)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def _serve(serve: Callable[[Connection], None], pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, BrokenPipeError):
        serve(pipe)
    os._exit(0)  # without the clean-up of what was inherited


def trainer(all_recorded: Mapping[str, Recorded], platform: Platform) -> Callable[[Connection], None]:
    """A process that trains: receives an item, sends the outcome."""

    def serve(pipe: Connection) -> None:
        import torch

        torch.set_num_threads(1)
        _first_step(platform.device)
        while True:
            name, n = pipe.recv()
            pipe.send(_attempted(partial(trained, all_recorded[name], n, platform.device)))

    return serve


def _first_step(device: str) -> None:
    """It loads modules for seconds, which say nothing about how long the next training takes."""
    import torch

    weight = torch.ones(8, device=device, requires_grad=True)
    weight.sum().backward()
    torch.optim.SGD([weight], lr=0.1).step()


def trained(one: Recorded, n: int, device: str) -> dict[str, Any]:
    """The outcome of a training: the error after each epoch, and of the trained network in each precision."""
    from flexibo.systems.platforms import deployed
    from flexibo.systems.training import train

    network = one.plan.networks[n]
    found = train(one.task, network, seed=SEED, device=device, each_epoch=True)
    errors = {}
    for precision in _precisions(one.plan):
        with suppress(DesignError):  # not finite in that precision
            model = deployed(copy.deepcopy(found.model), device, precision)
            errors[precision] = float(one.task.error_percent(model, network, device))
    return {
        "error_percent": float(found.error_percent),
        "epoch_errors": [round(float(error), 4) for error in found.errors],
        "deployed": errors,
        "trained_on": " and ".join(found.machines),
        "seconds_with_others": found.seconds,
    }


def _precisions(plan: Plan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(deployment["precision"]) for deployment in plan.deployments))


def reader(
    all_recorded: Mapping[str, Recorded], platform: Platform, meter: Callable[[], Any], window_seconds: float
) -> Callable[[Connection], None]:
    """A process that has the GPU for itself: it reads a deployment, or times a training."""

    def serve(pipe: Connection) -> None:
        import torch

        torch.set_num_threads(1)
        journal = Journal(Path(tempfile.mkdtemp()) / "knobs.json", roots=platform.machine.roots)
        opened_meter = meter()
        runners: dict[str, NetworkRunner] = {}
        while True:
            name, n, d = pipe.recv()
            one = all_recorded[name]
            if name not in runners:
                runners.clear()
                runners[name] = NetworkRunner(
                    one.system, one.task, platform, None, opened_meter, journal, (), SEED, None, window_seconds
                )
            network = one.plan.networks[n]
            if d is None:
                pipe.send(_attempted(partial(alone, one.task, network, platform.device)))
            else:
                pipe.send(_attempted(partial(runners[name].reading, network, one.plan.deployments[d])))

    return serve


def alone(task: Any, network: Mapping[str, Any], device: str) -> dict[str, Any]:
    """The time of an epoch, from that of a step, and of a test, with nothing else on the device."""
    import torch

    from flexibo.systems.training import seeded, step

    def finished() -> float:
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)
        return time.perf_counter()

    task.load(device)
    with seeded(SEED, 0, device) as generator:
        model = task.build(network).to(device)
        optimiser = task.optimiser(model, network)
        model.train()
        n_done, begin = -WARM_STEPS, 0.0
        while n_done <= 0 or finished() - begin < ALONE_SECONDS:
            for batch in task.batches(network, generator, device):
                step(task, model, optimiser, batch)
                n_done += 1
                if n_done == 0:
                    begin = finished()
                # Waiting for the device only now and then: a training does not wait at all.
                if n_done > 0 and n_done % 20 == 0 and finished() - begin >= ALONE_SECONDS:
                    break
        step_seconds = (finished() - begin) / n_done
    with suppress(DesignError):
        task.error_percent(model, network, device)  # the first one chooses algorithms
    begin = finished()
    with suppress(DesignError):
        task.error_percent(model, network, device)
    test_seconds = finished() - begin
    epoch_seconds = _steps_of_epoch(task, network) * step_seconds
    return {
        "epoch_seconds": epoch_seconds,
        "test_seconds": test_seconds,
        "training_seconds": task.epochs(network) * epoch_seconds + test_seconds,
        "timed_steps": n_done,
    }


def _steps_of_epoch(task: Any, network: Mapping[str, Any]) -> int:
    from flexibo.systems.tasks.base import n_steps

    batch_size = int(network["batch_size"]) if "batch_size" in network else task.settings.batch
    return n_steps(len(task.data.train), batch_size)


def _attempted(measure: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    try:
        return dict(measure())
    except DesignError as error:
        return {"failed": str(error)}
    except Exception:
        return {"crashed": traceback.format_exc(limit=-3)}


@contextmanager
def shared_gpu(platform: Platform, say: Say) -> Iterator[None]:
    """A context in which processes share the GPU through NVIDIA MPS, if that works here."""
    control = shutil.which("nvidia-cuda-mps-control")
    if not platform.device.startswith("cuda") or control is None:
        yield
        return
    folder = tempfile.mkdtemp(prefix="mps")
    changes = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
    os.environ.update(changes)
    subprocess.run([control, "-d"], timeout=30, check=False)
    works = _answers(lambda pipe: pipe.send(_first_kernel(platform.device)), seconds=60)
    say(f"MPS {'works' if works else 'does not work here; the processes take turns'}")

    def quit_mps() -> None:
        with suppress(subprocess.TimeoutExpired):
            subprocess.run([control], input="quit\n", text=True, timeout=30, check=False)
        for name in changes:
            os.environ.pop(name, None)

    if not works:
        quit_mps()
    try:
        yield
    finally:
        if works:
            quit_mps()


def _first_kernel(device: str) -> float:
    import torch

    return float(torch.ones(8, device=device).sum())


def _answers(serve: Callable[[Connection], None], *, seconds: float) -> Any:
    """What a process sends within some time; None if it does not."""
    child = Child(serve)
    child.start()
    try:
        return child.pipe.recv() if child.pipe.poll(seconds) else None
    except EOFError:
        return None
    finally:
        child.stop()


@dataclass(frozen=True, slots=True)
class Session:
    """One call."""

    recorded: Mapping[str, Recorded]
    platform: Platform
    meter: Callable[[], Any]
    end: float  # when everything must be over, on the monotonic clock
    say: Say

    def train(self, jobs: int, share: float, started: float) -> None:
        """Train networks, `jobs` at a time, the longest first, for at most a share of the time."""
        work = {
            (name, n): one.work(n)
            for name, one in self.recorded.items()
            for n in range(len(one.plan.networks))
            if not one.is_trained(n)
        }
        waiting = sorted(work, key=lambda item: -work[item])
        backlog = sum(one.must_be_read(n) for one in self.recorded.values() for n in one.journal.errors)
        until = min(started + share * (self.end - started), self.end - backlog * READ_SECONDS)
        if not waiting or time.monotonic() > until:
            return
        jobs = min(jobs, len(waiting))
        with shared_gpu(self.platform, self.say) if jobs > 1 else nullcontext(), ExitStack() as stack:
            children = [Child(trainer(self.recorded, self.platform)) for _ in range(jobs)]
            for child in children:
                stack.callback(child.stop)
            self._train(children, waiting, work, until)

    def _train(self, children: Sequence[Child], waiting: list[Item], work: Mapping[Item, float], until: float) -> None:
        slowest: dict[str, float] = {}  # the seconds per work of the slowest training of each system so far
        while True:
            now = time.monotonic()
            for child in children:
                # What would not be finished in time is not started: a training that is cut off is lost.
                fits = (item for item in waiting if now + slowest.get(item[0], 0.0) * work[item] < until)
                if child.item is None and (item := next(fits, None)):
                    waiting.remove(item)
                    child.ask(item, item)
            busy = [child for child in children if child.item is not None]
            if not busy or now > min(until + GRACE_SECONDS, self.end):
                self.say(f"{len(busy)} trainings were cut off, {len(waiting)} were not started")
                return
            ready = wait([child.pipe for child in busy], timeout=1.0)
            for child in busy:
                if child.pipe in ready:
                    item = child.item
                    slowness = self._keep_training(child) / work[item]
                    slowest[item[0]] = max(slowest.get(item[0], 0.0), slowness)

    def _keep_training(self, child: Child) -> float:
        """The seconds of the training; one that crashed is not kept, so that the next call tries it again."""
        (name, n), outcome = child.item, _received(child)
        if "crashed" in outcome:
            self.say(f"{name} {n} crashed: {_last_line(outcome)}")
            return 0.0
        self.recorded[name].journal.add_error(n, outcome)
        errors, seconds = outcome.get("epoch_errors", ["-"]), float(outcome.get("seconds_with_others", 0.0))
        self.say(f"trained {name} {n}: {outcome.get('failed') or f'{errors[0]} to {errors[-1]} %, {seconds:.1f} s'}")
        return seconds

    def read(self, window_seconds: float) -> None:
        """Measure alone what is missing of the trained networks, the systems in turn.

        Once the time is over, nothing is measured; networks of which everything is known are still completed.
        """
        child = Child(reader(self.recorded, self.platform, self.meter, window_seconds))
        count = max((len(one.plan.networks) for one in self.recorded.values()), default=0)
        try:
            for n in range(count):
                for name, one in self.recorded.items():
                    if n in one.journal.errors:
                        self._read_network(child, name, n)
        finally:
            child.stop()

    def _read_network(self, child: Child, name: str, n: int) -> None:
        """Measure what is missing of a network, as long as there is time."""
        one, begin = self.recorded[name], time.monotonic()
        trained_as = one.journal.errors[n]
        if not one.is_timed(n):
            found = one.times(n) or self._asked(child, (name, n, None))
            if found is None:
                return
            one.journal.add_error(n, {**trained_as, **found})
        for d in one.unread(n):
            twin = one.reading(n, d)
            outcome = {**twin, "shared": True} if twin is not None else self._asked(child, (name, n, d))
            if outcome is None:
                return
            precision = str(one.plan.deployments[d]["precision"])
            outcome["deployed_error_percent"] = trained_as.get("deployed", {}).get(precision)
            one.journal.add_reading(n, d, outcome)
        self.say(f"read {name} {n} in {time.monotonic() - begin:.1f} s: {_line(one, n)}")

    def _asked(self, child: Child, request: tuple[str, int, int | None]) -> dict[str, Any] | None:
        """The outcome; None if the time is over."""
        if time.monotonic() > self.end:
            return None
        child.ask(request, request)
        if not child.pipe.poll(max(0.0, self.end - time.monotonic())):
            child.stop()
            return None
        outcome = _received(child)
        if "crashed" in outcome:
            self.say(f"{request} crashed: {_last_line(outcome)}")
            return {"failed": _last_line(outcome)}
        return outcome


def _last_line(outcome: Mapping[str, Any]) -> str:
    return str(outcome["crashed"]).strip().splitlines()[-1]


def _received(child: Child) -> dict[str, Any]:
    """The outcome of a child's work; a child that died or crashed is ended."""
    try:
        outcome: dict[str, Any] = child.pipe.recv()
    except (EOFError, OSError):
        outcome = {"crashed": "the process died"}
    child.item = None
    if "crashed" in outcome:
        sys.stderr.write(f"{outcome['crashed']}\n")
        child.stop()
    return outcome


def _line(one: Recorded, n: int) -> str:
    readings = [one.journal.readings[n, d] for d in range(len(one.plan.deployments))]
    joules = [reading["energy_joules"] for reading in readings if "energy_joules" in reading]
    if not joules:
        return "nothing could be read"
    seconds = one.journal.errors[n].get("training_seconds") or 0.0
    return f"{1000 * min(joules):.3g} to {1000 * max(joules):.3g} mJ; a training alone {seconds:.1f} s"


def write_tables(all_recorded: Mapping[str, Recorded], folder: Path, suffix: str, say: Say) -> None:
    """Write the table of each system, of its complete networks."""
    for name, one in all_recorded.items():
        whole = [n for n in complete(one.plan, one.journal) if "error_percent" in one.journal.errors[n]]
        if len(whole) >= 2:
            write_table(folder / f"{name}-{suffix}.csv.gz", recorded(one.plan, one.journal, whole))
        say(f"{name}: {len(whole)} of {len(one.plan.networks)} networks are complete")


def main(arguments: Sequence[str] | None = None) -> int:
    """Record for some time; the exit status is 0 if all tables are complete and 3 if measurements are left."""
    given = _parser().parse_args(arguments)
    for folder in filter(None, (given.resume, given.earlier)):
        if not folder.is_dir():
            sys.stderr.write(f"There is no folder {folder}; give one with journals of another call.\n")
            return 2
    try:
        return _record(given)
    except FlexiBOError as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _record(given: argparse.Namespace) -> int:
    started = time.monotonic()
    given.out.mkdir(parents=True, exist_ok=True)
    for path in given.resume.glob("*.partial") if given.resume else ():
        if not (given.out / path.name).exists():  # what is there already goes on
            shutil.copy(path, given.out / path.name)
    platform = find_platform(given.platform)

    def meter() -> Any:
        return EstimatedMeter(given.estimate) if given.estimate else platform.meter()

    def say(text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - started:6.1f} s  {text}\n")
        sys.stdout.flush()

    tasks = {name: _task(find_system(name), given, platform) for name in given.systems.split(",")}
    say("the data is loaded")
    machine = _answers(lambda pipe: pipe.send(_described(tasks, platform, meter)), seconds=120)
    if machine is None:
        sys.stderr.write("This machine cannot be described: its meter does not open, or torch is missing.\n")
        return 2
    with ExitStack() as stack:
        all_recorded = {}
        for name, (task, settings) in tasks.items():
            system = find_system(name)
            recipe = recipe_of(system, given.size, platform)
            plan = plan_of(system, recipe, count=given.networks, seed=SEED, settings=settings)
            silent = [option for option in system.options if option not in system.running_options]
            heading = {**machine, "training_only": silent, "trained_at_once": given.jobs, "timed_alone": True}
            known = earlier(given.earlier, plan) if given.earlier else None
            if known is not None:
                heading["earlier"] = {**known.made_with, "deployments": known.in_common(plan.deployments)}
            alike = same_trainings(given.earlier, plan) if given.earlier else None
            outcomes = {} if alike is None else alike.outcomes(plan.networks, _precisions(plan))
            if given.earlier and known is None and alike is None:
                say(f"{name}: {given.earlier} has no recording of the same system and data to take anything from")
            if alike is not None:
                at_once = alike.heading.get("trained_at_once", 1)
                heading["trained_earlier"] = {**alike.made_with, "networks": len(outcomes), "at_once": at_once}
            partial = given.out / f"{name}-{given.suffix}.csv.gz.partial"
            journal = stack.enter_context(opened(partial, plan, heading))
            for n, outcome in outcomes.items():
                if n not in journal.errors:
                    journal.add_error(n, dict(outcome))
            all_recorded[name] = one = Recorded(system, task, plan, journal, known)
            unknown = sum(one.must_be_read(n) for n in range(len(plan.networks)))
            say(f"{name}: {unknown} of {len(plan.networks)} networks must be read alone")
        session = Session(all_recorded, platform, meter, started + given.seconds - SPARE_SECONDS, say)
        session.train(given.jobs, given.share, started)
        session.read(given.window)
        write_tables(all_recorded, given.out, given.suffix, say)
        is_complete = all(
            len(complete(one.plan, one.journal)) == len(one.plan.networks) for one in all_recorded.values()
        )
    return 0 if is_complete else 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record_all", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the folder of journals and tables")
    parser.add_argument("--resume", type=Path, help="a folder with journals of earlier calls, copied to --out first")
    parser.add_argument("--earlier", type=Path, help="a folder with journals or tables of longer or shorter trainings")
    parser.add_argument("--seconds", type=float, default=540.0, help="the time of this call, loading included")
    parser.add_argument("--systems", default=",".join(RECIPES), help="comma-separated")
    parser.add_argument("--data", type=Path, default=os.environ.get("FLEXIBO_DATA"), help="or FLEXIBO_DATA")
    parser.add_argument(
        "--encoder", type=Path, help="the folder of the encoder of both BERTs; default: MiniLM's package"
    )
    parser.add_argument("--size", default="small", help="small, or tiny for a test")
    parser.add_argument("--networks", type=int, default=48)
    parser.add_argument("--jobs", type=int, default=14, help="networks trained at a time")
    parser.add_argument("--share", type=float, default=0.33, help="of the time, for trainings")
    parser.add_argument("--window", type=float, default=0.2, help="seconds of a reading, after its warm-up")
    parser.add_argument("--platform", default="nvidia-gpu")
    parser.add_argument("--estimate", type=float, help="watts, instead of a meter; for a test")
    parser.add_argument("--suffix", default="h200", help="of the tables' names: SYSTEM-SUFFIX.csv.gz")
    return parser


@lru_cache  # five systems learn from the same images
def _loaded(name: str, folder: Path, limit: int | None) -> Any:
    return load_dataset(name, folder, limit=limit, seed=SEED)


def _task(system: PaperSystem, given: Any, platform: Platform) -> tuple[Any, dict[str, Any]]:
    """The task of a system, and the settings that decide its values."""
    recipe = recipe_of(system, given.size, platform)
    data = _loaded(recipe.dataset, Path(given.data), recipe.limit)
    encoder = given.encoder if system.network == "bert" and given.size != "tiny" else None
    task = task_of(system, data, epochs=recipe.epochs, size=given.size, encoder=encoder)
    if system.network == "bert":
        _ = task.words  # shared by all processes
    drawn_from = {**recipe.networks, **recipe.deployments}
    settings = {
        "platform": platform.name,
        "dataset": data.name,
        "training_examples": len(data.train),
        "test_examples": len(data.test),
        "chance_percent": task.chance_percent,
        "epochs": recipe.epochs,
        "size": given.size,
        "task": task.fingerprint,
        "window_seconds": given.window,
        "at_most": {},
        "only": {name: [str(value) for value in values] for name, values in drawn_from.items()},
    }
    return task, settings


def _described(tasks: Mapping[str, Any], platform: Platform, meter: Callable[[], Any]) -> dict[str, Any]:
    name, (task, _) = next(iter(tasks.items()))
    runner = NetworkRunner(find_system(name), task, platform, None, meter(), None)  # type: ignore[arg-type]
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    return json.loads(json.dumps({**described(runner), "date": date}))  # type: ignore[no-any-return]


if __name__ == "__main__":
    sys.exit(main())
