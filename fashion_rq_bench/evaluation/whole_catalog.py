"""The whole-corpus task: every query of T1 against every product, graded by the hierarchy.

In:  a collection, and what a retriever found for each query.
Out: :class:`~fashion_rq_bench.evaluation.task_scores.TaskScores` of the task "retrieval".

A product's grade is the length of the prefix that its semantic ID shares with the query's anchor
(paper, section 4): Exact in the anchor's leaf, Sibling under its level-2 prefix, Related under its
level-1 prefix, as in the pools. So no product is unjudged; the grades are computed from the codes
of what was found and never written out pair by pair.

nDCG uses all grades. The relevant products of ``recall@k`` are the Exact ones: a query has about
a thousand Related products, of which the first 20 could hold 2%. ``recall_sibling@k`` also counts
Siblings. In the consistent form, products of lower tiers that satisfy every wish are taken out of
the ranking and of the ideal.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.editions.edition import in_its_domain
from fashion_rq_bench.editions.pool_relevance import match_any
from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.evaluation.task_scores import ATTRIBUTE, CONSISTENT, TaskScores, Units
from fashion_rq_bench.measures._ragged import Ragged
from fashion_rq_bench.measures.ranking import ndcg, recall
from fashion_rq_bench.relevance.attr_score import attr_scores, relevance
from fashion_rq_bench.relevance.satisfaction import wishes_satisfied
from fashion_rq_bench.retrievers.base import Found
from fashion_rq_bench.retrievers.dot_search import DEPTH
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.grades import Grade

__all__ = [
    "MAIN_METRIC",
    "RETRIEVAL",
    "catalog_rankings",
    "grades_of",
    "queries_of",
    "relevant_counts",
    "score_catalog",
]

Floats = NDArray[np.float64]
Grades = NDArray[np.int8]
Ints = NDArray[np.int64]

RETRIEVAL = "retrieval"
MAIN_METRIC = "ndcg@10"

_NDCG_AT = (5, 10, 20)
_RECALL_AT = (10, 20, 100)
_CONSISTENT_AT = 10
_TIERS = (Grade.EXACT, Grade.SIBLING, Grade.RELATED)


def queries_of(collection: Collection) -> Ints:
    """Positions in ``pairs.query_ids`` of the queries of the task: those of T1, (Q,)."""
    place = {query_id: row for row, query_id in enumerate(collection.pairs.query_ids)}
    return np.array([place[one] for one in collection.task("ranking").query_ids], dtype=np.int64)


@lru_cache(maxsize=2)
def _codes(collection: Collection) -> tuple[Ints, Ints]:
    """Semantic IDs of the corpus (N, 3) and of the queries' anchors (Q, 3)."""
    column = collection.edition.table("corpus", ["semantic_id"])["semantic_id"].combine_chunks()
    products = column.flatten().to_numpy().astype(np.int64).reshape(len(column), -1)
    anchors = [prefix.split("-") for prefix in collection.task("ranking").prefixes]
    return products, np.array(anchors, dtype=np.int64)


def grades_of(collection: Collection, query: Ints, product: Ints) -> Grades:
    """Grades 0 to 3 of pairs, from the prefix that anchor and product share.

    Args:
        query: positions in T1's queries.
        product: positions in the corpus.
    """
    products, anchors = _codes(collection)
    shared = np.cumprod(products[product] == anchors[query], axis=-1).sum(axis=-1)
    grades: Grades = shared.astype(np.int8)
    return grades


@lru_cache(maxsize=2)
def relevant_counts(collection: Collection) -> Ints:
    """(Q, 3) products of the corpus that are Exact, Sibling and Related for each query."""
    products, anchors = _codes(collection)
    within = []
    for level in (3, 2, 1):
        known, members = np.unique(products[:, :level], axis=0, return_counts=True)
        size = dict(zip(map(tuple, known.tolist()), members.tolist(), strict=True))
        within.append([size.get(tuple(anchor), 0) for anchor in anchors[:, :level].tolist()])
    whole = np.array(within, dtype=np.int64).T.reshape(-1, 3)
    return np.diff(whole, axis=1, prepend=0)


def _ideal(counts: Ints) -> Ragged:
    """Grades of all relevant products of each query, best first."""
    grades = np.repeat(np.tile(np.array(_TIERS, dtype=np.int64), len(counts)), counts.ravel())
    return Ragged(grades, np.concatenate([[0], np.cumsum(counts.sum(axis=1))]))


class _Ranked:
    """What was found, flat: (query, product, score) rows, query by query, best first."""

    def __init__(self, query: Ints, product: Ints, scores: Floats, grades: Grades, n: int) -> None:
        self.query, self.product, self.grades, self.n = query, product, grades, n
        offsets = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=n))])
        self.scores, self.graded = (
            Ragged(scores, offsets),
            Ragged(grades.astype(np.int64), offsets),
        )

    def without(self, out: NDArray[np.bool_]) -> _Ranked:
        keep = ~out
        values = self.scores.values[keep]
        return _Ranked(self.query[keep], self.product[keep], values, self.grades[keep], self.n)


def _ranked(collection: Collection, found: Found) -> _Ranked:
    places = found.product_index[:, :DEPTH]
    there = places >= 0
    query, product = np.nonzero(there)[0], places[there]
    grades = grades_of(collection, query, product)
    return _Ranked(query, product, found.scores[:, :DEPTH][there], grades, len(places))


