"""The regression cross-check (paper 8.0.5, Table 10).

In:  match codes of (query, product) pairs and the oracle's logits.
Out: standardised Ridge coefficients, R², variance inflation factors, N.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.support.optional import require

__all__ = ["RidgeConfig", "RidgeFit", "fit_ridge"]


@dataclass(frozen=True)
class RidgeConfig:
    """Settings of the regression and of the pairs it is fitted to.

    Attributes:
        alpha: strength of the penalty, on standardised features.
        n_pairs: pairs to score (the paper's 6,205).
        specified: share of the pairs in which each attribute is to be a match, and the same share
            a mismatch, see :func:`~.pair_design.design_pairs`.
        max_weight: most times its even share that a candidate may count in balancing.
        seed: of the pairs.
    """

    alpha: float = 1.0
    n_pairs: int = 6_205
    specified: float = 0.2
    max_weight: float = 20.0
    seed: int = 42

    def __post_init__(self) -> None:
        if self.alpha < 0 or self.n_pairs < len(domain().names) + 2 or self.max_weight < 1:
            raise ConfigError(
                "ridge: alpha must be at least 0, n_pairs above 11, max_weight at least 1.",
                given=self,
            )
        if not 0 < self.specified <= 0.5:
            raise ConfigError("ridge.specified must be in (0, 0.5].", given=self.specified)


@dataclass(frozen=True)
class RidgeFit:
    """Table 10, but for the weights.

    Attributes:
        coefficient: logits per standard deviation of f_a; NaN where f_a never varies.
        vif: variance inflation factor, at least 1; NaN where f_a never varies.
        spread: standard deviation of f_a; coefficients compare importance where these are alike.
        n_match, n_mismatch: pairs with f_a = 1 and with f_a = 0.
        r2: share of the logits' variance explained, on the same pairs.
        n: pairs.
    """

    coefficient: Mapping[str, float]
    vif: Mapping[str, float]
    spread: Mapping[str, float]
    n_match: Mapping[str, int]
    n_mismatch: Mapping[str, int]
    r2: float
    n: int


def fit_ridge(codes: ArrayLike, logits: ArrayLike, config: RidgeConfig | None = None) -> RidgeFit:
    """Regress logits on standardised match codes.

    Args:
        codes: (P, A) from :func:`~.match_codes.match_codes`.
        logits: (P,) the oracle's.
        config: the penalty.

    Raises:
        InputError: if the shapes do not fit, a number is not finite, there are fewer pairs than
            features and two, or no feature varies.
        MissingDependencyError: without scikit-learn and statsmodels.
    """
    features, target = np.asarray(codes, dtype=np.float64), np.asarray(logits, dtype=np.float64)
    _check(features, target)
    spread = features.std(axis=0)
    varies = spread > 0
    if not varies.any():
        raise InputError("No attribute's match varies over the pairs, so none can be weighed.")
    standard = (features[:, varies] - features[:, varies].mean(axis=0)) / spread[varies]
    model = require("sklearn.linear_model", "weights").Ridge(alpha=(config or RidgeConfig()).alpha)
    model.fit(standard, target)
    return RidgeFit(
        coefficient=_named(_spread_out(model.coef_, varies)),
        vif=_named(_spread_out(_vif(standard), varies)),
        spread=_named(spread),
        n_match=_counts(features == 1.0),
        n_mismatch=_counts(features == 0.0),
        r2=float(model.score(standard, target)),
        n=len(target),
    )


def _check(features: NDArray[np.float64], target: NDArray[np.float64]) -> None:
    shape = (len(target), len(domain().names))
    if features.shape != shape or target.ndim != 1:
        raise InputError("There must be ten codes and one logit per pair.", given=features.shape)
    if not (np.isfinite(features).all() and np.isfinite(target).all()):
        raise InputError("Codes and logits must be finite.")
    if len(target) < len(domain().names) + 2:
        raise InputError("There are too few pairs for ten features.", given=len(target))


def _vif(standard: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 − R²) of each feature on the others; the features have mean 0, so no constant."""
    if standard.shape[1] == 1:
        return np.ones(1)
    influence = require("statsmodels.stats.outliers_influence", "weights")
    columns = range(standard.shape[1])
    return np.array([influence.variance_inflation_factor(standard, at) for at in columns])


def _spread_out(values: NDArray[np.float64], where: NDArray[np.bool_]) -> NDArray[np.float64]:
    out = np.full(len(where), np.nan)
    out[where] = values
    return out


def _named(values: NDArray[np.float64]) -> dict[str, float]:
    return dict(zip(domain().names, values.tolist(), strict=True))


def _counts(where: NDArray[np.bool_]) -> dict[str, int]:
    return dict(zip(domain().names, where.sum(axis=0).tolist(), strict=True))
