"""What an upstream can do, and how to serve it: requests that show it, and a report of what came of them.

No tool is run. What the model and its server say is data; it is kept short, and nothing in it leads anywhere else.
"""

from xmltools.proxy.doctor.examination import USUAL_DIALECTS, examine, most_requests, usual_most
from xmltools.proxy.doctor.report import Check, Grammar, Outcome, Report, Result, Tried, Way, short

__all__ = [
    "USUAL_DIALECTS",
    "Check",
    "Grammar",
    "Outcome",
    "Report",
    "Result",
    "Tried",
    "Way",
    "examine",
    "most_requests",
    "short",
    "usual_most",
]
