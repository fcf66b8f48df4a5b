"""What a scorer that knows nothing reaches, computed from the pools themselves.

In:  a collection, and one random draw.
Out: a ``TaskScores`` whose values are expectations over random orders:
     recall is the mean of k/n, single choice 1/n, T2's accuracy the mean of Σ (n_c/n)², and so on,
     query by query.

A metric that gives the exact expectation under ties gives it for a scorer under which everything
ties. Two parts are no such metric: Consistency@K, whose expectation is that of the overlap of two
random sets (``consistency.chance``); and T2 by fitted cut points, which has no closed form and is
taken from the draw.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.evaluation.task_scores import (
    CONSISTENT,
    CUTS,
    TaskScores,
    Units,
    consistent_form,
    score_task,
)
from fashion_rq_bench.evaluation.whole_catalog import RETRIEVAL, relevant_counts
from fashion_rq_bench.measures.consistency import chance
from fashion_rq_bench.retrievers.base import Scores
from fashion_rq_bench.schema.grades import Grade

__all__ = ["catalog_floor", "floor_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def floor_scores(collection: Collection, task: str, draw: Scores) -> TaskScores:
    """Expected value of every metric of one task under random orders.

    Args:
        collection: the edition's pools.
        task: a name of ``schema.TASK_CONFIGS``.
        draw: (U,) random scores, for the metrics that have no closed form.
    """
    expected = score_task(collection, task, np.zeros_like(draw))
    queries = dict(expected.queries.values)
    if task == "classification":
        drawn = score_task(collection, task, draw).queries.values
        queries |= {name: one for name, one in drawn.items() if name.startswith(CUTS)}
    return TaskScores(
        task,
        Units(expected.queries.ids, expected.queries.prefixes, queries),
        Units(expected.groups.ids, expected.groups.prefixes, _consistency(collection, expected)),
    )


def _consistency(collection: Collection, expected: TaskScores) -> dict[str, Floats]:
    pools = collection.task(expected.task)
    first = {group: row for row, group in reversed(list(enumerate(pools.groups)))}
    rows = np.array([first[group] for group in expected.groups.ids], dtype=np.int64)
    found = {}
    for name, known in expected.groups.values.items():
        fair = name.startswith(CONSISTENT)
        offsets = consistent_form(collection, pools.task).offsets if fair else pools.offsets
        by_chance = chance(np.diff(offsets)[rows], int(name.rpartition("@")[2]))
        found[name] = np.where(np.isnan(known), np.nan, by_chance)
    return found


def catalog_floor(collection: Collection) -> TaskScores:
    """Expected nDCG and recall of a random order of the whole corpus, by query."""
    counts, total = relevant_counts(collection), len(collection.product_ids)
    gains = counts @ np.array([Grade.EXACT, Grade.SIBLING, Grade.RELATED])
    values = {
        f"ndcg@{k}": gains / total * _discounts(k, total) / _ideal(counts, k) for k in (5, 10, 20)
    }
    for name, relevant in (("recall", counts[:, 0]), ("recall_sibling", counts[:, :2].sum(axis=1))):
        for k in (10, 20, 100):
            share = np.full(len(counts), min(k, total) / total)
            values[f"{name}@{k}"] = np.where(relevant > 0, share, np.nan)
    pools = collection.task("ranking")
    return TaskScores(RETRIEVAL, Units(pools.query_ids, pools.prefixes, values), Units([], [], {}))


def _discounts(k: int, size: int) -> float:
    return float((1 / np.log2(np.arange(min(k, size)) + 2)).sum())


def _ideal(counts: Ints, k: int) -> Floats:
    """(Q,) DCG@k of the best order; NaN where nothing is relevant."""
    upto = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(k) + 2))])
    ends = np.minimum(np.cumsum(counts, axis=1), k)
    best: Floats = np.diff(upto[ends], axis=1, prepend=0.0) @ np.array([3.0, 2.0, 1.0])
    return np.where(best > 0, best, np.nan)
