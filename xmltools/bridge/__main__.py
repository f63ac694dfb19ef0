"""What `xmltools serve` starts as a process of its own: see `_helper.py`."""

from xmltools.bridge._helper import main

main()
