"""Average precision: mean over the relevant products of the precision at their rank.

AP = (1 / R) Σ over relevant products at rank r ≤ k of (relevant ones up to r) / r. R is the number
of all relevant products (``min_grade`` or better), retrieved or not, also with a cut-off, as in
trec_eval's ``map`` and ``map_cut``. Its mean over queries is MAP.

Range [0, 1]. Undefined (NaN) for a query without relevant products.

Ties (derived in docs/design/0003-ties.md; McSherry & Najork 2008): with ``a`` products above a
group of t tied ones, ``b`` of those above relevant and r of the tied relevant, each tied relevant
product adds in expectation

    (1 / t) Σ_{i=1..m} (b + 1 + (i − 1) ρ) / (a + i)
        = (1 / t) [m ρ + (b + 1 − ρ (a + 1)) (H(a + m) − H(a))]

where ρ = (r − 1) / (t − 1), m = min(t, k − a) and H(n) is the nth harmonic number.
"""

from __future__ import annotations

import numpy as np

from fashion_rq_bench.measures._ragged import Ints
from fashion_rq_bench.measures.ranked._case import Case, divide
from fashion_rq_bench.measures.ranked._ranks import Floats, Ranked

__all__ = ["average_precision"]


def _tied(ranked: Ranked, which: Ints, depth: int) -> Floats:
    above, tied = ranked.above[which], ranked.tied[which]
    relevant_above, relevant_tied = (counts[which] for counts in ranked.relevant_above_and_tied)
    harmonic = np.append(0.0, np.cumsum(1.0 / np.arange(1, depth + 1)))
    last = np.minimum(above + tied, depth)
    first = np.minimum(above, depth)
    rate = (relevant_tied - 1) / (tied - 1)
    constant = relevant_above + 1 - rate * (above + 1)
    total = (last - first) * rate + constant * (harmonic[last] - harmonic[first])
    expected: Floats = total / tied
    return expected


def average_precision(case: Case, k: int | None) -> Floats:
    """Average precision of every query, shape (queries,); k=None looks at the whole ranking."""
    depth = min(k or case.depth, case.depth)
    ranked = case.relevant
    above = ranked.above
    value = np.where(above < depth, (ranked.relevant_above_and_tied[0] + 1) / (above + 1), 0.0)
    if ranked.has_ties:
        tied = np.flatnonzero(ranked.tied > 1)
        value[tied] = _tied(ranked, tied, depth)
    return divide(ranked.sum(value), case.n_relevant)
