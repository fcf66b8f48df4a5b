"""Match of one value out of a few without order: the same or not (paper 8.0.4, Gender).

In:  words of queries and products ("men", "boys", "Women", "unisex"); settings ``either`` (the
     value that goes with all others), ``close`` and ``other``.
Out: 1.0 for the same value, ``close`` where one side is ``either``, ``other`` otherwise.
"""

from __future__ import annotations

from fashion_rq_bench.relevance.comparators._base import Valued

__all__ = ["Choice"]


class Choice(Valued):
    """Comparator of a choice."""

    def match(self, query: str, product: str) -> float:
        """``close`` where one of two values is ``either``, else ``other``."""
        settings = self.attribute.settings
        close = settings.get("either") in (query, product)
        return float(settings.get("close", 0.7) if close else settings.get("other", 0.1))
