"""Values to text: instructions, calls, results and retries, written so that the parser reads them back."""

from xmltools.render.calls import render_call, render_calls
from xmltools.render.instructions import render_instructions
from xmltools.render.prompt_sentences import ENGLISH, Wording
from xmltools.render.results import ReadResult, read_results, render_result, render_result_parts, render_results
from xmltools.render.retry_message import render_retry

__all__ = [
    "ENGLISH",
    "ReadResult",
    "Wording",
    "read_results",
    "render_call",
    "render_calls",
    "render_instructions",
    "render_result",
    "render_result_parts",
    "render_results",
    "render_retry",
]
