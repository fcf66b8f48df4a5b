"""Weighted query relevance and per-attribute scores of rankings (paper, section 5, Eq. 7).

In:  matches of (query, product) pairs, the scores by which a model ranks each query's pairs.
Out: per query and over queries Rel and AttrScore(a): of the top product, or as a mean over the top
     k, or discounted by rank; how many products lacked the value; how many queries count.

Tied scores share their ranks: the result is the exact expectation over random orders within ties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.relevance.images import ImageSimilarity
from fashion_rq_bench.relevance.intents import Intents, expressed
from fashion_rq_bench.relevance.pair_relevance import PairMatches, match_pairs
from fashion_rq_bench.relevance.rank_weights import rank_weights
from fashion_rq_bench.relevance.settings import RelevanceConfig
from fashion_rq_bench.relevance.similarity import Similarity
from fashion_rq_bench.relevance.weights_file import WeightsSource, relevance_config
from fashion_rq_bench.schema.domain import domain

__all__ = ["RelevanceSummary", "attr_scores", "relevance", "score_rankings", "summarise"]


def _mean_per_query(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    query_index: NDArray[np.int64],
    n_queries: int,
) -> NDArray[np.float64]:
    """(Q, A) weighted means of (P, A) values over the pairs where they are not NaN."""
    rows = np.flatnonzero(weights)
    values, weights, owner = values[rows], weights[rows, None], query_index[rows]
    known = ~np.isnan(values)
    total = np.zeros((n_queries, values.shape[1]))
    mass = np.zeros_like(total)
    np.add.at(total, owner, np.where(known, values, 0.0) * weights)
    np.add.at(mass, owner, known * weights)
    return np.divide(total, mass, out=np.full_like(total, np.nan), where=mass > 0)


def attr_scores(
    matches: PairMatches,
    query_index: ArrayLike,
    scores: ArrayLike,
    asked: NDArray[np.bool_],
    *,
    k: int | None = 1,
    discounted: bool = False,
    known_only: bool = False,
) -> NDArray[np.float64]:
    """m_a(q, p_q) per query and attribute; its mean over queries is AttrScore(a) (section 5).

    Args:
        matches: matches of P pairs.
        query_index: (P,) query of each pair.
        scores: (P,) the model's scores, higher is better.
        asked: (Q, A) which attributes each query expresses, from :func:`expressed`.
        k, discounted: see :func:`rank_weights`.
        known_only: leave out products that have nothing to compare, instead of counting 0.5.

    Returns:
        (Q, A) in [0, 1]; NaN where the query does not express the attribute (or, with
        ``known_only``, none of its top products has a value); 0 where it has no pair at all.
    """
    queries = np.asarray(query_index, dtype=np.int64)
    weights = rank_weights(queries, scores, k=k, discounted=discounted)
    values = np.where(matches.missing, np.nan, matches.match) if known_only else matches.match
    out = _mean_per_query(values, weights, queries, len(asked))
    return np.where(asked & _empty(queries, len(asked))[:, None], 0.0, out)


def relevance(
    matches: PairMatches,
    query_index: ArrayLike,
    scores: ArrayLike,
    asked: NDArray[np.bool_],
    *,
    k: int | None = 1,
    discounted: bool = False,
    known_only: bool = False,
) -> NDArray[np.float64]:
    """R(q, p_q) per query (Eq. 7); its mean over queries is Rel.

    Arguments are those of :func:`attr_scores`.

    Returns:
        (Q,) in [0, 1]; NaN for a query without (weighted) attributes; 0 for one that expresses
        attributes and has no pair at all.
    """
    queries = np.asarray(query_index, dtype=np.int64)
    weights = rank_weights(queries, scores, k=k, discounted=discounted)
    values = matches.rel_known if known_only else matches.rel
    out = _mean_per_query(values[:, None], weights, queries, len(asked))[:, 0]
    return np.where(asked.any(axis=1) & _empty(queries, len(asked)), 0.0, out)


def _empty(queries: NDArray[np.int64], n_queries: int) -> NDArray[np.bool_]:
    return np.asarray(np.bincount(queries, minlength=n_queries) == 0)


@dataclass(frozen=True)
class RelevanceSummary:
    """Rel and AttrScore over queries, and over how many each mean is.

    Attributes:
        rel: mean of ``per_query_rel``; NaN if no query expresses an attribute.
        n_queries: queries that ``rel`` is over.
        n_undefined: queries left out of it, since they express no attribute with a weight.
        n_empty: queries among ``n_queries`` without any product, which score 0.
        attr_score: AttrScore(a) by attribute; NaN where n is 0.
        n: queries that express a.
        n_missing: those of n whose product had nothing to compare (as a sum of rank weights).
        rel_known, attr_score_known: the same, leaving such products out.
        n_known: queries that ``attr_score_known`` is over.
        per_query_rel: (Q,) R(q, p_q).
        per_query_attr: (Q, A) m_a(q, p_q).
    """

    rel: float
    n_queries: int
    n_undefined: int
    n_empty: int
    attr_score: Mapping[str, float]
    n: Mapping[str, int]
    n_missing: Mapping[str, float]
    rel_known: float
    attr_score_known: Mapping[str, float]
    n_known: Mapping[str, int]
    per_query_rel: NDArray[np.float64]
    per_query_attr: NDArray[np.float64]


def _named(values: NDArray[Any]) -> dict[str, Any]:
    return dict(zip(domain().names, values.tolist(), strict=True))


def _means(values: NDArray[np.float64]) -> tuple[dict[str, float], dict[str, int]]:
    counts = (~np.isnan(values)).sum(axis=0)
    sums = np.nansum(values, axis=0)
    means = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    return _named(means), _named(counts)


def _mean(values: NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def summarise(
    matches: PairMatches,
    query_index: ArrayLike,
    scores: ArrayLike,
    asked: NDArray[np.bool_],
    *,
    k: int | None = 1,
    discounted: bool = False,
) -> RelevanceSummary:
    """Rel, AttrScore and their counts of one model; arguments as for :func:`attr_scores`."""
    queries = np.asarray(query_index, dtype=np.int64)
    depth: dict[str, Any] = {"k": k, "discounted": discounted}
    weights = rank_weights(queries, scores, **depth)
    arguments = (matches, queries, scores, asked)
    rel, rel_known = (relevance(*arguments, **depth, known_only=known) for known in (False, True))
    attr, attr_known = (
        attr_scores(*arguments, **depth, known_only=known) for known in (False, True)
    )
    n_missing = (matches.missing * weights[:, None]).sum(axis=0)
    attr_score, n = _means(attr)
    attr_score_known, n_known = _means(attr_known)
    return RelevanceSummary(
        rel=_mean(rel),
        n_queries=int((~np.isnan(rel)).sum()),
        n_undefined=int(np.isnan(rel).sum()),
        n_empty=int((_empty(queries, len(asked)) & asked.any(axis=1)).sum()),
        attr_score=attr_score,
        n=n,
        n_missing=_named(n_missing),
        rel_known=_mean(rel_known),
        attr_score_known=attr_score_known,
        n_known=n_known,
        per_query_rel=rel,
        per_query_attr=attr,
    )


def score_rankings(
    intents: Intents,
    products: pa.Table,
    rankings: Sequence[ArrayLike],
    similarity: Similarity,
    *,
    k: int | None = 1,
    discounted: bool = False,
    config: RelevanceConfig | None = None,
    weights: WeightsSource | None = None,
    images: ImageSimilarity | None = None,
) -> RelevanceSummary:
    """Rel and AttrScore of ranked lists.

    Args:
        intents: one entry per query, see :func:`match_pairs`.
        products: the products that the rankings point at.
        rankings: per query the positions in ``products`` of what was retrieved, best first.
        similarity: measure of the soft comparisons.
        k, discounted: see :func:`rank_weights`; only the top k are compared.
        config, images: see :func:`match_pairs`.
        weights: w_a by attribute, or the path of a weights file, instead of those of ``config``.

    Raises:
        MetricInputError: if there is not one ranking per query, or as :func:`match_pairs`.
        InputError: if the weights file cannot be used, see :func:`read_weights`.
    """
    if weights is not None:
        chosen = relevance_config(weights).weights
        config = replace(config or RelevanceConfig(), weights=chosen)
    asked = expressed(intents)
    if len(rankings) != len(asked):
        raise MetricInputError(
            "There must be one ranking per query.", given=len(rankings), allowed=[len(asked)]
        )
    queries, rows, scores = _flat([np.asarray(one, dtype=np.int64)[:k] for one in rankings])
    matches = match_pairs(
        intents, products, queries, rows, similarity, config=config, images=images
    )
    return summarise(matches, queries, scores, asked, k=k, discounted=discounted)


def _flat(
    rankings: Sequence[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Query, product and a score that falls from rank to rank, of every ranked product."""
    lengths = np.array([len(one) for one in rankings], dtype=np.int64)
    queries = np.repeat(np.arange(len(rankings)), lengths)
    rows = np.concatenate([np.zeros(0, np.int64), *rankings])
    return queries, rows, np.concatenate([np.zeros(0), *(-np.arange(n) for n in lengths)])
