"""From the scores of pool pairs to every number of the paper's Table 2 (section 5).

In:  a collection and one score per distinct pair.
Out: :class:`TaskScores`: values per query (consistency: per paraphrase group), and their means.

Each metric comes in the paper's protocol and, with the prefix ``consistent_``, on pools without
the pairs of lower tiers that satisfy every wish of the query (``consistent.py``). T2's classes come
from ranks and, with the prefix ``cuts_``, from cut points fitted on other clusters.
``fashion-rq evaluate`` and the mteb tasks both end here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fashion_rq_bench.editions.edition import in_its_domain
from fashion_rq_bench.editions.pool_relevance import judge
from fashion_rq_bench.editions.pools import Collection, Pools
from fashion_rq_bench.evaluation.confusions import CONFUSION, confusions, pair_level
from fashion_rq_bench.measures._ragged import Ragged
from fashion_rq_bench.measures.classification import (
    class_sizes,
    classes_by_cuts,
    classes_by_rank,
    folds_of,
)
from fashion_rq_bench.measures.consistency import consistency
from fashion_rq_bench.measures.ranking import Mean, mean, ndcg, recall, score
from fashion_rq_bench.relevance.attr_score import attr_scores, relevance
from fashion_rq_bench.relevance.satisfaction import (
    ConsistentPools,
    consistent_pools,
    wishes_satisfied,
)
from fashion_rq_bench.retrievers.base import Scores
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.grades import GRADE_NAMES, Grade

__all__ = [
    "ATTRIBUTE",
    "CONSISTENT",
    "CUTS",
    "MAIN_METRICS",
    "SCORING_VERSION",
    "TaskScores",
    "Units",
    "consistent_form",
    "score_task",
]

SCORING_VERSION = "2"
"""Raised whenever a figure may change; part of every model id."""

CONSISTENT = "consistent_"
CUTS = "cuts_"
ATTRIBUTE = "attr_"

MAIN_METRICS: Mapping[str, str] = {
    "ranking": "ndcg@10",
    "classification": "accuracy",
    "sibling": "ndcg@3",
    "paraphrase": "consistency@5",
}
"""The one metric by which a task ranks models."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Units:
    """Metrics over queries, or over paraphrase groups.

    Attributes:
        ids: (N,) query or group ids.
        prefixes: (N,) their anchors' codes joined by "-".
        values: metric to (N,) values, NaN where undefined.
    """

    ids: list[str]
    prefixes: list[str]
    values: dict[str, Floats]


@dataclass(frozen=True, eq=False)
class TaskScores:
    """What one model reached in one task."""

    task: str
    queries: Units
    groups: Units

    @classmethod
    def from_rows(cls, task: str, table: pa.Table) -> TaskScores:
        """Read back rows of ``schema.RESULTS`` of one model and task."""
        units: tuple[dict[str, Floats], dict[str, Floats]] = ({}, {})
        named: list[tuple[list[str], list[str]]] = [([], []), ([], [])]
        for metric in pc.unique(table["metric"]).to_pylist():
            rows = table.filter(pc.equal(table["metric"], metric))
            side = int("consistency@" in metric)
            units[side][metric] = rows["value"].to_numpy()
            named[side] = (rows["query_id"].to_pylist(), rows["prefix"].to_pylist())
        sides = [Units(*names, values) for names, values in zip(named, units, strict=True)]
        return cls(task, *sides)

    def means(self) -> dict[str, Mean]:
        """Mean of every metric and over how many queries (or groups) it is.

        T2's figures are over all pairs, from the summed confusion matrices. T1's ranking metrics
        come, too, over the queries that express an attribute: ``ndcg@10_color``.
        """
        found = {
            metric: mean(values)
            for units in (self.queries, self.groups)
            for metric, values in units.values.items()
            if CONFUSION not in metric
        }
        if self.task == "classification":
            for start in ("", CUTS, CONSISTENT):
                found |= pair_level(self.queries.values, start)
        if self.task == "ranking":
            found |= _by_attribute(self.queries.values)
        return found


@in_its_domain
def score_task(collection: Collection, task: str, scores: Scores) -> TaskScores:
    """Every metric of one task.

    Args:
        collection: the edition's pools.
        task: a name of ``schema.TASK_CONFIGS``.
        scores: (U,) finite scores of the collection's distinct pairs, higher is better.

    Raises:
        ConfigError: there is no such task.
        MetricInputError: a score is not finite.
    """
    pools = collection.task(task)
    rows = collection.pairs.rows[task]
    kept = consistent_form(collection, task)
    whole = _View(pools.offsets, pools.grades, scores[rows])
    part = kept.rows
    fair = _View(kept.offsets, pools.grades[part], whole.scores.values[part], part)
    groups = Units([], [], {})
    measures = _MEASURES[task]
    # A pool of one class is no less a part of the summed confusion matrix, so T2 keeps it.
    undefined = None if task == "classification" else kept.trivial
    values = measures(whole) | _start(CONSISTENT, measures(fair), undefined)
    if task == "classification":
        values |= _start(CUTS, _classes_by_cuts(whole, pools))
    if task == "paraphrase":
        groups = _consistency(collection, pools, whole, fair)
    values |= _relevance(collection, rows, whole, whole)
    values |= _start(CONSISTENT, _relevance(collection, rows, whole, fair), kept.trivial)
    return TaskScores(task, Units(pools.query_ids, pools.prefixes, values), groups)


