"""Batches on Ray: from a laptop to a cluster."""
