"""Ranking measures, one file each: definition, source, range, what is undefined, what ties do.

In:  a :class:`~fashion_rq_bench.measures.ranked._case.Case` and a cut-off.
Out: one float64 per query. :mod:`fashion_rq_bench.measures.ranking` is the public surface.
"""

from __future__ import annotations

from fashion_rq_bench.measures.ranked.average_precision import average_precision
from fashion_rq_bench.measures.ranked.hit_rate import hit_rate
from fashion_rq_bench.measures.ranked.ndcg import ndcg
from fashion_rq_bench.measures.ranked.precision import precision
from fashion_rq_bench.measures.ranked.recall import recall
from fashion_rq_bench.measures.ranked.reciprocal_rank import reciprocal_rank

__all__ = ["average_precision", "hit_rate", "ndcg", "precision", "recall", "reciprocal_rank"]
