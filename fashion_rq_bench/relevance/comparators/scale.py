"""Match on an ordered scale: the farther apart, the less (paper 8.0.4, Age group).

In:  words of queries and products ("kids", "Adults-Men"); settings ``values`` (the scale, in
     order), ``decay`` and ``off``.
Out: max(0, 1 − ``decay`` · distance) on the scale; ``off`` for a word that is not on it.
"""

from __future__ import annotations

from fashion_rq_bench.relevance.comparators._base import Valued

__all__ = ["Scale"]


class Scale(Valued):
    """Comparator of a scale."""

    def match(self, query: str, product: str) -> float:
        """Match of two places on the scale."""
        settings = self.attribute.settings
        values = settings.get("values", ())
        if query not in values or product not in values:
            return float(settings.get("off", 0.3))
        distance = abs(values.index(query) - values.index(product))
        return float(max(0.0, 1.0 - settings.get("decay", 0.35) * distance))
