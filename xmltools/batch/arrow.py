"""pyarrow, which is not installed for everybody: who needs it imports it from here, and says how to get it."""

from __future__ import annotations

from typing import Any

__all__ = ["pa", "pq"]

try:
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import pyarrow.parquet  # type: ignore[import-untyped,import-not-found,unused-ignore]
except ImportError:
    raise ImportError("xmltools.batch needs the library pyarrow: pip install 'xmltools[batch]'") from None

pa: Any = pyarrow
pq: Any = pyarrow.parquet
