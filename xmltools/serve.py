"""Another name for `xmltools.proxy.server`."""

from xmltools.proxy.server import *  # noqa: F403
from xmltools.proxy.server import __all__  # noqa: F401
