"""How well an oracle's probabilities fit labels (paper 8.0.5, Cross-encoder oracle).

In:  logits of pairs and whether each is relevant.
Out: ROC-AUC, and the Brier score beside that of the marginal rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from fashion_rq_bench.support.optional import require

__all__ = ["OracleQuality", "quality"]


@dataclass(frozen=True)
class OracleQuality:
    """How well probabilities fit labels.

    Attributes:
        roc_auc: NaN if only one class is there.
        brier: mean squared error of the probabilities.
        brier_marginal: of predicting the positive rate for every pair.
        positive_rate: share of relevant pairs.
        n: pairs.
    """

    roc_auc: float
    brier: float
    brier_marginal: float
    positive_rate: float
    n: int


def quality(logits: ArrayLike, labels: ArrayLike) -> OracleQuality:
    """ROC-AUC and Brier score of logits, beside the marginal baseline (paper 8.0.5).

    Args:
        logits: (P,) raw logits.
        labels: (P,) 0 or 1.
    """
    metrics = require("sklearn.metrics", "weights")
    scores, truth = np.asarray(logits, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    rate = float(truth.mean())
    auc = float(metrics.roc_auc_score(truth, scores)) if 0 < rate < 1 else float("nan")
    brier = float(((expit(scores) - truth) ** 2).mean())
    return OracleQuality(auc, brier, rate * (1 - rate), rate, len(truth))
