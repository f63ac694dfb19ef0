"""Another name for `xmltools.proxy.transport`."""

from xmltools.proxy.transport import *  # noqa: F403
from xmltools.proxy.transport import __all__  # noqa: F401
