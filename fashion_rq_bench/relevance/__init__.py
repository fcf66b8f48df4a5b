"""How well a product meets a query's wishes: matches m_a, R(q, p), Rel and AttrScore.

Lives here: intents, the comparators, similarity of strings and pictures, weights. May import:
``measures``, ``words``, ``schema``. Must not import: editions, encoders, retrievers.
"""

from __future__ import annotations

import warnings
from typing import Any

from fashion_rq_bench.relevance.attr_score import (
    RelevanceSummary,
    attr_scores,
    relevance,
    score_rankings,
    summarise,
)
from fashion_rq_bench.relevance.compared_strings import (
    catalog_strings,
    intent_strings,
    required_strings,
)
from fashion_rq_bench.relevance.intents import expressed
from fashion_rq_bench.relevance.pair_relevance import PairMatches, match_pairs
from fashion_rq_bench.relevance.rank_weights import rank_weights
from fashion_rq_bench.relevance.settings import RelevanceConfig, default_weights
from fashion_rq_bench.relevance.weights_file import read_weights, relevance_config

__all__ = [
    "PairMatches",
    "RelevanceConfig",
    "RelevanceSummary",
    "attr_scores",
    "catalog_strings",
    "default_weights",
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


def __getattr__(name: str) -> Any:
    if name == "PAPER_WEIGHTS":
        warnings.warn("PAPER_WEIGHTS is now default_weights()", DeprecationWarning, stacklevel=2)
        return default_weights()
    raise AttributeError(name)