class _View:
    """Pools with their scores, or part of their rows, as the metrics take them."""

    def __init__(
        self, offsets: Ints, grades: NDArray[np.int8], scores: Scores, rows: Ints | None = None
    ) -> None:
        self.offsets = offsets
        self.rows = np.arange(len(scores)) if rows is None else rows
        self.grades = Ragged(grades.astype(np.int64), offsets)
        self.scores = Ragged(scores, offsets)

    @property
    def query_index(self) -> Ints:
        return self.scores.row_numbers()


@lru_cache(maxsize=8)
@in_its_domain
def consistent_form(collection: Collection, task: str) -> ConsistentPools:
    """A task's pools without the pairs of lower tiers that satisfy every wish."""
    pools = collection.task(task)
    matches = judge(collection).matches.take(collection.pairs.rows[task])
    shared = None
    if task == "paraphrase":
        group = np.unique(pools.groups, return_inverse=True)[1][pools.query_index]
        shared = group * len(collection.product_ids) + pools.product_index
    return consistent_pools(
        pools.grades,
        wishes_satisfied(matches).satisfied,
        pools.offsets,
        best=1 if task == "sibling" else Grade.EXACT,
        shared=shared,
    )


def _start(
    start: str, values: dict[str, Floats], undefined: NDArray[np.bool_] | None = None
) -> dict[str, Floats]:
    """Names with a prefix; NaN (0 in counts) for undefined queries."""
    if undefined is not None:
        values = {
            name: np.where(undefined, 0.0 if CONFUSION in name else np.nan, one)
            for name, one in values.items()
        }
    return {start + name: one for name, one in values.items()}


def _ranking(view: _View) -> dict[str, Floats]:
    found = score(view.scores, view.grades, ["ndcg", "recall"], [5, 10])
    for grade in (Grade.SIBLING, Grade.EXACT):
        strict = recall(view.scores, view.grades, [5, 10], min_grade=grade)
        name = f"recall_{GRADE_NAMES[grade]}"
        found |= {f"{name}@5": strict[:, 0], f"{name}@10": strict[:, 1]}
    return found


def _sibling(view: _View) -> dict[str, Floats]:
    found = score(view.scores, view.grades, ["ndcg", "recall"], [1, 3])
    return found | {"accuracy": found["recall@1"]}  # one target: the single choice is right


def _paraphrase(view: _View) -> dict[str, Floats]:
    return {"ndcg@10": ndcg(view.scores, view.grades, 10)}


def _relevance(collection: Collection, rows: Ints, whole: _View, view: _View) -> dict[str, Floats]:
    """Rel and m_a of the product that ranks first in a view of the pools."""
    judged = judge(collection)
    asked = judged.asked[collection.pairs.query_index[rows[whole.offsets[:-1]]]]
    matches, query = judged.matches.take(rows[view.rows]), view.query_index
    by_attribute = attr_scores(matches, query, view.scores.values, asked)
    found = {"rel": relevance(matches, query, view.scores.values, asked)}
    return found | {f"{ATTRIBUTE}{a}": by_attribute[:, i] for i, a in enumerate(domain().names)}


def _classes(view: _View) -> dict[str, Floats]:
    """The main rule: classes filled by rank, as many of each as the pool holds."""
    return confusions(view.grades, classes_by_rank(view.scores, class_sizes(view.grades)))


_MEASURES: Mapping[str, Callable[[_View], dict[str, Floats]]] = {
    "ranking": _ranking,
    "classification": _classes,
    "sibling": _sibling,
    "paraphrase": _paraphrase,
}


def _classes_by_cuts(view: _View, pools: Pools) -> dict[str, Floats]:
    """The second rule: cut points fitted on other clusters."""
    folds = folds_of(pools.prefixes)
    if len(np.unique(folds)) < 2:
        nothing = np.zeros((len(view.scores.values), len(GRADE_NAMES)))
        return confusions(view.grades, nothing)
    classes = classes_by_cuts(view.scores, view.grades, folds)
    return confusions(view.grades, np.eye(len(GRADE_NAMES))[classes])


def _consistency(collection: Collection, pools: Pools, whole: _View, fair: _View) -> Units:
    """Consistency@5 and @10 of every group; NaN for a group of one query."""
    groups = list(dict.fromkeys(pools.groups))
    prefix = dict(zip(pools.groups, pools.prefixes, strict=True))
    values = {}
    for start, view in (("", whole), (CONSISTENT, fair)):
        products = collection.product_ids.take(pa.array(pools.product_index[view.rows]))
        ids = pa.LargeListArray.from_arrays(pa.array(view.offsets), products)
        for k in (5, 10):
            found = consistency(view.scores, ids, pools.groups, k, query_ids=pools.query_ids)
            by_group = dict(zip(found.groups, found.per_group, strict=True))
            values[f"{start}consistency@{k}"] = np.array([by_group.get(g, np.nan) for g in groups])
    return Units(groups, [prefix[group] for group in groups], values)


def _by_attribute(values: dict[str, Floats]) -> dict[str, Mean]:
    asked = {name: ~np.isnan(one) for name, one in values.items() if name.startswith(ATTRIBUTE)}
    return {
        f"{metric}_{name.removeprefix(ATTRIBUTE)}": mean(values[metric][rows])
        for metric in ("ndcg@5", "ndcg@10", "recall@5", "recall@10")
        for name, rows in asked.items()
    }
