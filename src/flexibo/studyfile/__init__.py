"""Studies written down in a file: what to tune, what to measure and how, checked as a whole."""
