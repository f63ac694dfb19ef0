"""Another name for `xmltools.conversations.compaction`."""

from xmltools.conversations.compaction import *  # noqa: F403
from xmltools.conversations.compaction import __all__  # noqa: F401
