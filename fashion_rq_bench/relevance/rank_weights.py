"""How much each rank counts: the top product, the top k, or all of them discounted.

In:  the scores by which a model ranks each query's pairs.
Out: a weight per pair. Tied scores share their ranks' weights, so that a weighted mean is the exact
     expectation over random orders within ties (paper, section 5, "top-ranked product").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.errors import ConfigError, MetricInputError

__all__ = ["rank_weights"]


def rank_weights(
    query_index: ArrayLike, scores: ArrayLike, *, k: int | None = 1, discounted: bool = False
) -> NDArray[np.float64]:
    """Weight of every pair in its query's mean over the top k; they sum to 1 per query.

    Args:
        query_index: (P,) query of each pair, in any order.
        scores: (P,) finite scores, higher is better; ties share their ranks' weights equally.
        k: how many of the top products count; None for the whole ranking.
        discounted: weigh rank r by 1 / log2(r + 1) instead of equally.

    Raises:
        ConfigError: if k is below 1.
        MetricInputError: if a score is NaN or infinite, or the lengths differ.
    """
    if k is not None and k < 1:
        raise ConfigError("The number of top products must be at least 1.", given=k)
    queries, values = np.asarray(query_index), np.asarray(scores, dtype=np.float64)
    if queries.shape != values.shape or queries.ndim != 1:
        raise MetricInputError(
            "query_index and scores must be equally long.", given=(queries.shape, values.shape)
        )
    if not np.isfinite(values).all():
        raise MetricInputError("Scores must be finite.", given=values[~np.isfinite(values)][0])
    out = np.zeros(len(queries))
    if not len(out):
        return out
    order = np.lexsort((-values, queries))
    owner, ranked = queries[order], values[order]
    first = np.r_[True, owner[1:] != owner[:-1]]
    weights = _position_weights(first, k, discounted)
    tied = np.flatnonzero(first | np.r_[True, ranked[1:] != ranked[:-1]])
    sizes = np.diff(np.r_[tied, len(out)])
    out[order] = np.repeat(np.add.reduceat(weights, tied) / sizes, sizes)
    return out


def _position_weights(
    first: NDArray[np.bool_], k: int | None, discounted: bool
) -> NDArray[np.float64]:
    """Weights by rank of pairs sorted by query, ``first`` marking where a query starts."""
    starts = np.flatnonzero(first)
    lengths = np.diff(np.r_[starts, len(first)])
    rank = np.arange(len(first)) - np.repeat(starts, lengths)
    weights = 1.0 / np.log2(rank + 2.0) if discounted else np.ones(len(rank))
    if k is not None:
        weights[rank >= k] = 0.0
    totals: NDArray[np.float64] = np.add.reduceat(weights, starts)
    return weights / np.repeat(totals, lengths)
