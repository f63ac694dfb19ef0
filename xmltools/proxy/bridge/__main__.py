"""What `xmltools serve` starts as a process of its own: see `helper.py`."""

from xmltools.proxy.bridge.helper import main

main()
