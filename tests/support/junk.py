"""What is nearly a list of messages: objects with likely and unlikely keys and values."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st


def hashes(keys: tuple[str, ...], words: tuple[str, ...], likely: dict[str, tuple[str, ...]]) -> Any:
    """Lists of objects that are made of the words of the format, some of them right by chance."""
    leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(words)

    def objects(inner: Any) -> Any:
        fields = {key: st.sampled_from(values) for key, values in likely.items()}
        others = st.dictionaries(st.sampled_from(keys), inner, max_size=5)
        return st.builds(lambda a, b: {**a, **b}, st.fixed_dictionaries({}, optional=fields), others)

    values = st.recursive(leaves, lambda inner: objects(inner) | st.lists(inner, max_size=3), max_leaves=12)
    return st.lists(objects(values), max_size=4)
