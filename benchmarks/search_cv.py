"""FlexiSearchCV against RandomizedSearchCV: the fronts that the same number of fits gives.

Random forests on the handwritten digits of scikit-learn, accuracy against the size of the pickled model, in five folds.
What is compared is the hypervolume of the settings that were measured in all folds, in error and decades of bytes, and
the best accuracy among them.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexibo.pareto import hypervolume

FOLDS = 5
REFERENCE = np.array([0.5, 6.6])  # an error of a half, and 4 MB


@dataclass(frozen=True, slots=True)
class Found:
    """What one search found."""

    settings: int  # how many were begun
    volume: float
    accuracy: float


def forest_and_space() -> tuple[Any, dict[str, Any]]:
    from scipy.stats import randint
    from sklearn.ensemble import RandomForestClassifier

    space = {
        "n_estimators": randint(2, 61),
        "max_depth": randint(2, 17),
        "min_samples_leaf": randint(1, 11),
        "max_features": ["sqrt", "log2", None],
    }
    return RandomForestClassifier(random_state=0), space


def digits(rows: int) -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[:rows], y[:rows]


def by_flexibo(X: Any, y: Any, n_iter: int, seed: int) -> Found:
    from flexibo.integrations.scikit_learn import FlexiSearchCV

    forest, space = forest_and_space()
    search = FlexiSearchCV(forest, space, n_iter=n_iter, cv=FOLDS, random_state=seed, refit=False).fit(X, y)
    accuracy = [row.values["score"] for row in search.front_]
    return _found(len(search.cv_results_["params"]), accuracy, [row.values["model_size"] for row in search.front_])


def by_random(X: Any, y: Any, n_iter: int, seed: int) -> Found:
    import pickle

    from sklearn.model_selection import RandomizedSearchCV

    def score(fitted: Any, X: Any, y: Any) -> dict[str, float]:
        return {"accuracy": fitted.score(X, y), "size": len(pickle.dumps(fitted, protocol=pickle.HIGHEST_PROTOCOL))}

    forest, space = forest_and_space()
    search = RandomizedSearchCV(forest, space, n_iter=n_iter, cv=FOLDS, random_state=seed, scoring=score, refit=False)
    results = search.fit(X, y).cv_results_
    return _found(n_iter, results["mean_test_accuracy"], results["mean_test_size"])


def _found(settings: int, accuracy: Sequence[float], size: Sequence[float]) -> Found:
    losses = np.stack([1.0 - np.asarray(accuracy), np.log10(size)], axis=1)
    return Found(settings, hypervolume(losses, REFERENCE), float(np.max(accuracy)))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1797)
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    X, y = digits(chosen.rows)
    print("| n_iter | fits | settings begun | volume, random | volume, FlexiSearchCV | larger in | best accuracy |")
    print("|---|---|---|---|---|---|---|")
    for n_iter in chosen.iterations:
        pairs = [(by_random(X, y, n_iter, seed), by_flexibo(X, y, n_iter, seed)) for seed in range(chosen.seeds)]
        volumes = [statistics.median(found.volume for found in column) for column in zip(*pairs, strict=True)]
        best = [statistics.median(found.accuracy for found in column) for column in zip(*pairs, strict=True)]
        begun = statistics.median(own.settings for _, own in pairs)
        wins = sum(own.volume > other.volume for other, own in pairs)
        print(
            f"| {n_iter} | {n_iter * FOLDS} | {n_iter} and {begun:g} | {volumes[0]:.3f} | {volumes[1]:.3f} | "
            f"{wins} of {len(pairs)} | {best[0]:.3f} and {best[1]:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
