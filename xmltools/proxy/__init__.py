"""Function calling for models that have none.

`bridge` translates requests and replies, without any I/O; `server` is the proxy, `transport` does the same inside the
client's process. `playground` shows what the parser does; `scripted` is a model that needs no weights.
"""
