"""How well a product meets a query's wishes: matches m_a, R(q, p), Rel and AttrScore.

Lives here: intents, the comparators, similarity of strings and pictures, weights. May import:
``measures``, ``words``, ``schema``. Must not import: editions, encoders, retrievers.
"""

from __future__ import annotations

from fashion_rq_bench.relevance.attr_score import (
    PAPER_WEIGHTS,
    PairMatches,
    RelevanceConfig,
    RelevanceSummary,
    attr_scores,
    catalog_strings,
    expressed,
    intent_strings,
    match_pairs,
    rank_weights,
    read_weights,
    relevance,
    relevance_config,
    required_strings,
    score_rankings,
    summarise,
)

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
