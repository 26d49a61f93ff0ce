"""What is to know about the proxies of a study before they cost anything in vain."""

from __future__ import annotations

from flexibo._internal.text import printable_line
from flexibo.belief.costs import mean_costs
from flexibo.belief.proxies import CHEAP_PROXY, PATIENCE, proxy_purchases
from flexibo.study import Study
from flexibo.surrogates.table import SURROGATES


def proxy_hints(study: Study) -> list[str]:
    """A sentence for each proxy that is not asked for, or that costs too much to learn what it tells."""
    history, costs = study.history, mean_costs(study.history)
    found = []
    for p, purchase in enumerate(history.purchases):
        if history.bundles[p]:
            continue
        name, failed = purchase.objective, history.failed_in_a_row[purchase.objective]
        of = [q for q, _ in history.counting if any(p in proxy_purchases(history, j) for j in history.bundles[q])]
        told = " and ".join(history.purchases[q].objective for q in of)
        share = float(costs[p] / costs[of].max())  # NaN as long as a cost is not known
        if not study.predictor.has_looks:
            *others, last = (which for which, choice in SURROGATES.items() if choice.has_levels)
            found.append(
                f"{name} is a proxy, which is not asked for: only the method flexibo with the surrogate "
                f"{', '.join(others)} or {last} asks for proxies. Choose these, or leave the proxy out."
            )
        elif failed >= PATIENCE:
            last = printable_line(history.last_reason[name])
            found.append(f"{name} failed {failed} times in a row, so this proxy is not asked for any more: {last}")
        elif share > CHEAP_PROXY:
            found.append(
                f"{name} costs {share:.0%} of {told}; a proxy that costs more than a third is not read just to learn "
                "what it tells. Make it cheaper, or leave it out."
            )
    return found
