"""What the content of a result is when it was written as text and read back."""

from __future__ import annotations

from xmltools.models import Media, Text, ToolResult


def as_read(result: ToolResult, word: str | None = None) -> str | tuple[Text | Media, ...]:
    """The content of a result whose media are at hand: adjacent texts are one, with a line break between them, empty
    ones are left out, and there is a line break between a text and a medium. It is a string if it has no medium.

    `word` is that of the header, which content that begins with it has lost.
    """
    given = (Text(text=result.content),) if isinstance(result.content, str) else result.content
    parts: list[Text | Media] = []
    for part in given:
        if isinstance(part, Text) and parts and isinstance(parts[-1], Text):
            parts[-1] = Text(text=apart(parts[-1].text, part.text))
        elif isinstance(part, Media) or part.text:
            parts.append(part)
    if word and parts and isinstance(parts[0], Text):
        parts[0] = Text(text=parts[0].text.removeprefix(word))
        parts = parts if parts[0].text else parts[1:]
    for place, part in enumerate(parts):
        if isinstance(part, Text) and len(parts) > 1:
            text = part.text if place == 0 or part.text.startswith("\n") else f"\n{part.text}"
            parts[place] = Text(text=text if place == len(parts) - 1 or text.endswith("\n") else f"{text}\n")
    if any(isinstance(part, Media) for part in parts):
        return tuple(parts)
    return "".join(part.text for part in parts if isinstance(part, Text))


def apart(one: str, other: str) -> str:
    """Two texts with a line break between them."""
    is_apart = not one or not other or one.endswith("\n") or other.startswith("\n")
    return f"{one}{'' if is_apart else chr(10)}{other}"
