"""What pictures of a study show, as values: the same for every drawing."""
