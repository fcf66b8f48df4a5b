"""A retriever asked, and its answer checked.

In:  a retriever and a collection.
Out: a score for every pair of the pools, or the best products of the whole corpus by query.
"""

from __future__ import annotations

import numpy as np

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.encoders.encoding import model_errors
from fashion_rq_bench.errors import ConfigError, ModelError
from fashion_rq_bench.evaluation.whole_catalog import queries_of
from fashion_rq_bench.retrievers.base import Found, Retriever, Scores, SearchesCorpus, why_no_search
from fashion_rq_bench.retrievers.dot_search import DEPTH, checked

__all__ = ["pair_scores", "search_catalog"]


def pair_scores(retriever: Retriever, collection: Collection) -> Scores:
    """A retriever's score of every pair of a collection, shape (U,), checked.

    Raises:
        ModelError: the retriever failed, or its scores are not finite or not one per pair.
    """
    with model_errors(retriever.name, "scoring"):
        scores = np.asarray(retriever.score(collection), dtype=np.float64)
    expected = (len(collection.pairs.query_index),)
    if scores.shape != expected:
        raise ModelError(
            f"{retriever.name} must score every pair once.", given=scores.shape, allowed=[expected]
        )
    bad = int((~np.isfinite(scores)).sum())
    if bad:
        raise ModelError(
            f"{retriever.name} gave {bad} of {len(scores)} pairs a score that is not finite.",
            fix="Rankings need finite scores; check the model's vectors.",
        )
    return scores


def search_catalog(retriever: Retriever, collection: Collection) -> Found:
    """The best 100 products of the whole corpus for each of T1's queries, in T1's order, checked.

    Raises:
        ConfigError: the retriever cannot search.
        ModelError: it failed, or what it found cannot be used.
    """
    if not isinstance(retriever, SearchesCorpus):
        raise ConfigError(str(why_no_search(retriever)))
    with model_errors(retriever.name, "searching the whole corpus"):
        found = retriever.search(collection, DEPTH)
    queries, products = len(collection.pairs.query_ids), len(collection.product_ids)
    rows = queries_of(collection)
    found = checked(found, queries, products, retriever.name)
    return Found(found.scores[rows], found.product_index[rows])
