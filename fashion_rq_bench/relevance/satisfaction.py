"""How far labels can be followed: wishes satisfied, consistent pools.

In:  matches of (query, product) pairs, grades of pools.
Out: which pairs satisfy every wish of their query; pools without the pairs of lower tiers that do,
     for the *consistent* form of every task metric (paper, sections 4 and 5).

A product of a lower tier that satisfies every wish is as good an answer as the query can ask for:
no model can tell from the query that it should rank lower. Where such pairs stay in a pool, they
measure the labels and not the models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.errors import ConfigError, MetricInputError
from fashion_rq_bench.measures.ranking import mean
from fashion_rq_bench.relevance.pair_relevance import PairMatches
from fashion_rq_bench.schema.domain import domain, per_domain
from fashion_rq_bench.schema.grades import Grade

__all__ = [
    "ConsistentPools",
    "TierShare",
    "Wishes",
    "consistent_pools",
    "oracle_scores",
    "satisfaction_by_tier",
    "wish_thresholds",
    "wishes_satisfied",
]


@per_domain
def wish_thresholds() -> Mapping[str, float]:
    """Least match at which a wish counts as satisfied, by attribute.

    Fashion's hard attributes must match fully; a product type must be found in the category path; a
    colour lie within ΔE76 = 6. Its soft ones are calibrated for MiniLM: see
    ``docs/design/0005-relevance.md``.
    """
    return MappingProxyType({one.name: one.threshold for one in domain().attributes})


class Wishes(NamedTuple):
    """Per pair, shape (P,): every wish of the winning intent is satisfied, or that is unknown.

    ``unknown``: no wish is known to fail, but of some the product does not say. A pair whose query
    expresses nothing is unknown.
    """

    satisfied: NDArray[np.bool_]
    unknown: NDArray[np.bool_]


def wishes_satisfied(matches: PairMatches, thresholds: Mapping[str, float] | None = None) -> Wishes:
    """Which pairs satisfy every wish of their query.

    A wish is unknown where the product has nothing to compare, or only a text whose similarity
    stays below the threshold: a long description is never as close as a value.

    Args:
        matches: matches of P pairs.
        thresholds: least match by attribute, for all of them; :func:`wish_thresholds` by default.

    Raises:
        ConfigError: if an attribute is missing, unknown, or its threshold outside [0, 1].
    """
    least = _thresholds(wish_thresholds() if thresholds is None else thresholds)
    reached = matches.match >= least
    silent = matches.missing | (matches.fallback & ~reached)
    failed = np.any(matches.own & ~silent & ~reached, axis=1)
    untold = np.any(matches.own & silent, axis=1) | ~np.any(matches.own, axis=1)
    return Wishes(
        satisfied=np.logical_not(failed | untold), unknown=np.logical_and(~failed, untold)
    )


def _thresholds(thresholds: Mapping[str, float]) -> NDArray[np.float64]:
    for name in [*thresholds, *domain().names]:
        if name not in domain().names or name not in thresholds:
            raise ConfigError(
                "Thresholds are for the ten attributes.", given=name, allowed=domain().names
            )
        if not 0.0 <= thresholds[name] <= 1.0:
            raise ConfigError(
                f"The threshold of {name!r} must be in [0, 1].", given=thresholds[name]
            )
    return np.array([thresholds[name] for name in domain().names])


def oracle_scores(matches: PairMatches) -> NDArray[np.float64]:
    """Scores of the attribute oracle: R(q, p), and 0 where the query expresses no attribute.

    A reference, not a bound: a query's text can say more than the ten attributes. Shape (P,).
    """
    return np.nan_to_num(matches.rel, nan=0.0)


class TierShare(NamedTuple):
    """Pairs of one grade: how many, and the shares that satisfy every wish or leave it unknown."""

    n: int
    satisfied: float
    unknown: float


def satisfaction_by_tier(grades: ArrayLike, wishes: Wishes) -> dict[int, TierShare]:
    """Share of the pairs of each grade that satisfy every wish; NaN for a grade without pairs.

    Args:
        grades: (P,) grade of each pair, in 0 … 3.
        wishes: of the same pairs.
    """
    tiers = np.asarray(grades)
    return {
        int(grade): TierShare(
            int((tiers == grade).sum()),
            mean(np.where(tiers == grade, wishes.satisfied, np.nan)).value,
            mean(np.where(tiers == grade, wishes.unknown, np.nan)).value,
        )
        for grade in Grade
    }


@dataclass(frozen=True, eq=False)
class ConsistentPools:
    """Pools without the pairs of lower tiers that satisfy every wish.

    Attributes:
        rows: (K,) positions of the rows that stay, in order.
        offsets: (Q + 1,) pool q is ``rows[offsets[q]:offsets[q + 1]]``.
        left_out: number of rows that do not stay.
        trivial: (Q,) bool, only one tier is left, so that every order is right; such queries say
            nothing of a model and are best left out and counted.
    """

    rows: NDArray[np.int64]
    offsets: NDArray[np.int64]
    left_out: int
    trivial: NDArray[np.bool_]


def consistent_pools(
    grades: ArrayLike,
    satisfied: ArrayLike,
    offsets: ArrayLike,
    *,
    best: int = Grade.EXACT,
    shared: ArrayLike | None = None,
) -> ConsistentPools:
    """Pools of a task in their consistent form.

    Args:
        grades: (M,) grades of the candidates, query by query.
        satisfied: (M,) bool, the pair satisfies every wish.
        offsets: (Q + 1,) pool q is rows ``offsets[q]`` to ``offsets[q + 1]``.
        best: the top tier, which always stays: 3, or 1 where grades are target or not.
        shared: (M,) keys; rows of one key stay or go together. For paraphrase groups, whose top
            lists are compared, the key names the group and the product.

    Raises:
        MetricInputError: if the lengths do not agree.
    """
    tiers, bounds = np.asarray(grades), np.asarray(offsets, dtype=np.int64)
    out = np.asarray(satisfied, dtype=bool)
    if not len(tiers) == len(out) == bounds[-1]:
        raise MetricInputError(
            "Grades and wishes must be given for every row of the pools.",
            given=(len(tiers), len(out)),
            allowed=[int(bounds[-1])],
        )
    if shared is not None:
        keys = np.unique(np.asarray(shared), return_inverse=True)[1]
        out = np.bincount(keys, weights=out & (tiers < best))[keys] > 0
    keep = ~(out & (tiers < best))
    owner = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return ConsistentPools(
        rows=np.flatnonzero(keep),
        offsets=np.concatenate([[0], np.cumsum(keep)])[bounds],
        left_out=int((~keep).sum()),
        trivial=_one_tier(tiers[keep], owner[keep], len(bounds) - 1),
    )


def _one_tier(
    grades: NDArray[np.integer], owner: NDArray[np.int64], n_queries: int
) -> NDArray[np.bool_]:
    low = np.full(n_queries, np.iinfo(np.int64).max)
    high = np.full(n_queries, np.iinfo(np.int64).min)
    np.minimum.at(low, owner, grades)
    np.maximum.at(high, owner, grades)
    return low >= high
