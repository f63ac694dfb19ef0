"""Another name for `xmltools.conversations.echo`."""

from xmltools.conversations.echo import *  # noqa: F403
from xmltools.conversations.echo import __all__  # noqa: F401
