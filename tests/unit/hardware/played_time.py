"""A world in which time passes only when work is done, with a meter."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class World:
    """A device with a known power, a clock that its work moves, and a counter that moves in steps.

    The counter shows the true energy at its last step, as a staircase of `step` seconds; `phase` shifts the steps.
    """

    call_seconds: float = 0.007
    busy_watts: float = 480.0
    idle_watts: float = 80.0
    step: float = 0.1
    phase: float = 0.0
    now: float = 100.0
    joules: float = 7000.0
    shown: float = 7000.0
    n_steps: int = 0
    n_calls: int = 0
    queued: int = 0
    n_looks: int = 0
    most_calls: int = 300_000

    name = "a staircase"
    is_estimate = False

    @property
    def update_seconds(self) -> float:
        return self.step

    def clock(self) -> float:
        return self.now

    def pass_time(self, seconds: float, watts: float) -> None:
        end = self.now + seconds
        while (step := 100.0 + self.phase + (self.n_steps + 1) * self.step) <= end:
            self.joules += watts * (step - self.now)
            self.now, self.shown = step, self.joules
            self.n_steps += 1
        self.joules += watts * (end - self.now)
        self.now = end

    def read_joules(self) -> float:
        self.n_looks += 1
        return self.shown

    def work(self) -> None:
        self.n_calls += 1
        assert self.n_calls < self.most_calls, "the measurement does not come to an end"
        self.pass_time(self.call_seconds, self.busy_watts)

    def enqueue(self) -> None:
        """Work that a device does later, as a GPU does."""
        self.n_calls += 1
        self.queued += 1
        assert self.n_calls < self.most_calls, "the measurement does not come to an end"
        self.pass_time(1e-5, self.busy_watts)

    def synchronise(self) -> None:
        self.pass_time(self.queued * self.call_seconds, self.busy_watts)
        self.queued = 0

    def sleep(self, seconds: float) -> None:
        self.pass_time(seconds, self.idle_watts)
