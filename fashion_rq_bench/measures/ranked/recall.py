"""Recall: share of the relevant products that stand in the first k ranks (paper, section 5).

Relevant are products of ``min_grade`` or better; all judged ones are counted, retrieved or not.

Range [0, 1]. Undefined (NaN) for a query without relevant products.
Ties: each of t tied products of which m fit is in with probability m / t.
"""

from __future__ import annotations

import numpy as np

from fashion_rq_bench.measures.ranked._case import Case, divide
from fashion_rq_bench.measures.ranked._ranks import Floats

__all__ = ["recall"]


def recall(case: Case, k: int | None) -> Floats:
    """Recall@k of every query, shape (queries,); k=None: of all that was retrieved."""
    found = case.relevant.expected(np.ones(min(k or case.depth, case.depth)))
    return divide(case.relevant.sum(found), case.n_relevant)
