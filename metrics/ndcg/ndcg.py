"""nDCG@k as an ``evaluate`` module; defined in ``fashion_rq_bench.measures.ranking``."""

from __future__ import annotations

import fashion_rq_bench.measures.ranking as ranking
import fashion_rq_bench.metrics._base as base

_DESCRIPTION = """
nDCG@k: discounted cumulative gain of the first k ranks, divided by that of the best order.
Gains are linear in the grade; tied products are scored by the expectation over their orders.
"""

_CITATION = """
K. Järvelin and J. Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20(4), 2002.
"""

_INPUTS = """
Args:
    predictions: for each query the list of its products' scores; higher is better.
    references: for each query the list of their grades, 0 or more, in the same order.
    k: cut-off (10), or a list of cut-offs.
    gains: "linear" (default), "exponential", or a mapping from grade to gain.
    ties: "expected" (default) or "trec".
    ids: for each query the list of product ids, which order ties under "trec".
    ideal: for each query the grades of all judged products, if not all were retrieved.
    return_per_query: also give one value per query.
Returns:
    "ndcg@10" (one for each k): mean in [0, 1] over the queries with a relevant product;
    "n": how many these are; "undefined": how many have none.
Examples:
    >>> metric = evaluate.load("ndcg")
    >>> metric.compute(predictions=[[0.9, 0.8, 0.7]], references=[[3, 0, 1]], k=2)["ndcg@2"]
    0.826...
"""


class Ndcg(base.RankingMetric):
    """nDCG@k."""

    texts = (_DESCRIPTION, _CITATION, _INPUTS)
    label = "ndcg"
    measure = staticmethod(ranking.ndcg)
