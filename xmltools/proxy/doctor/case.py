"""What the checks of one examination share: who is asked, and what they found out for those after them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xmltools.proxy.doctor.asking import Asking, NoAnswerError, Reply
from xmltools.proxy.doctor.report import Report
from xmltools.proxy.server.config import ServeConfig


@dataclass(slots=True)
class Case:
    """An upstream that is examined. `wanted` is the model to ask for, None for the first that is listed; `dialects` are
    those to try, None for those that are likely. `key_name` is where the key came from. `on_progress` hears what is
    being checked, and how many requests there were."""

    config: ServeConfig
    asking: Asking
    report: Report
    wanted: str | None
    dialects: tuple[str, ...] | None
    key_name: str | None = None
    on_progress: Callable[[str, int], None] | None = None
    server: str = ""
    owner: str = ""
    """What the server says that it is, and who owns the model."""
    listed: list[str] = field(default_factory=list)
    listing: NoAnswerError | None = None
    """The models, or why there is no list of them."""
    is_locked: bool = False
    """Whether the server wants a key, or another one."""
    answer: Reply | None = None
    stream: Reply | None = None
    gives_calls: bool = False
    """Whether the server reads calls itself."""
    leaves_calls: str | None = None
    """The `tool_choice` with which calls in the model's own dialect are left in the text."""
    starts_in_reasoning: bool = False

    def tell(self, words: str) -> None:
        """Say what is being checked now."""
        if self.on_progress is not None:
            self.on_progress(words, self.asking.requests)

    @property
    def replies(self) -> list[Reply]:
        """The plain replies that there were."""
        return [reply for reply in (self.answer, self.stream) if reply is not None]
