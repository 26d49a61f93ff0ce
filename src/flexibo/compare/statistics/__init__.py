"""What the runs of a comparison show: errors, ratios with confidence intervals, rankings and goals."""
