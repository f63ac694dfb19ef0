"""A model that needs no weights: it follows a script, so that the proxy can be tried without one."""
