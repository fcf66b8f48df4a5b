"""Intervals: clusters drawn with replacement, and what the draws say.

In:  values per unit and model, and the cluster that each unit belongs to.
Out: draws, percentile intervals, the smallest difference that the data would show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.measures.statistics._numbers import LEVEL, Floats, Ints, ratio

__all__ = ["RESAMPLES", "Resampling", "interval", "minimum_detectable", "resample"]

RESAMPLES = 3000

_BLOCK = 512


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
        return ratio(
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
    squares = np.nansum((draws - ratio(np.nansum(draws, axis=0), n)) ** 2, axis=0)
    spread = np.sqrt(ratio(squares, np.maximum(n - 1, 0)))
    found: Floats = (ndtri(1 - level / 2) + ndtri(power)) * spread
    return found
