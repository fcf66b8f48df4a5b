"""How sure a comparison of retrievers is: intervals, paired tests, agreement, ranks.

In:  values per unit (a query, or a paraphrase group) and model, NaN where a metric is undefined,
     and the cluster that each unit belongs to.
Out: bootstrap draws and percentile intervals, p-values, shares of wins, the smallest difference
     that the data would show, groups of models that cannot be told apart, ranges of ranks.

The paper (section 5) gives means alone. Queries of a cluster share one pool of candidates, so they
are not independent: clusters are drawn with replacement, not queries. A draw is a vector of how
often each cluster came, so all draws of all figures are one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from string import ascii_letters

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import ndtri

from fashion_rq_bench.errors import ConfigError

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "Differences",
    "Resampling",
    "compact_letters",
    "differences",
    "holm",
    "interval",
    "minimum_detectable",
    "outcomes",
    "rank_agreement",
    "rank_ranges",
    "resample",
    "wilcoxon",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RESAMPLES = 3000
LEVEL = 0.05
"""Level of all tests; intervals are at 1 − ``LEVEL``."""

_BLOCK = 512
_EXACT = 50
_DIGITS = 12
"""Differences that are smaller than this many decimals are rounding, and count as ties."""


@dataclass(frozen=True, eq=False)
class Resampling:
    """Draws of clusters with replacement.

    Attributes:
        cluster: (N,) number of each unit's cluster, 0 … C − 1.
        counts: (B, C) how often each draw holds each cluster; a row sums to C.
    """

    cluster: Ints
    counts: NDArray[np.uint16]

    def totals(self, values: Floats) -> Floats:
        """Sums over the units of every draw: (N, K) values give (B, K)."""
        sums = self.by_cluster(values)
        found = np.empty((len(self.counts), sums.shape[1]))
        for start in range(0, len(found), _BLOCK):
            part = slice(start, start + _BLOCK)
            np.matmul(self.counts[part].astype(np.float64), sums, out=found[part])
        return found

    def means(self, values: Floats) -> Floats:
        """Means of every draw over its defined units: (N, K) give (B, K); NaN where none is."""
        defined = ~np.isnan(values)
        return _ratio(
            self.totals(np.where(defined, values, 0.0)), self.totals(defined.astype(np.float64))
        )

    def by_cluster(self, values: Floats) -> Floats:
        """Sums over the units of each cluster: (N, K) values give (C, K)."""
        order = np.argsort(self.cluster, kind="stable")
        starts = np.searchsorted(self.cluster[order], np.arange(self.counts.shape[1]))
        found: Floats = np.add.reduceat(values[order], starts, axis=0)
        return found


def resample(
    clusters: Sequence[str] | NDArray[np.str_], *, resamples: int = RESAMPLES, seed: int = 0
) -> Resampling:
    """Draw clusters with replacement.

    Args:
        clusters: (N,) name of each unit's cluster.
        resamples: number of draws.
        seed: of the draws; the same clusters and seed give the same draws, whatever the order of
            the units.

    Raises:
        ConfigError: there is no unit, or no draw is asked for.
    """
    if not len(clusters) or resamples < 1:
        raise ConfigError(
            "Resampling needs at least one unit and one draw.", given=(len(clusters), resamples)
        )
    names, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    count = len(names)
    drawn = np.random.default_rng(seed).integers(0, count, (resamples, count))
    flat = (drawn + count * np.arange(resamples)[:, None]).ravel()
    counts = np.bincount(flat, minlength=resamples * count).reshape(resamples, count)
    return Resampling(cluster.astype(np.int64), counts.astype(np.uint16))


def interval(draws: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Percentile interval of (B, …) draws: lower and upper end; NaN draws are left out."""
    ends = [level / 2, 1 - level / 2]
    flat = draws.reshape(len(draws), -1)
    missing = np.isnan(flat)
    found = np.full((2, flat.shape[1]), np.nan)
    whole = ~missing.any(axis=0)
    found[:, whole] = np.quantile(flat[:, whole], ends, axis=0)
    for column in np.flatnonzero(~whole & ~missing.all(axis=0)):
        found[:, column] = np.quantile(flat[~missing[:, column], column], ends)
    low, high = found.reshape(2, *draws.shape[1:])
    return low, high


