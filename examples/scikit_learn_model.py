"""Tune a scikit-learn model: its error against its prediction time, both measured for real.

The error needs a full training and a test. The prediction time depends on the size of the network, not on its weights,
so it is measured on a network that has seen 100 images once. The budget is 6 processor seconds; other load on the
machine is not charged. At the end every evaluation is written to a file.
"""

from __future__ import annotations

import time
import warnings
from statistics import median

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from flexibo import Design, Objective, Real, Space, Study

IMAGES, DIGITS = load_digits(return_X_y=True)
TRAIN, TEST, TRAIN_DIGITS, TEST_DIGITS = train_test_split(IMAGES / 16.0, DIGITS, test_size=0.4, random_state=0)
NETWORK = ["layers", "width", "activation"]


def network(design: Design, *, alpha: float = 1e-4, rate: float = 1e-3, epochs: int) -> MLPClassifier:
    """An untrained network of the design's size."""
    return MLPClassifier(
        hidden_layer_sizes=(design["width"],) * design["layers"],
        activation=design["activation"],
        alpha=alpha,
        learning_rate_init=rate,
        max_iter=epochs,
        random_state=0,
    )


def error(design: Design) -> tuple[float, float]:
    """The error of a trained network on held-out digits in percent, and the cost of the training."""
    begun = time.process_time()
    model = network(design, alpha=design["alpha"], rate=design["rate"], epochs=25)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 25 epochs are intended
        model.fit(TRAIN, TRAIN_DIGITS)
    return 100.0 * (1.0 - float(model.score(TEST, TEST_DIGITS))), time.process_time() - begun


def prediction_ms(design: Design) -> tuple[float, float]:
    """The milliseconds for 500 images in batches of the design's size, and the cost of the reading."""
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = network(design, epochs=1).fit(TRAIN[:100], TRAIN_DIGITS[:100])
    batches = [TEST[:500][start : start + design["batch"]] for start in range(0, 500, design["batch"])]
    times = []
    for _ in range(7):
        start = time.perf_counter()
        for batch in batches:
            model.predict(batch)
        times.append(time.perf_counter() - start)
    return 1000.0 * median(times), time.process_time() - begun


def main() -> None:
    """Run the study, print the front, and write every evaluation to a table."""
    space = Space(
        {
            "layers": (1, 3),
            "width": [4, 8, 16, 32, 64, 128],
            "activation": ["relu", "tanh"],
            "alpha": Real(1e-5, 1e-1, log=True),
            "rate": Real(3e-4, 3e-2, log=True),
            "batch": [10, 50, 250, 500],
        }
    )
    objectives = [
        Objective("error", unit="%", options=[*NETWORK, "alpha", "rate"]),
        Objective("prediction_ms", unit="ms", options=[*NETWORK, "batch"], noisy=True),
    ]
    study = Study(space, objectives, budget=6, seed=0, n_initial=5, stop={"max_evaluations": 50})
    study.run({"error": error, "prediction_ms": prediction_ms}, progress=False)
    print(study.front())
    print()
    print(study.summary())
    study.trace().to_csv("scikit_learn_model.csv")
    errors = [row.value for row in study.trace() if row.objective == "error" and row.value is not None]
    print(
        f"\nErrors measured: {np.min(errors):.1f} to {np.max(errors):.1f} %. Every evaluation: scikit_learn_model.csv"
    )


if __name__ == "__main__":
    main()
