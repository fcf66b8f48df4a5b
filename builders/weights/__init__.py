"""Attribute weights w_a that anyone can derive again (paper 8.0.5).

In:  an oracle of relevance (a cross-encoder trained here, or any function), queries, a catalog.
Out: a weights file with its provenance, which ``attr_relevance`` reads.
"""

from __future__ import annotations

from fashion_rq_bench.builders.weights.blend import Blend, blend

__all__ = ["Blend", "blend"]
