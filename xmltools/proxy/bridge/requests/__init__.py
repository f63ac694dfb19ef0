"""Requests of clients, one module for each API, read into one form (`incoming`)."""
