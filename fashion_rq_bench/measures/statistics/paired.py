"""Paired tests: who differs, how often, and by how much.

In:  values per unit (a query, or a paraphrase group) and model, NaN where undefined.
Out: p-values, adjusted p-values, shares of wins, :class:`Differences`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from fashion_rq_bench.measures.statistics._numbers import DIGITS, Floats, Ints, ratio
from fashion_rq_bench.measures.statistics.bootstrap import Resampling, interval, minimum_detectable

__all__ = ["Differences", "differences", "holm", "outcomes", "wilcoxon"]

_EXACT = 50


def holm(p_values: ArrayLike) -> Floats:
    """Holm's step-down adjustment of p-values, in their order; NaN stays NaN and is not counted."""
    values = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return adjusted


def wilcoxon(values: Floats) -> Floats:
    """Two-sided p-values of the Wilcoxon signed-rank test, by column.

    Differences of zero are left out (Wilcoxon's rule). A column of up to 50 others is tested
    exactly, also where ranks are tied; any longer one by the normal approximation.

    Args:
        values: (N, P) paired differences, NaN where undefined.

    Returns:
        (P,); 1 where all differences are zero, NaN where none is defined.
    """
    rounded = np.round(values, DIGITS)
    used = (rounded != 0) & ~np.isnan(rounded)
    count = used.sum(axis=0)
    found = np.where(np.isnan(rounded).all(axis=0), np.nan, 1.0)
    many = np.flatnonzero(count > _EXACT)
    if len(many):
        zeros = np.nan_to_num(rounded[:, many])
        found[many] = stats.wilcoxon(zeros, axis=0, method="asymptotic").pvalue
    for column in np.flatnonzero((count > 0) & (count <= _EXACT)):
        found[column] = _exact(rounded[used[:, column], column])
    return found


def _exact(values: Floats) -> float:
    """Exact p-value of up to 50 differences: the share of all 2ⁿ sign patterns as extreme."""
    ranks = np.round(2 * stats.rankdata(np.abs(values))).astype(np.int64)  # twice: ties give halves
    ways = np.zeros(ranks.sum() + 1)
    ways[0] = 1
    for rank in ranks:
        ways[rank:] += ways[:-rank].copy()
    positive = ranks[values > 0].sum()
    tail = min(ways[: positive + 1].sum(), ways[positive:].sum())
    return float(min(1.0, 2 * tail / 2.0 ** len(values)))


def outcomes(values: Floats) -> Floats:
    """Shares of units won, tied and lost: (N, P) differences give (3, P), each column sums to 1."""
    signs = np.sign(np.round(values, DIGITS))
    won, tied, lost = ((signs == sign).sum(axis=0).astype(np.float64) for sign in (1, 0, -1))
    return ratio(np.stack([won, tied, lost]), won + tied + lost)


@dataclass(frozen=True, eq=False)
class Differences:
    """Paired differences, first model minus second, one entry per pair: arrays of shape (P,).

    Attributes:
        pairs: (P, 2) positions of the models.
        difference: of the figures.
        low, high: its percentile interval from the cluster bootstrap.
        detectable: see :func:`minimum_detectable`.
        p_value: see :func:`wilcoxon`; NaN for a figure that is no mean over units.
        wins, ties, losses: shares of units; NaN likewise.
        n, undefined: units that both models have a value for, and others.
    """

    pairs: Ints
    difference: Floats
    low: Floats
    high: Floats
    detectable: Floats
    p_value: Floats
    wins: Floats
    ties: Floats
    losses: Floats
    n: Ints
    undefined: Ints


def differences(
    values: Floats,
    resampling: Resampling,
    pairs: Sequence[tuple[int, int]],
    *,
    figures: tuple[Floats, Floats] | None = None,
    by_cluster: bool = True,
) -> Differences:
    """Compare models on the units that both have a value for.

    Args:
        values: (M, N) values per model and unit, NaN where undefined.
        resampling: of the N units.
        pairs: positions of the models to compare.
        figures: (M,) figures and their (B, M) draws, where the figure is no mean of ``values``,
            such as one from pooled counts; ``values`` then serve the test and the shares alone.
        by_cluster: whether the test takes a cluster's mean difference as one observation, since
            its units are not independent; else each unit is one.
    """
    places = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    first, second = places.T
    paired = (values[first] - values[second]).T
    defined = (~np.isnan(paired)).sum(axis=0)
    if figures is None:
        point = ratio(np.nansum(paired, axis=0), defined.astype(np.float64))
        draws = resampling.means(paired)
    else:
        point, draws = (one[..., first] - one[..., second] for one in figures)
    low, high = interval(draws)
    return Differences(
        pairs=places,
        difference=point,
        low=low,
        high=high,
        detectable=minimum_detectable(draws),
        p_value=wilcoxon(_cluster_means(paired, resampling) if by_cluster else paired),
        **dict(zip(("wins", "ties", "losses"), outcomes(paired), strict=True)),
        n=defined,
        undefined=len(paired) - defined,
    )


def _cluster_means(values: Floats, resampling: Resampling) -> Floats:
    defined = ~np.isnan(values)
    return ratio(
        resampling.by_cluster(np.where(defined, values, 0.0)),
        resampling.by_cluster(defined.astype(np.float64)),
    )
