"""What tells one stored search from another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from flexibo.integrations.scikit_learn._fingerprint import fingerprint
from flexibo.integrations.scikit_learn._folds import Data

ROWS = np.arange(12.0).reshape(6, 2)
FOLDS = [(np.arange(3), np.arange(3, 6))]


def made(X: Any = ROWS, y: Any = None, estimator: Any = None, folds: Any = FOLDS, score: str = "accuracy") -> Any:
    own = DecisionTreeClassifier() if estimator is None else estimator
    return fingerprint(own, Data(X, y, folds, {}, {}), {"score": get_scorer(score)}, searched=["max_depth"])


def differing(**other: Any) -> list[str]:
    return [what for what, digest in made().items() if made(**other)[what] != digest]


def test_the_same_search_has_the_same_fingerprint() -> None:
    assert made(X=ROWS.copy()) == made()
    assert differing(estimator=DecisionTreeClassifier(max_depth=3)) == []  # it is searched


def test_what_differs_is_named() -> None:
    assert differing(X=ROWS + 1) == ["data"]
    assert differing(y=np.zeros(6)) == ["data"]
    assert differing(X=ROWS.astype(np.float32)) == ["data"]
    assert differing(folds=[(np.arange(4), np.arange(4, 6))]) == ["folds"]
    assert differing(estimator=DecisionTreeClassifier(criterion="entropy")) == ["estimator"]
    assert differing(score="f1") == ["scores"]


def test_addresses_do_not_matter() -> None:
    first, second = (make_pipeline(FunctionTransformer(lambda X: X), DecisionTreeClassifier()) for _ in range(2))
    assert made(estimator=first) == made(estimator=second)


def test_sparse_rows_frames_and_texts_are_told_apart() -> None:
    pandas = pytest.importorskip("pandas")
    assert made(X=sparse.csr_matrix(ROWS))["data"] == made(X=sparse.coo_matrix(ROWS))["data"]
    assert made(X=sparse.csr_matrix(ROWS))["data"] != made(X=sparse.csr_matrix(ROWS + 1))["data"]
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    assert made(X=frame)["data"] == made(X=frame.copy())["data"] != made(X=frame.assign(b="x"))["data"]
    texts = np.array(["a", "b"], dtype=object)
    assert made(X=texts)["data"] == made(X=texts.copy())["data"] != made(X=texts[::-1])["data"]
    assert made(X=["a", "b"])["data"] != made(X=["a", "c"])["data"]
