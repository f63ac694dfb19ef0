"""The report of a batch run: one HTML page, or the counts alone."""
