"""What a process does that works on an Optuna study."""

from __future__ import annotations

import os
import signal

import optuna

from flexibo.integrations.optuna import FlexiBOSampler


def main(url: str, trials: int, killed_in: int | None = None) -> None:
    """Work on the study for some trials; the process kills itself, without a word, in the middle of one of them."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = FlexiBOSampler(seed=3, n_startup_trials=2, candidates=30)
    study = optuna.create_study(
        storage=url, study_name="shared", directions=["minimize", "maximize"], sampler=sampler, load_if_exists=True
    )

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        x = trial.suggest_float("x", 0, 1)
        if trial.number == killed_in:
            os.kill(os.getpid(), signal.SIGKILL)
        return x + trial.suggest_int("n", 0, 8), x * trial.suggest_categorical("k", [1, 2, 3])

    study.optimize(objective, n_trials=trials)
