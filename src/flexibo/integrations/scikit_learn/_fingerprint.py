"""What a stored search was made with, so that it is not continued with another estimator or other data."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from flexibo.integrations.scikit_learn._folds import Data


def fingerprint(estimator: Any, data: Data, scorers: Mapping[str, Any], *, searched: Sequence[str]) -> dict[str, str]:
    """Digests of the estimator without the searched parameters, of the data, of the folds and of the scores."""
    params = estimator.get_params(deep=True)
    fixed = {name: value for name, value in params.items() if name not in searched and not hasattr(value, "get_params")}
    return {
        "estimator": f"{type(estimator).__name__} {_digest(sorted(fixed.items()))}",
        "data": _digest([data.X, data.y, sorted(data.fit_params.items())]),
        "folds": _digest(list(data.folds)),
        "scores": _digest(sorted(scorers.items())),
    }


def _digest(content: object) -> str:
    found = hashlib.sha256()
    _add(found, content)
    return found.hexdigest()[:16]


def _add(found: Any, content: object) -> None:
    """Feed content to a digest; the same in every process, so without addresses."""
    if isinstance(content, list | tuple) and not all(isinstance(one, int | float) for one in content):
        found.update(f"{len(content)} items".encode())
        for one in content:
            _add(found, one)
    elif sparse.issparse(content):
        table = content.tocsr()  # type: ignore[attr-defined]  # it is sparse
        _add(found, [list(table.shape), table.data, table.indices, table.indptr])
    elif hasattr(content, "to_csv"):  # a frame or a column of pandas
        found.update(content.to_csv().encode())
    elif isinstance(content, np.ndarray) and content.dtype != object:
        found.update(f"{content.shape} {content.dtype}".encode())
        found.update(np.ascontiguousarray(content).tobytes())
    else:
        shown = repr(content.tolist() if isinstance(content, np.ndarray) else content)
        found.update(re.sub(r" at 0x[0-9a-f]+", "", shown).encode())
