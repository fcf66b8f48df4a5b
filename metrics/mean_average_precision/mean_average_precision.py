"""MAP as an ``evaluate`` module; the definition stands in ``fashion_rq_bench.measures.ranking``."""

from __future__ import annotations

import fashion_rq_bench.measures.ranking as ranking
import fashion_rq_bench.metrics._base as base

_DESCRIPTION = """
Mean average precision: the mean, over a query's relevant products, of the precision at their rank,
then the mean over queries. Divided by all relevant products, also with a cut-off, as in trec_eval.
Tied products are scored by the exact expectation over their orders.
"""

_CITATION = """
F. McSherry and M. Najork, Computing information retrieval performance measures efficiently in the
presence of tied scores, ECIR 2008.
"""

_INPUTS = """
Args:
    predictions: for each query the list of its products' scores; higher is better.
    references: for each query the list of their grades, 0 or more, in the same order.
    k: cut-off, a list of them, or None (default) for the whole ranking.
    min_grade: lowest grade that counts as relevant (1).
    ties: "expected" (default) or "trec".
    ids: for each query the list of product ids, which order ties under "trec".
    ideal: for each query the grades of all judged products, if not all were retrieved.
    return_per_query: also give one value per query.
Returns:
    "map", or "map@10" for each k: mean in [0, 1] over the queries with a relevant product;
    "n": how many these are; "undefined": how many have none.
Examples:
    >>> metric = evaluate.load("mean_average_precision")
    >>> metric.compute(predictions=[[0.9, 0.8, 0.7]], references=[[3, 0, 1]])["map"]
    0.833...
"""


class MeanAveragePrecision(base.RankingMetric):
    """MAP, whole or at k."""

    texts = (_DESCRIPTION, _CITATION, _INPUTS)
    label = "map"
    k = None
    measure = staticmethod(ranking.average_precision)
