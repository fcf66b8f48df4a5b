"""One weight per attribute from two independent estimates (paper 8.0.5, Weight construction).

In:  an estimate per attribute from the matched-pair ablation, and one from the regression.
Out: weights that sum to one, and how far the two estimates agree in rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from fashion_rq_bench.errors import InputError

__all__ = ["Blend", "blend"]

_LEAST_FOR_RANKS = 3


class Blend(NamedTuple):
    """What :func:`blend` gives.

    Attributes:
        weights: w_a by attribute, at least 0, sum 1; NaN where neither method has an estimate.
        spearman: rank correlation of the raw estimates over the attributes that have both, in
            [-1, 1]; NaN for fewer than three of them or where one side is constant.
    """

    weights: dict[str, float]
    spearman: float


def blend(ablation: Mapping[str, float], ridge: Mapping[str, float]) -> Blend:
    """Clip at zero, normalise, average, renormalise (paper 8.0.5).

    An attribute without an estimate of one method (absent or NaN: no twins, or a feature that never
    varies) takes the other's. So that this is fair, each side is normalised over the attributes
    that both estimate; with both complete this is the paper's rule.

    Args:
        ablation: attribute to mean logit difference, e.g. of Table 9; any finite scale.
        ridge: attribute to standardised coefficient, e.g. of Table 10; any finite scale.

    Returns:
        Weights in the order of ``ablation``, then of what only ``ridge`` names; and the agreement.

    Raises:
        InputError: if an estimate is infinite, or no shared attribute has one above 0 on a side.
    """
    names = list(dict.fromkeys([*ablation, *ridge]))
    estimates = np.array([[side.get(name, np.nan) for name in names] for side in (ablation, ridge)])
    if np.isinf(estimates).any():
        raise InputError(
            "An estimate of an attribute's importance is infinite.",
            given=names[int(np.flatnonzero(np.isinf(estimates).any(axis=0))[0])],
            fix="Use NaN for an estimate that could not be made.",
        )
    both = ~np.isnan(estimates).any(axis=0)
    clipped = np.clip(estimates, 0.0, None)
    shares = np.stack(
        [_normalised(one, both, side) for one, side in zip(clipped, _SIDES, strict=True)]
    )
    known = ~np.isnan(shares)
    mean = np.full(len(names), np.nan)
    np.divide(np.where(known, shares, 0.0).sum(axis=0), known.sum(axis=0), mean, where=known.any(0))
    weights = mean / np.nansum(mean)
    return Blend(dict(zip(names, weights.tolist(), strict=True)), _agreement(estimates[:, both]))


_SIDES = ("ablation", "ridge")


def _normalised(
    clipped: NDArray[np.float64], both: NDArray[np.bool_], side: str
) -> NDArray[np.float64]:
    total = clipped[both].sum()
    if not total > 0:
        raise InputError(
            f"The {side} finds no attribute that matters: no estimate is above 0 among those that "
            "both methods made.",
            given=clipped.tolist(),
            fix="Check that the oracle was trained (see its ROC-AUC and the sanity set), and that "
            "enough pairs were scored.",
        )
    shares: NDArray[np.float64] = clipped / total
    return shares


def _agreement(estimates: NDArray[np.float64]) -> float:
    if estimates.shape[1] < _LEAST_FOR_RANKS or (np.ptp(estimates, axis=1) == 0).any():
        return float("nan")
    return float(stats.spearmanr(estimates[0], estimates[1]).statistic)
