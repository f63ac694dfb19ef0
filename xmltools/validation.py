"""Another name for `xmltools.conversations.validation`."""

from xmltools.conversations.validation import *  # noqa: F403
from xmltools.conversations.validation import __all__  # noqa: F401
