"""What the runs of a comparison show: errors, ratios with bootstrap intervals, rankings and goals."""
