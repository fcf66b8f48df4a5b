"""Recall@k as an ``evaluate`` module; defined in ``fashion_rq_bench.measures.ranking``."""

from __future__ import annotations

import fashion_rq_bench.measures.ranking as ranking
import fashion_rq_bench.metrics._base as base

_DESCRIPTION = """
Recall@k: share of a query's relevant products that stand in the first k ranks. Relevant are
products of min_grade or better; tied products are scored by the expectation over their orders.
"""

_CITATION = """
C. D. Manning, P. Raghavan and H. Schütze, Introduction to Information Retrieval, 2008, chapter 8.
"""

_INPUTS = """
Args:
    predictions: for each query the list of its products' scores; higher is better.
    references: for each query the list of their grades, 0 or more, in the same order.
    k: cut-off (10), or a list of cut-offs.
    min_grade: lowest grade that counts as relevant (1).
    ties: "expected" (default) or "trec".
    ids: for each query the list of product ids, which order ties under "trec".
    ideal: for each query the grades of all judged products, if not all were retrieved.
    return_per_query: also give one value per query.
Returns:
    "recall@10" (one for each k): mean in [0, 1] over the queries with a relevant product;
    "n": how many these are; "undefined": how many have none.
Examples:
    >>> metric = evaluate.load("recall_at_k")
    >>> metric.compute(predictions=[[0.9, 0.8, 0.7]], references=[[3, 0, 1]], k=2)["recall@2"]
    0.5
"""


class RecallAtK(base.RankingMetric):
    """Recall@k."""

    texts = (_DESCRIPTION, _CITATION, _INPUTS)
    label = "recall"
    measure = staticmethod(ranking.recall)
