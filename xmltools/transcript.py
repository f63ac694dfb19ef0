"""Another name for `xmltools.conversations.transcript`."""

from xmltools.conversations.transcript import *  # noqa: F403
from xmltools.conversations.transcript import __all__  # noqa: F401
