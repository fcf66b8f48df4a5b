"""Ranking metrics: exact under ties, defined for every query or NaN, one value per query.

In:  ``scores`` and ``grades`` of the candidates, one row per query: 2-D arrays, lists of arrays or
     Arrow list arrays (rows may differ in length). Higher scores rank first. Grades are 0 or more;
     0 is irrelevant or unjudged.
Out: float64 arrays, shape (queries,), or (queries, cut-offs) where ``k`` is a list.

Implements the task-level metrics of the paper's section 5 and their companions. All functions take

- ``k``: cut-off ≥ 1, a list of them, or None for the whole ranking;
- ``ties``: ``"expected"`` gives the exact expectation over random orders of tied products;
  ``"trec"`` orders them by id, descending, and compares scores in single precision, as trec_eval
  does. ``ids`` are the product ids for that rule (strings by their bytes, integers by value);
  without ids the positions stand in for them, so that of two tied products the later comes first;
- ``ideal``: grades of *all* judged products, one row per query, when only part was retrieved.

A query without a relevant product is NaN (:func:`mean` says over how many queries a mean is). A
query that retrieved nothing, but has relevant products in ``ideal``, scores 0. Whatever cannot be
used (NaN or infinite scores, negative grades, rows of unequal length, repeated ids, no queries,
k < 1) raises :class:`~fashion_rq_bench.errors.MetricInputError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.measures import ranked
from fashion_rq_bench.measures._runs import RunArrays, from_run
from fashion_rq_bench.measures.ranked._case import Case, Gains, Ties, build_case

__all__ = [
    "METRICS",
    "Gains",
    "Mean",
    "RunArrays",
    "Ties",
    "average_precision",
    "from_run",
    "hit_rate",
    "mean",
    "ndcg",
    "precision",
    "recall",
    "reciprocal_rank",
    "score",
]

Floats = NDArray[np.float64]
Cutoffs = int | Sequence[int] | None
Measure = Callable[[Case, int | None], Floats]

METRICS: dict[str, Measure] = {
    "ndcg": ranked.ndcg,
    "recall": ranked.recall,
    "precision": ranked.precision,
    "hit_rate": ranked.hit_rate,
    "average_precision": ranked.average_precision,
    "reciprocal_rank": ranked.reciprocal_rank,
}
"""The metrics by name, each a function of a case and one cut-off."""

_WHOLE_RANKING = ("average_precision", "reciprocal_rank")


def ndcg(
    scores: Any,
    grades: Any,
    k: Cutoffs = 10,
    *,
    gains: Gains = "linear",
    ties: Ties = "expected",
    ids: Any = None,
    ideal: Any = None,
) -> Floats:
    """Normalised discounted cumulative gain at k (paper, section 5; Järvelin & Kekäläinen 2002).

    Args:
        scores, grades, k, ties, ids, ideal: see the module.
        gains: ``"linear"`` (the grade), ``"exponential"`` (2^grade − 1) or a mapping from grade to
            gain, e.g. ``{3: 1.0, 2: 0.1, 1: 0.01}``; the gain of grade 0 is 0.

    Returns:
        nDCG in [0, 1]; NaN where no judged product has a gain.
    """
    case = build_case(scores, grades, ids=ids, ideal=ideal, ties=ties, gains=gains)
    return _at(ranked.ndcg, case, k)


def recall(
    scores: Any,
    grades: Any,
    k: Cutoffs = 10,
    *,
    min_grade: float = 1,
    ties: Ties = "expected",
    ids: Any = None,
    ideal: Any = None,
) -> Floats:
    """Share of the relevant products (grade ≥ ``min_grade``) in the first k ranks, in [0, 1]."""
    case = build_case(scores, grades, ids=ids, ideal=ideal, ties=ties, min_grade=min_grade)
    return _at(ranked.recall, case, k)


def precision(
    scores: Any,
    grades: Any,
    k: Cutoffs = 10,
    *,
    min_grade: float = 1,
    ties: Ties = "expected",
    ids: Any = None,
    ideal: Any = None,
) -> Floats:
    """Share of the first k ranks that hold relevant products, in [0, 1].

    The divisor is k even where fewer were retrieved; with k=None it is the number retrieved.
    """
    case = build_case(scores, grades, ids=ids, ideal=ideal, ties=ties, min_grade=min_grade)
    return _at(ranked.precision, case, k)


def hit_rate(
    scores: Any,
    grades: Any,
    k: Cutoffs = 10,
    *,
    min_grade: float = 1,
    ties: Ties = "expected",
    ids: Any = None,
    ideal: Any = None,
) -> Floats:
    """Probability that a relevant product stands in the first k ranks, in [0, 1]."""
    case = build_case(scores, grades, ids=ids, ideal=ideal, ties=ties, min_grade=min_grade)
    return _at(ranked.hit_rate, case, k)


def average_precision(
    scores: Any,
    grades: Any,
    k: Cutoffs = None,
    *,
    min_grade: float = 1,
    ties: Ties = "expected",
    ids: Any = None,
    ideal: Any = None,
) -> Floats:
    """Average precision, in [0, 1]; divided by all relevant products, also with a cut-off.

    Its mean over queries is MAP. The expectation under ties is derived in
    ``docs/design/0003-ties.md``.
    """
    case = build_case(scores, grades, ids=ids, ideal=ideal, ties=ties, min_grade=min_grade)
    return _at(ranked.average_precision, case, k)


def reciprocal_rank(
    scores: Any,
    grades: Any,
    k: Cutoffs = None,
    *,
    min_grade: float = 1,
    ties: Ties = "expected",
    ids: Any = None,
    ideal: Any = None,
) -> Floats:
    """1 / rank of the first relevant product, in [0, 1]; 0 if it stands beyond k. Mean: MRR."""
    case = build_case(scores, grades, ids=ids, ideal=ideal, ties=ties, min_grade=min_grade)
    return _at(ranked.reciprocal_rank, case, k)


def score(
    scores: Any,
    grades: Any,
    metrics: Sequence[str] = ("ndcg", "recall", "average_precision"),
    k: Cutoffs = 10,
    *,
    gains: Gains = "linear",
    min_grade: float = 1,
    ties: Ties = "expected",
    ids: Any = None,
    ideal: Any = None,
) -> dict[str, Floats]:
    """Several metrics from one pass over the scores.

    Args:
        metrics: names from :data:`METRICS`. A bare name takes every cut-off of ``k``, except
            ``average_precision`` and ``reciprocal_rank``, which look at the whole ranking.
            ``"name@10"`` sets the cut-off in place.
        scores, grades, k, gains, min_grade, ties, ids, ideal: see the module and :func:`ndcg`.

    Returns:
        name to values of shape (queries,), e.g. ``ndcg@5``, ``ndcg@10``, ``average_precision``.
    """
    wanted = [one for name in metrics for one in _cutoffs_of(name, k)]
    if not wanted:
        raise MetricInputError("No metric was asked for.", allowed=METRICS)
    case = build_case(
        scores, grades, ids=ids, ideal=ideal, ties=ties, gains=gains, min_grade=min_grade
    )
    return {_label(name, cutoff): METRICS[name](case, cutoff) for name, cutoff in wanted}


@dataclass(frozen=True)
class Mean:
    """A mean and what it is over.

    Attributes:
        value: mean over the defined queries; NaN if there are none.
        n: queries with a value.
        undefined: queries without one (NaN).
    """

    value: float
    n: int
    undefined: int


def mean(values: ArrayLike) -> Mean:
    """Mean over the queries for which a metric is defined, with their number.

    Args:
        values: one value per query, shape (queries,), NaN where undefined.
    """
    array = np.asarray(values, np.float64)
    if array.ndim != 1:
        raise MetricInputError(
            "mean takes one value per query.", given=f"an array of shape {array.shape}"
        )
    defined = array[~np.isnan(array)]
    value = float(defined.mean()) if len(defined) else float("nan")
    return Mean(value, len(defined), len(array) - len(defined))


def _at(measure: Measure, case: Case, k: Cutoffs) -> Floats:
    cutoffs = _cutoffs(k)
    if isinstance(cutoffs, list):
        return np.stack([measure(case, cutoff) for cutoff in cutoffs], axis=1)
    return measure(case, cutoffs)


def _cutoff(k: Any) -> int:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise MetricInputError(
            "k must be a whole number of at least 1, a list of them, or None.", given=k
        )
    return int(k)


def _cutoffs(k: Any) -> int | list[int] | None:
    if k is None:
        return None
    if isinstance(k, Sequence | np.ndarray) and not isinstance(k, str):
        if not len(k):
            raise MetricInputError("The list of cut-offs k is empty.")
        return [_cutoff(one) for one in k]
    return _cutoff(k)


def _label(name: str, cutoff: int | None) -> str:
    return name if cutoff is None else f"{name}@{cutoff}"


def _cutoffs_of(metric: str, k: Cutoffs) -> list[tuple[str, int | None]]:
    match = re.fullmatch(r"([a-z_]+)(?:@(\d+))?", metric)
    name, own = match.groups() if match else (metric, None)
    if name not in METRICS:
        raise MetricInputError("There is no such metric.", given=metric, allowed=METRICS)
    if own is not None:
        return [(name, _cutoff(int(own)))]
    if name in _WHOLE_RANKING:
        return [(name, None)]
    cutoffs = _cutoffs(k)
    return [(name, one) for one in (cutoffs if isinstance(cutoffs, list) else [cutoffs])]
