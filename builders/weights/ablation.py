"""How much an attribute moves the oracle: the matched-pair ablation (paper 8.0.5, Eq. 8, Table 9).

In:  logits of (query, product) for observations of twins, and for random queries on the same twins.
Out: per attribute the mean logit difference, its interval, sign consistency, whether it can be told
     from what queries that do not speak of the attribute give, and how far to trust it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.builders.weights.observations import Observations
from fashion_rq_bench.errors import ConfigError, ModelError

__all__ = [
    "TIERS",
    "AblationConfig",
    "AttributeEffect",
    "Oracle",
    "differences",
    "effect",
    "score_pairs",
]

Logits = NDArray[np.float64]
Oracle = Callable[[NDArray[np.int64], NDArray[np.int64]], Logits]
"""Logits of (query, product) pairs given by position, shape (P,); higher is more relevant."""

TIERS = ("high", "moderate", "low", "insufficient")
_HIGH_N, _MODERATE_N, _LEAST_N = 100, 30, 10
_NARROW = 0.5
_BLOCK = 1 << 22


@dataclass(frozen=True)
class AblationConfig:
    """Settings of the ablation.

    Attributes:
        queries_per_twin: queries drawn per product of a pair.
        max_twins: pairs of twins used per attribute; None for all.
        bootstrap: resamples of twin pairs, and sign flips of the test (the paper's 2,000).
        confidence: of the intervals; 1 − it is the level of the test.
        seed: of pairs, queries and resamples.
    """

    queries_per_twin: int = 3
    max_twins: int | None = 1_000
    bootstrap: int = 2_000
    confidence: float = 0.95
    seed: int = 42

    def __post_init__(self) -> None:
        if min(self.queries_per_twin, self.bootstrap, self.max_twins or 1) < 1:
            raise ConfigError(
                "queries_per_twin, bootstrap and max_twins must be at least 1.", given=self
            )
        if not 0 < self.confidence < 1:
            raise ConfigError("confidence must be between 0 and 1.", given=self.confidence)


@dataclass(frozen=True)
class AttributeEffect:
    """One row of Table 9, and what it rests on.

    Attributes:
        attribute: in which the twins differ.
        n: observations (query, twin pair).
        n_twins: distinct pairs among them.
        mean: mean logit difference Δ̄; NaN without observations.
        low, high: its twin-clustered bootstrap interval; NaN below two pairs.
        sign_consistency: share of observations with the sign of the mean; NaN without any.
        null_mean: mean difference on the same twins for random queries.
        p_value: of the hypothesis that it makes no difference which query is asked.
        distinguishable: whether that is refused at 1 − confidence.
        tier: one of :data:`TIERS`.
    """

    attribute: str
    n: int
    n_twins: int
    mean: float
    low: float
    high: float
    sign_consistency: float
    null_mean: float
    p_value: float
    distinguishable: bool
    tier: str


def score_pairs(
    oracle: Oracle, query: NDArray[np.int64], product: NDArray[np.int64], n_products: int
) -> Logits:
    """Logits of pairs, each distinct pair scored once.

    Raises:
        ModelError: if the oracle gives another number of logits, NaN or infinity.
    """
    pairs, inverse = np.unique(query * n_products + product, return_inverse=True)
    logits = np.asarray(oracle(pairs // n_products, pairs % n_products), dtype=np.float64)
    if logits.shape != pairs.shape or not np.isfinite(logits).all():
        raise ModelError(
            "The oracle must give one finite logit per (query, product) pair.", given=logits.shape
        )
    return logits[inverse]


def differences(oracle: Oracle, observed: Observations, n_products: int) -> tuple[Logits, Logits]:
    """Δ_i = s(q_i, x_1) − s(q_i, x_2) (Eq. 8), and the same for the null queries; (M,) each."""
    asked = [observed.query, observed.query, observed.null_query, observed.null_query]
    shown = [observed.first, observed.second] * 2
    logits = score_pairs(oracle, np.concatenate(asked), np.concatenate(shown), n_products)
    one, two, null_one, null_two = np.split(logits, 4)
    return one - two, null_one - null_two


def effect(
    observed: Observations, delta: Logits, null: Logits, config: AblationConfig | None = None
) -> AttributeEffect:
    """Statistics of one attribute.

    The interval resamples twin pairs, not observations, for a pair's observations share products.
    The test compares each observation with a random query's difference on the same twins: were the
    query of no matter, the two could be exchanged, so every pair's total may flip its sign. That is
    exact for any number of pairs; with five or fewer nothing can be told apart at 95%.

    Args:
        observed: M observations.
        delta: (M,) their logit differences.
        null: (M,) differences for the null queries.
        config: resamples, level and seed.
    """
    config = config or AblationConfig()
    rng = np.random.default_rng([config.seed, *observed.attribute.encode()])
    n, n_twins = len(delta), int(observed.twin.max(initial=-1)) + 1
    if not n:
        nothing = (float("nan"),) * 6
        return AttributeEffect(observed.attribute, 0, 0, *nothing, False, TIERS[-1])
    sums, sizes, beyond_null = (
        np.bincount(observed.twin, one, n_twins).astype(np.float64)
        for one in (delta, np.ones(n), delta - null)
    )
    mean = float(delta.mean())
    low, high = _interval(sums, sizes, config, rng)
    p_value = _sign_flip(beyond_null, config.bootstrap, rng)
    return AttributeEffect(
        *(observed.attribute, n, n_twins, mean, low, high),
        sign_consistency=float((np.sign(delta) == np.sign(mean)).mean()),
        null_mean=float(null.mean()),
        p_value=p_value,
        distinguishable=p_value <= 1 - config.confidence,
        tier=_tier(n, mean, low, high),
    )


def _interval(
    sums: Logits, sizes: Logits, config: AblationConfig, rng: np.random.Generator
) -> tuple[float, float]:
    """Percentile interval of the mean over observations when clusters are drawn anew."""
    if len(sums) < 2:
        return float("nan"), float("nan")
    means = []
    for count in _blocks(config.bootstrap, len(sums)):
        drawn = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=count)
        means.append((drawn @ sums) / (drawn @ sizes))
    tail = (1 - config.confidence) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return float(low), float(high)


def _sign_flip(totals: Logits, flips: int, rng: np.random.Generator) -> float:
    """Two-sided p-value of the sum of ``totals`` under random signs."""
    beyond = 0
    limit = abs(totals.sum()) * (1 - 1e-12)
    for count in _blocks(flips, len(totals)):
        signs = rng.integers(0, 2, size=(count, len(totals)), dtype=np.int8) * 2.0 - 1.0
        beyond += int((np.abs(signs @ totals) >= limit).sum())
    return (beyond + 1) / (flips + 1)


def _blocks(total: int, width: int) -> list[int]:
    """``total`` in parts of a few million numbers of ``width`` columns."""
    size = max(1, _BLOCK // width)
    return [min(size, total - start) for start in range(0, total, size)]


def _tier(n: int, mean: float, low: float, high: float) -> str:
    """Confidence from N and the interval: does it leave out 0, is it narrow beside the mean."""
    if n < _LEAST_N or np.isnan(low):
        return "insufficient"
    if n < _MODERATE_N or low <= 0 <= high:
        return "low"
    narrow = (high - low) / 2 <= _NARROW * abs(mean)
    return "high" if n >= _HIGH_N and narrow else "moderate"