@in_its_domain
def score_catalog(collection: Collection, found: Found) -> TaskScores:
    """Every metric of the whole-corpus task.

    Args:
        collection: corpus and queries.
        found: the best products for each of T1's queries, in T1's order, see ``queries_of``;
            those beyond the first 100 are not looked at.

    Raises:
        MissingDependencyError, ModelError: see ``pool_relevance.match_any``.
    """
    whole, counts = _ranked(collection, found), relevant_counts(collection)
    ideal = _ideal(counts)
    values = _ndcg(whole, ideal, _NDCG_AT)
    for name, least in (("recall", Grade.EXACT), ("recall_sibling", Grade.SIBLING)):
        values |= _recall(name, whole, ideal, least)
    values |= _relevance(collection, whole)
    satisfied = _satisfied(collection, whole.query, whole.product)
    fair = whole.without(satisfied & (whole.grades < Grade.EXACT))
    fair_ideal = _ideal(_consistent_counts(collection))
    consistent = _ndcg(fair, fair_ideal, (5, 10))
    consistent |= _recall("recall", fair, ideal, Grade.EXACT) | _relevance(collection, fair)
    values |= {f"{CONSISTENT}{name}": one for name, one in consistent.items()}
    pools = collection.task("ranking")
    return TaskScores(RETRIEVAL, Units(pools.query_ids, pools.prefixes, values), Units([], [], {}))


def _ndcg(ranked: _Ranked, ideal: Ragged, cutoffs: tuple[int, ...]) -> dict[str, Floats]:
    found = ndcg(ranked.scores, ranked.graded, list(cutoffs), ideal=ideal)
    return {f"ndcg@{k}": found[:, column] for column, k in enumerate(cutoffs)}


def _recall(name: str, ranked: _Ranked, ideal: Ragged, least: int) -> dict[str, Floats]:
    found = recall(ranked.scores, ranked.graded, list(_RECALL_AT), min_grade=least, ideal=ideal)
    return {f"{name}@{k}": found[:, column] for column, k in enumerate(_RECALL_AT)}


def _relevance(collection: Collection, ranked: _Ranked) -> dict[str, Floats]:
    """Rel and m_a of the product that ranks first."""
    best = np.full(ranked.n, -np.inf)
    np.maximum.at(best, ranked.query, ranked.scores.values)
    rows = np.flatnonzero(ranked.scores.values == best[ranked.query])  # more than one where tied
    query = ranked.query[rows]
    judged = match_any(collection, queries_of(collection)[query], ranked.product[rows])
    asked = judged.asked[queries_of(collection)]
    scores = ranked.scores.values[rows]
    by_attribute = attr_scores(judged.matches, query, scores, asked)
    by_attribute[np.isinf(best)] = np.nan  # everything found was taken out
    rel = np.where(np.isinf(best), np.nan, relevance(judged.matches, query, scores, asked))
    return {"rel": rel} | {
        f"{ATTRIBUTE}{a}": by_attribute[:, i] for i, a in enumerate(domain().names)
    }


def _satisfied(collection: Collection, query: Ints, product: Ints) -> NDArray[np.bool_]:
    """Which pairs satisfy every wish; a text that the edition keeps no vector of satisfies none."""
    judged = match_any(collection, queries_of(collection)[query], product, encode=False)
    return wishes_satisfied(judged.matches).satisfied


@lru_cache(maxsize=2)
def _consistent_counts(collection: Collection) -> Ints:
    """(Q, 3) products by tier without those of lower tiers that satisfy every wish.

    Only as far as the first 10 of the ideal need it: a query with ten Exact products needs no
    Sibling to be looked at.
    """
    counts = relevant_counts(collection).copy()
    for tier in (1, 2):
        short = np.flatnonzero(counts[:, :tier].sum(axis=1) < _CONSISTENT_AT)
        query, product = _tier_members(collection, short, tier)
        out = _satisfied(collection, query, product)
        counts[:, tier] -= np.bincount(query[out], minlength=len(counts))
    return counts


def _tier_members(collection: Collection, queries: Ints, tier: int) -> tuple[Ints, Ints]:
    """(query, product) pairs of one lower tier; the products stand together when sorted by ID."""
    products, anchors = _codes(collection)
    base = int(products.max(initial=0)) + 2
    keys = products @ np.array([base**2, base, 1])
    order = np.argsort(keys, kind="stable")
    width = base**tier
    low = anchors[queries] @ np.array([base**2, base, 1]) // width * width
    start, end = (np.searchsorted(keys[order], edge) for edge in (low, low + width))
    sizes = end - start
    query = np.repeat(queries, sizes)
    first = np.cumsum(sizes) - sizes
    product = order[np.arange(sizes.sum()) + np.repeat(start - first, sizes)]
    grades = grades_of(collection, query, product)
    here = grades == Grade.EXACT - tier
    return query[here], product[here]


def catalog_rankings(collection: Collection, found: Found) -> pa.Table:
    """Columns ``query_id``, ``product_id`` and ``score`` of all that was found, best first."""
    places = found.product_index[:, :DEPTH]
    there = places >= 0
    query = np.nonzero(there)[0]
    ids = pa.array(collection.task("ranking").query_ids, pa.string())
    return pa.table(
        {
            "query_id": ids.take(pa.array(query)),
            "product_id": collection.product_ids.take(pa.array(places[there])),
            "score": pa.array(found.scores[:, :DEPTH][there], pa.float64()),
        }
    )
