"""nDCG: normalised discounted cumulative gain (Järvelin & Kekäläinen 2002; paper, section 5).

DCG@k = Σ gain(grade) / log2(rank + 1) over the first k ranks, divided by the DCG@k of the best
order of all judged products. Gains are the grades (as in trec_eval and MTEB), 2^grade − 1, or a
mapping.

Range [0, 1]. Undefined (NaN) for a query whose judged products have no gain.
Ties: the expected discount over the ranks that tied products share.
"""

from __future__ import annotations

import numpy as np

from fashion_rq_bench.measures.ranked._case import Case, divide
from fashion_rq_bench.measures.ranked._ranks import Floats

__all__ = ["ndcg"]


def _discounts(depth: int) -> Floats:
    discounts: Floats = 1.0 / np.log2(np.arange(2, depth + 2))
    return discounts


def _ideal_dcg(case: Case, depth: int) -> Floats:
    total = np.zeros(case.queries)
    for rows, gains in case.ideal_gains:
        best = gains[:, :depth]
        total[rows] = best @ _discounts(best.shape[1])
    return total


def ndcg(case: Case, k: int | None) -> Floats:
    """nDCG@k of every query, shape (queries,); k=None ranks all."""
    depth = min(k or case.depth, case.depth)
    dcg = case.ranked.sum(case.gain * case.ranked.expected(_discounts(depth)))
    return divide(dcg, _ideal_dcg(case, depth))
