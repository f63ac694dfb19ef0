"""`python -m xmltools` is the command line."""

import sys

from xmltools.cli import main

if __name__ == "__main__":
    sys.exit(main())
