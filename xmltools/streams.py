"""Another name for `xmltools.conversations.streams`."""

from xmltools.conversations.streams import *  # noqa: F403
from xmltools.conversations.streams import __all__  # noqa: F401
