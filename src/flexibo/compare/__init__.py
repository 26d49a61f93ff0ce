"""Comparisons: problems as values, other people's optimisers, equal money for everybody."""
