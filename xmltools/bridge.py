"""Another name for `xmltools.proxy.bridge`."""

from xmltools.proxy.bridge import *  # noqa: F403
from xmltools.proxy.bridge import __all__  # noqa: F401
