"""Files in, files out: reading and writing in pieces, and going on after a kill."""
