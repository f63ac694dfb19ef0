"""Values to text: the way out. Instructions, calls, results and retries, written so that the parser reads them back."""

from xmltools.render._results import ReadResult, read_results, render_result, render_results

__all__ = ["ReadResult", "read_results", "render_result", "render_results"]
