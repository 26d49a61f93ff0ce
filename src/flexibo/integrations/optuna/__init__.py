"""flexibo for users of Optuna: a sampler for Optuna's studies, and results that move from one library to the other.

`sampler.py` proposes the parameters of a trial, `_trials.py` and `_informed_study.py` say what it learns from
the trials there are, `_parameters.py`, `_conditions.py` and `_search_space.py` translate Optuna's distributions to
options and find which parameters depend on others, and `exchange.py` moves results. Needs the extra `optuna`.
"""

from flexibo.errors import missing_extra

try:
    import optuna as _optuna  # noqa: F401
except ImportError as error:
    raise missing_extra("optuna", "optuna") from error

from flexibo.integrations.optuna.exchange import KnownResult, KnownResults, from_optuna, to_optuna
from flexibo.integrations.optuna.sampler import FlexiBOSampler

__all__ = ["FlexiBOSampler", "KnownResult", "KnownResults", "from_optuna", "to_optuna"]
