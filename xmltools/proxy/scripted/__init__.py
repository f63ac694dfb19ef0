"""An upstream without a model: it plays a script, as `serve --demo` does, or recordings, for `xmltools replay`."""
