"""Problems whose true values are all known, so that the front a method reports can be judged."""
