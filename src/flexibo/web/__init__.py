"""Interactive pictures in a browser, without a network: the scripts, and pages that hold everything in one file."""
