"""Data to train on: one file per format, read from the standard files as they are."""
