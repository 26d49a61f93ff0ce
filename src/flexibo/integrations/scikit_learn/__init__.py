"""scikit-learn: `FlexiSearchCV`, a search over the parameters of an estimator for several scores and costs at once.

Programs of users import this; it imports studies and what lies below them.
"""

from flexibo.integrations.scikit_learn.search import FlexiSearchCV

__all__ = ["FlexiSearchCV"]
