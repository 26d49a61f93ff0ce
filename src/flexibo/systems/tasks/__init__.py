"""Tasks: what the networks learn, one file per kind of data."""
