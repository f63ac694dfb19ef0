"""How many examples a random test tries."""

from hypothesis import settings

__all__ = ["examples"]


def examples(number: int) -> settings:
    """Try so many examples, as a decorator: all of them in `make test-all`, a part of them in `make test`."""
    share = settings.default.max_examples / settings.get_profile("full").max_examples
    return settings(max_examples=max(5, round(number * share)))
