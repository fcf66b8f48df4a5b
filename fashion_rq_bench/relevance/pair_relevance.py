"""The match of every attribute and R(q, p), of pairs of query and product (paper, Eq. 7, 8.0.4).

In:  intents of queries, a table of products, pairs of (query, product) positions, a Similarity.
Out: for every pair the matches m_a(q, p), what was missing, R(q, p) and the winning intent.

All pairs are scored at once: each distinct (query value, product value) pair is compared once.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.relevance.comparators import (
    FALLBACK,
    MISSING,
    ComparatorConfig,
    Side,
    match_attribute,
)
from fashion_rq_bench.relevance.comparators._sides import best_over_rows
from fashion_rq_bench.relevance.images import ImageSimilarity, prompts_of
from fashion_rq_bench.relevance.intents import Intents, intent_sides, intents_array
from fashion_rq_bench.relevance.settings import RelevanceConfig
from fashion_rq_bench.relevance.similarity import Similarity
from fashion_rq_bench.schema.domain import domain

__all__ = ["PairMatches", "match_pairs"]


@dataclass(frozen=True)
class PairMatches:
    """Matches of P (query, product) pairs; columns in the order of the domain's A attributes.

    Attributes:
        match: (P, A) float64 m_a in [0, 1], NaN where no intent of the query expresses a. Taken
            from the winning intent if that expresses a, else from the best intent that does, so
            that the number of values does not depend on the model.
        missing: (P, A) bool, the product had nothing to compare and ``match`` is the neutral 0.5.
        fallback: (P, A) bool, the product had no value and its text was compared instead.
        own: (P, A) bool, the winning intent expresses a.
        rel: (P,) float64 R(q, p) of the winning intent; NaN for a query without attributes.
        rel_known: (P,) float64, the same over attributes that are not missing; NaN without any.
        intent: (P,) position of the winning intent among the query's; -1 without any.
    """

    match: NDArray[np.float64]
    missing: NDArray[np.bool_]
    fallback: NDArray[np.bool_]
    own: NDArray[np.bool_]
    rel: NDArray[np.float64]
    rel_known: NDArray[np.float64]
    intent: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rel)

    def take(self, rows: ArrayLike) -> PairMatches:
        """The matches of some pairs, by position or mask."""
        return PairMatches(*(getattr(self, one.name)[np.asarray(rows)] for one in fields(self)))


def match_pairs(
    intents: Intents,
    products: pa.Table,
    query_index: ArrayLike,
    product_index: ArrayLike,
    similarity: Similarity,
    *,
    config: RelevanceConfig | None = None,
    images: ImageSimilarity | None = None,
) -> PairMatches:
    """Match of every attribute and R(q, p) of every pair (paper 8.0.4 and Eq. 7).

    Args:
        intents: one entry per query: an intent, several, or None; or an ``intents`` column.
        products: columns of ``catalog_schema()`` or ``corpus_schema()``; an absent column
            is all missing.
        query_index: (P,) positions in ``intents``.
        product_index: (P,) positions in ``products``.
        similarity: measure of the soft comparisons; part of the result's identity.
        config: weights and settings; the paper's by default.
        images: visual grounding: visible attributes take the maximum of the text's match and the
            picture's.

    Raises:
        MetricInputError: if an intent is malformed, an index is out of range or their lengths
            differ, or the similarity lacks a string.
    """
    config = config or RelevanceConfig()
    array = intents_array(intents)
    queries = _positions(query_index, len(array), "query_index")
    rows = _positions(product_index, len(products), "product_index", len(queries))
    pair, reading = _expand(array, queries)
    sides = intent_sides(array)
    match, source = _match_readings(
        sides, products, reading, rows[pair], similarity, config.comparators
    )
    if images is not None:
        _ground(match, sides, reading, rows[pair], images)
    return _resolve(match, source, pair, len(rows), config.vector())


def _positions(
    values: ArrayLike, size: int, name: str, count: int | None = None
) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or (len(array) and not np.issubdtype(array.dtype, np.integer)):
        raise MetricInputError(f"{name} must be a list of positions.", given=array.dtype)
    array = array.astype(np.int64)
    if len(array) and (array.min() < 0 or array.max() >= size):
        bad = array[(array < 0) | (array >= size)][0]
        raise MetricInputError(
            f"{name} points outside the table.", given=int(bad), allowed=[f"0 … {size - 1}"]
        )
    if count is not None and count != len(array):
        raise MetricInputError(
            "query_index and product_index must be equally long.", given=(count, len(array))
        )
    return array


def _expand(
    array: pa.ListArray, queries: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One row per (pair, intent of its query): the pair's position and the intent's."""
    counts = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    starts = np.cumsum(counts) - counts
    per_pair = counts[queries]
    pair = np.repeat(np.arange(len(queries)), per_pair)
    first = np.cumsum(per_pair) - per_pair
    return pair, starts[queries][pair] + np.arange(len(pair)) - first[pair]


