"""Reciprocal rank of the first relevant product; its mean over queries is MRR.

Relevant are products of ``min_grade`` or better; 0 if none stands in the first k ranks.

Range [0, 1]. Undefined (NaN) for a query without relevant products.
Ties: only the best score that a relevant product has matters. With ``a`` products above it and r
relevant of t tied, the first relevant one stands at rank a + i with probability S(i−1) − S(i),
where S(i) = C(t − r, i) / C(t, i) is the probability that the first i are all irrelevant.
"""

from __future__ import annotations

import numpy as np

from fashion_rq_bench.measures._ragged import offsets_of
from fashion_rq_bench.measures.ranked._case import Case
from fashion_rq_bench.measures.ranked._first import First, first_relevant, miss_probability
from fashion_rq_bench.measures.ranked._ranks import Floats

__all__ = ["reciprocal_rank"]


def _expected(first: First, depth: int) -> Floats:
    """Σ over the ranks a + 1 … a + t up to ``depth`` of P(first relevant one there) / rank."""
    slots = np.clip(depth - first.above, 0, first.tied - first.relevant + 1)
    query = np.repeat(np.arange(len(slots)), slots)
    slot = np.arange(len(query)) - offsets_of(slots)[query]
    tied, relevant = first.tied[query], first.relevant[query]
    here = miss_probability(tied, relevant, slot) - miss_probability(tied, relevant, slot + 1)
    terms: Floats = here / (first.above[query] + slot + 1)
    return np.bincount(query, terms, minlength=len(slots)).astype(np.float64)


def reciprocal_rank(case: Case, k: int | None) -> Floats:
    """Reciprocal rank of every query, shape (queries,); k=None looks at the whole ranking."""
    depth = k or case.depth
    first = first_relevant(case.relevant)
    found = np.where(first.above < depth, 1.0 / (first.above + 1), 0.0)
    tied = np.flatnonzero(first.tied > 1)
    if len(tied):
        found[tied] = _expected(first.take(tied), depth)
    value = np.zeros(case.queries)
    value[first.row] = found
    return case.only_where(case.n_relevant > 0, value)
