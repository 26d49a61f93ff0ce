"""Two conflicting objectives of a small network, searched with flexibo's sampler from OptunaHub."""

import optuna
import optunahub


def objective(trial: optuna.Trial) -> tuple[float, float]:
    """The error and the energy of a network."""
    width = trial.suggest_int("width", 8, 64, step=8)
    rate = trial.suggest_float("rate", 1e-3, 1.0, log=True)
    return 1 / width + (rate - 0.1) ** 2, width * (1.5 if rate > 0.5 else 1.0)


if __name__ == "__main__":
    sampler = optunahub.load_module("samplers/flexibo").FlexiBOSampler(seed=0)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    study.optimize(objective, n_trials=20)
    for trial in study.best_trials:
        print(trial.params, trial.values)
