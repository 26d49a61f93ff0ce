"""What importing flexibo imports, and which extras it names."""

from __future__ import annotations

import builtins
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from flexibo import Design, Study, plots
from flexibo.errors import MissingExtraError

Functions = Mapping[str, Callable[[Design], Any]]


def test_importing_flexibo_imports_nothing_heavy_and_a_first_question_little() -> None:
    code = (
        "import sys, flexibo;"
        "print([m for m in ('sklearn', 'pandas', 'matplotlib', 'numpy') if m in sys.modules]);"
        "from flexibo import Study, Space, Objective, list_methods; list_methods();"
        "Study(Space({'a': (0.0, 1.0)}), [Objective('x'), 'y'], budget=3, seed=0).ask();"
        "heavy = 'sklearn pandas matplotlib sqlalchemy pymoo scipy.optimize scipy.stats rich'.split();"
        "print([m for m in heavy if m in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["[]", "[]"]


@pytest.mark.parametrize(("package", "extra"), [("matplotlib", "plot"), ("pandas", "pandas")])
def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch,
    make_study: Callable[..., Study],
    functions: Functions,
    package: str,
    extra: str,
) -> None:
    study = make_study(method="random", n_initial=3, stop={"max_evaluations": 6})
    study.run(functions)
    real_import = builtins.__import__

    def blocked(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", blocked)
    with pytest.raises(MissingExtraError, match=rf"flexibo\[{extra}\]"):
        plots.front(study) if package == "matplotlib" else study.trace().to_pandas()
