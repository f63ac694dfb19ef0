"""An upstream that needs no weights: it plays a script, as `serve --demo` does, or recordings, for `xmltools replay`."""
