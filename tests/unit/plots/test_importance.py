"""The importance of options as bars."""

from __future__ import annotations

import pytest

from flexibo import Study, plots
from flexibo.views import importance_view


def test_importance_has_bars_as_long_as_the_shares(study: Study) -> None:
    view = importance_view(study)
    ax = plots.importance(study)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert sorted(names) == sorted(view.options)
    main = next(bars for bars in ax.containers if bars.get_label() == "error")
    assert [bar.get_width() for bar in main] == pytest.approx([100.0 * view.main["error"][name] for name in names])
    assert main[0].get_hatch()
