"""What an upstream can do, and how to serve it: requests that show it, and a report of what came of them.

No tool is run. What the model and its server say is data; it is kept short, and nothing in it leads anywhere else.
"""

from xmltools.proxy.doctor.case import Case
from xmltools.proxy.doctor.examination import examine

__all__ = ["Case", "examine"]