def _match_readings(
    sides: list[Side],
    products: pa.Table,
    reading: NDArray[np.int64],
    rows: NDArray[np.int64],
    similarity: Similarity,
    config: ComparatorConfig,
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """(E, A) matches, NaN where unexpressed, and what was compared, -1 where unexpressed."""
    match = np.full((len(rows), len(sides)), np.nan)
    source = np.full(match.shape, -1, dtype=np.int8)
    for position, (name, side) in enumerate(zip(domain().names, sides, strict=True)):
        asked = np.flatnonzero((side.source != MISSING)[side.codes[reading]])
        if len(asked):
            match[asked, position], source[asked, position] = match_attribute(
                name, side, products, reading[asked], rows[asked], similarity, config
            )
    return match, source


def _ground(
    match: NDArray[np.float64],
    sides: list[Side],
    reading: NDArray[np.int64],
    rows: NDArray[np.int64],
    images: ImageSimilarity,
) -> None:
    """Lift matches in place to what the product's picture shows (paper 8.0.4)."""
    kinds = sides[domain().attributes.index(domain().type)]
    for position, (one, side) in enumerate(zip(domain().attributes, sides, strict=True)):
        if not one.visible:
            continue
        asked = np.flatnonzero(~np.isnan(match[:, position]))
        values, kind = side.codes[reading[asked]], kinds.codes[reading[asked]]
        if side is kinds:
            kind = np.full_like(kind, -1)  # its own context; the last value is the empty one
        n_kinds = len(kinds.values)
        keys, inverse = np.unique(values * n_kinds + kind % n_kinds, return_inverse=True)
        prompts = [
            prompts_of(side.values[key // n_kinds], " ".join(kinds.values[key % n_kinds]))
            for key in keys.tolist()
        ]
        seen = best_over_rows(prompts, inverse, rows[asked], images)
        match[asked, position] = np.fmax(match[asked, position], seen)


def _weighted(
    match: NDArray[np.float64], counted: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Eq. 7 over the counted attributes; NaN where their weights sum to zero."""
    total = (counted * weights).sum(axis=1)
    weighted = (np.where(counted, match, 0.0) * weights).sum(axis=1)
    out = np.full(len(match), np.nan)
    np.divide(weighted, total, out=out, where=total > 0)
    return out


def _resolve(
    match: NDArray[np.float64],
    source: NDArray[np.int8],
    pair: NDArray[np.int64],
    n_pairs: int,
    weights: NDArray[np.float64],
) -> PairMatches:
    """Best intent of each pair, and for every attribute the best intent that expresses it."""
    expressed = source >= 0
    rel = _weighted(match, expressed, weights)
    known = _weighted(match, expressed & (source != MISSING), weights)
    if len(pair) == n_pairs and np.array_equal(pair, np.arange(n_pairs)):
        intent = np.zeros(n_pairs, dtype=np.int64)  # every query has exactly one
        return PairMatches(
            match, source == MISSING, source == FALLBACK, expressed, rel, known, intent
        )
    order = np.where(np.isnan(rel), -1.0, rel)
    winner = _best(order, pair, n_pairs)
    chosen = np.stack(
        [_best(np.where(some, order, -2.0), pair, n_pairs) for some in expressed.T], axis=1
    )
    sources = _pick(source, chosen, -1)
    first = np.searchsorted(pair, np.arange(n_pairs))
    return PairMatches(
        match=_pick(match, chosen, np.nan),
        missing=sources == MISSING,
        fallback=sources == FALLBACK,
        own=_pick(expressed, np.repeat(winner[:, None], source.shape[1], axis=1), False),
        rel=_pick(rel[:, None], winner[:, None], np.nan)[:, 0],
        rel_known=_pick(known[:, None], winner[:, None], np.nan)[:, 0],
        intent=np.where(winner >= 0, winner - first, -1),
    )


def _best(order: NDArray[np.float64], pair: NDArray[np.int64], n_pairs: int) -> NDArray[np.int64]:
    """(n_pairs,) first row with the largest ``order`` of each pair; -1 for a pair without rows."""
    out = np.full(n_pairs, -1, dtype=np.int64)
    if len(pair):
        present, starts, counts = np.unique(pair, return_index=True, return_counts=True)
        rows = np.flatnonzero(order == np.repeat(np.maximum.reduceat(order, starts), counts))
        out[present] = rows[np.unique(pair[rows], return_index=True)[1]]
    return out


def _pick(values: NDArray[Any], rows: NDArray[np.int64], fill: object) -> NDArray[Any]:
    """``values[rows[i, j], j]``, and ``fill`` where the row is -1."""
    out = np.full(rows.shape, fill, dtype=values.dtype)
    some = rows >= 0
    columns = np.broadcast_to(np.arange(rows.shape[1]), rows.shape)
    out[some] = values[rows[some], columns[some]]
    return out
