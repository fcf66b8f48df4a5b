"""Hit rate (success): does a relevant product stand in the first k ranks?

Relevant are products of ``min_grade`` or better.

Range [0, 1], a probability where ties leave it open. Undefined (NaN) for a query without relevant
products.
Ties: only the best score that a relevant product has matters. If r of its t products are relevant
and m < t of them fit above the cut, all m are irrelevant with probability C(t − r, m) / C(t, m).
"""

from __future__ import annotations

import numpy as np

from fashion_rq_bench.measures.ranked._case import Case
from fashion_rq_bench.measures.ranked._first import first_relevant, miss_probability
from fashion_rq_bench.measures.ranked._ranks import Floats

__all__ = ["hit_rate"]


def hit_rate(case: Case, k: int | None) -> Floats:
    """Probability of a hit in the first k ranks for every query, shape (queries,)."""
    first = first_relevant(case.relevant)
    fit = np.clip((k or case.depth) - first.above, 0, first.tied)
    value = np.zeros(case.queries)
    value[first.row] = 1.0 - miss_probability(first.tied, first.relevant, fit)
    return case.only_where(case.n_relevant > 0, value)
