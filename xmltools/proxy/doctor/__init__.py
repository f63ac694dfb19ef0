"""What an upstream can do, and how to serve it: requests that show it, and a report of what came of them.

No tool is run. What the model and its server say is data; it is kept short, and nothing in it leads anywhere else.
"""

from xmltools.proxy.doctor.examination import examine, most_requests, usual_most
from xmltools.proxy.doctor.report import Check, Outcome, Report, Result, Tried

__all__ = ["Check", "Outcome", "Report", "Result", "Tried", "examine", "most_requests", "usual_most"]
