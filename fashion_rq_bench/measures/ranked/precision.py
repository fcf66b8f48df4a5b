"""Precision: share of the first k ranks that hold relevant products.

Relevant are products of ``min_grade`` or better. As in trec_eval the divisor is k, also where
fewer products were retrieved; with k=None it is the number retrieved.

Range [0, 1]. Undefined (NaN) for a query without relevant products.
Ties: each of t tied products of which m fit is in with probability m / t.
"""

from __future__ import annotations

import numpy as np

from fashion_rq_bench.measures.ranked._case import Case, divide
from fashion_rq_bench.measures.ranked._ranks import Floats

__all__ = ["precision"]


def precision(case: Case, k: int | None) -> Floats:
    """Precision@k of every query, shape (queries,)."""
    found = case.relevant.sum(case.relevant.expected(np.ones(min(k or case.depth, case.depth))))
    ranks = np.maximum(case.lengths, 1) if k is None else np.full(case.queries, k)
    return case.only_where(case.n_relevant > 0, divide(found, ranks))
