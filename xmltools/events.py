"""Another name for `xmltools.models.events`."""

from xmltools.models.events import *  # noqa: F403
from xmltools.models.events import __all__  # noqa: F401