def minimum_detectable(draws: Floats, *, power: float = 0.8, level: float = LEVEL) -> Floats:
    """Smallest true difference that a two-sided test finds with a given power (Cohen 1988).

    (z(1 − level/2) + z(power)) · SE, that is 2.80 · SE, with SE the standard deviation of the
    difference's bootstrap draws. It is for one comparison: a family under Holm needs more.

    Args:
        draws: (B, …) bootstrap draws of paired differences.
        power: chance to find it, in (0, 1).
        level: of the test.
    """
    n = (~np.isnan(draws)).sum(axis=0).astype(np.float64)
    squares = np.nansum((draws - _ratio(np.nansum(draws, axis=0), n)) ** 2, axis=0)
    spread = np.sqrt(_ratio(squares, np.maximum(n - 1, 0)))
    found: Floats = (ndtri(1 - level / 2) + ndtri(power)) * spread
    return found


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
    rounded = np.round(values, _DIGITS)
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
    signs = np.sign(np.round(values, _DIGITS))
    won, tied, lost = ((signs == sign).sum(axis=0).astype(np.float64) for sign in (1, 0, -1))
    return _ratio(np.stack([won, tied, lost]), won + tied + lost)


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
        point = _ratio(np.nansum(paired, axis=0), defined.astype(np.float64))
        draws = resampling.means(paired)
    else:
        point = figures[0][first] - figures[0][second]
        draws = figures[1][:, first] - figures[1][:, second]
    low, high = interval(draws)
    wins, ties, losses = outcomes(paired)
    return Differences(
        pairs=places,
        difference=point,
        low=low,
        high=high,
        detectable=minimum_detectable(draws),
        p_value=wilcoxon(_cluster_means(paired, resampling) if by_cluster else paired),
        wins=wins,
        ties=ties,
        losses=losses,
        n=defined,
        undefined=len(paired) - defined,
    )


def _cluster_means(values: Floats, resampling: Resampling) -> Floats:
    defined = ~np.isnan(values)
    return _ratio(
        resampling.by_cluster(np.where(defined, values, 0.0)),
        resampling.by_cluster(defined.astype(np.float64)),
    )


def rank_ranges(draws: Floats) -> tuple[Ints, Ints]:
    """Best and worst rank of each model in the middle 95% of draws; 1 is best, ties share the best.

    Args:
        draws: (B, M) figures, higher is better; a model that is NaN throughout gets rank 0.
    """
    known = ~np.isnan(draws).any(axis=0)
    low, high = np.zeros(draws.shape[1], np.int64), np.zeros(draws.shape[1], np.int64)
    if known.any():
        ranks = stats.rankdata(-np.round(draws[:, known], _DIGITS), method="min", axis=1)
        ends = np.quantile(ranks, [LEVEL / 2, 1 - LEVEL / 2], axis=0, method="inverted_cdf")
        low[known], high[known] = ends.astype(np.int64)
    return low, high


def rank_agreement(figures: ArrayLike) -> Floats:
    """Kendall's τ-b between the orders that several tasks give the same models.

    Args:
        figures: (T, M) figure of each model in each task, NaN for a model without.

    Returns:
        (T, T) in [-1, 1]; over the models that both tasks have; NaN for fewer than two, or where
        one task ties them all.
    """
    values = np.round(np.asarray(figures, dtype=np.float64), _DIGITS)
    found = np.full((len(values), len(values)), np.nan)
    for one in range(len(values)):
        for other in range(one + 1):
            both = ~np.isnan(values[one]) & ~np.isnan(values[other])
            if both.sum() > 1:
                tau = stats.kendalltau(values[one, both], values[other, both]).statistic
                found[one, other] = found[other, one] = tau
    return found


def compact_letters(figures: ArrayLike, differ: ArrayLike) -> list[str]:
    """Letters that show which models cannot be told apart (Piepho 2004, insert and absorb).

    Two models share a letter exactly if they do not differ; "a" goes to the best model's group.

    Args:
        figures: (M,) higher is better; NaN gets no letter.
        differ: (M, M) symmetric; whether two models differ significantly.
    """
    values, apart = np.asarray(figures, dtype=np.float64), np.asarray(differ, dtype=np.bool_)
    order = [
        int(place) for place in np.argsort(-values, kind="stable") if values[place] == values[place]
    ]
    groups = [frozenset(order)] if order else []
    for one, other in combinations(order, 2):
        if apart[one, other]:
            split = [group - {gone} for group in groups for gone in _parting(group, one, other)]
            groups = [
                group for group in dict.fromkeys(split) if not any(group < big for big in split)
            ]
    place = {model: rank for rank, model in enumerate(order)}
    groups.sort(key=lambda group: sorted(place[model] for model in group))
    names = [_letter(number) for number in range(len(groups))]
    return [
        "".join(name for name, group in zip(names, groups, strict=True) if model in group)
        for model in range(len(values))
    ]


def _parting(group: frozenset[int], one: int, other: int) -> tuple[int | None, ...]:
    """Who must leave a group, in turn, so that two models that differ do not share it."""
    return (one, other) if one in group and other in group else (None,)


def _letter(number: int) -> str:
    extra, place = divmod(number, len(ascii_letters))
    return ascii_letters[place] + (str(extra) if extra else "")


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Quotient, NaN where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    found: Floats = np.full(shape, np.nan)
    return np.divide(numerator, denominator, out=found, where=np.asarray(denominator) != 0)
