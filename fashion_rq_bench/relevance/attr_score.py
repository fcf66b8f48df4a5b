"""Weighted query relevance and per-attribute scores of rankings (paper, section 5, Eq. 7).

In:  matches of (query, product) pairs, the scores by which a model ranks each query's pairs.
Out: per query and over queries Rel and AttrScore(a): of the top product, or as a mean over the top
     k, or discounted by rank; how many products lacked the value; how many queries count.

Tied scores share their ranks: the result is the exact expectation over random orders within ties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.errors import ConfigError, MetricInputError
from fashion_rq_bench.relevance.images import ImageSimilarity
from fashion_rq_bench.relevance.intents import Intents, expressed
from fashion_rq_bench.relevance.pair_relevance import (
    PAPER_WEIGHTS,
    PairMatches,
    RelevanceConfig,
    catalog_strings,
    intent_strings,
    match_pairs,
    required_strings,
)
from fashion_rq_bench.relevance.similarity import Similarity
from fashion_rq_bench.relevance.weights_file import WeightsSource, read_weights, relevance_config
from fashion_rq_bench.schema.domain import domain

__all__ = [
    "PAPER_WEIGHTS",
    "PairMatches",
    "RelevanceConfig",
    "RelevanceSummary",
    "attr_scores",
    "catalog_strings",
    "expressed",
    "intent_strings",
    "match_pairs",
    "rank_weights",
    "read_weights",
    "relevance",
    "relevance_config",
    "required_strings",
    "score_rankings",
    "summarise",
]

_N = len(domain().names)


def rank_weights(
    query_index: ArrayLike, scores: ArrayLike, *, k: int | None = 1, discounted: bool = False
) -> NDArray[np.float64]:
    """Weight of every pair in its query's mean over the top k; they sum to 1 per query.

    Args:
        query_index: (P,) query of each pair, in any order.
        scores: (P,) finite scores, higher is better; ties share their ranks' weights equally.
        k: how many of the top products count; None for the whole ranking.
        discounted: weigh rank r by 1 / log2(r + 1) instead of equally.

    Raises:
        ConfigError: if k is below 1.
        MetricInputError: if a score is NaN or infinite, or the lengths differ.
    """
    if k is not None and k < 1:
        raise ConfigError("The number of top products must be at least 1.", given=k)
    queries, values = np.asarray(query_index), np.asarray(scores, dtype=np.float64)
    if queries.shape != values.shape or queries.ndim != 1:
        raise MetricInputError(
            "query_index and scores must be equally long.", given=(queries.shape, values.shape)
        )
    if not np.isfinite(values).all():
        raise MetricInputError("Scores must be finite.", given=values[~np.isfinite(values)][0])
    out = np.zeros(len(queries))
    if not len(out):
        return out
    order = np.lexsort((-values, queries))
    owner, ranked = queries[order], values[order]
    first = np.r_[True, owner[1:] != owner[:-1]]
    weights = _position_weights(first, k, discounted)
    tied = np.flatnonzero(first | np.r_[True, ranked[1:] != ranked[:-1]])
    sizes = np.diff(np.r_[tied, len(out)])
    out[order] = np.repeat(np.add.reduceat(weights, tied) / sizes, sizes)
    return out


def _position_weights(
    first: NDArray[np.bool_], k: int | None, discounted: bool
) -> NDArray[np.float64]:
    """Weights by rank of pairs sorted by query, ``first`` marking where a query starts."""
    starts = np.flatnonzero(first)
    lengths = np.diff(np.r_[starts, len(first)])
    rank = np.arange(len(first)) - np.repeat(starts, lengths)
    weights = 1.0 / np.log2(rank + 2.0) if discounted else np.ones(len(rank))
    if k is not None:
        weights[rank >= k] = 0.0
    totals: NDArray[np.float64] = np.add.reduceat(weights, starts)
    return weights / np.repeat(totals, lengths)


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
        asked: (Q, 10) which attributes each query expresses, from :func:`expressed`.
        k, discounted: see :func:`rank_weights`.
        known_only: leave out products that have nothing to compare, instead of counting 0.5.

    Returns:
        (Q, 10) in [0, 1]; NaN where the query does not express the attribute (or, with
        ``known_only``, none of its top products has a value); 0 where it has no pair at all.
    """
    queries = np.asarray(query_index, dtype=np.int64)
    weights = rank_weights(queries, scores, k=k, discounted=discounted)
    return _attr_scores(matches, queries, weights, asked, known_only)


def _attr_scores(
    matches: PairMatches,
    queries: NDArray[np.int64],
    weights: NDArray[np.float64],
    asked: NDArray[np.bool_],
    known_only: bool,
) -> NDArray[np.float64]:
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
    return _relevance(matches, queries, weights, asked, known_only)


def _relevance(
    matches: PairMatches,
    queries: NDArray[np.int64],
    weights: NDArray[np.float64],
    asked: NDArray[np.bool_],
    known_only: bool,
) -> NDArray[np.float64]:
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
        per_query_attr: (Q, 10) m_a(q, p_q).
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


def _means(values: NDArray[np.float64]) -> tuple[dict[str, float], dict[str, int]]:
    counts = (~np.isnan(values)).sum(axis=0)
    sums = np.nansum(values, axis=0)
    means = np.divide(sums, counts, out=np.full(_N, np.nan), where=counts > 0)
    return (
        dict(zip(domain().names, means.tolist(), strict=True)),
        dict(zip(domain().names, counts.tolist(), strict=True)),
    )


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

    weights = rank_weights(queries, scores, k=k, discounted=discounted)
    arguments = (matches, queries, weights, asked)
    rel, rel_known = (_relevance(*arguments, known) for known in (False, True))
    attr, attr_known = (_attr_scores(*arguments, known) for known in (False, True))
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
        n_missing=dict(zip(domain().names, n_missing.tolist(), strict=True)),
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
    kept = [np.asarray(ranking, dtype=np.int64)[:k] for ranking in rankings]
    lengths = np.array([len(one) for one in kept], dtype=np.int64)
    queries = np.repeat(np.arange(len(kept)), lengths)
    rows = np.concatenate(kept) if kept else np.zeros(0, np.int64)
    scores = np.concatenate([-np.arange(n) for n in lengths]) if kept else np.zeros(0)
    matches = match_pairs(
        intents, products, queries, rows, similarity, config=config, images=images
    )
    return summarise(matches, queries, scores, asked, k=k, discounted=discounted)
