"""Another name for `xmltools.conversations.copied_calls`."""

from xmltools.conversations.copied_calls import *  # noqa: F403
from xmltools.conversations.copied_calls import __all__  # noqa: F401
