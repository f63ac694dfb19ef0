"""The report of a batch run: one HTML page."""
