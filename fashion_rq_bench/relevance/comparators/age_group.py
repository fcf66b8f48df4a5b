"""Age match: distance on an ordered scale (paper 8.0.4, Age group).

In:  age words of queries and products ("kids", "Adults-Men", "toddler").
Out: max(0, 1 − 0.35 · distance) on baby, toddler, kids, adult; 0.3 for a word off the scale.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.relevance.comparators._base import ComparatorConfig
from fashion_rq_bench.relevance.comparators._sides import Side, column, values_side
from fashion_rq_bench.relevance.similarity import Similarity
from fashion_rq_bench.words.vocabulary import AGE_GROUPS, age_group, fold

__all__ = ["columns", "product_side", "query_value", "scores"]

columns = ("age_group",)

_DECAY = 0.35
_OFF_SCALE = 0.3


def query_value(value: str) -> str:
    """The age group a word stands for, else the folded word itself."""
    return age_group(value) or fold(value)


def product_side(products: pa.Table, config: ComparatorConfig) -> Side:
    """Values of the column ``age_group``."""
    return values_side(column(products, "age_group"), query_value)


def scores(
    queries: Sequence[str],
    products: Sequence[str],
    similarity: Similarity,
    config: ComparatorConfig,
) -> NDArray[np.float64]:
    """Matches of age groups as :func:`query_value` gives them; symmetric."""
    pairs = zip(queries, products, strict=True)
    return np.fromiter((_match(query, product) for query, product in pairs), np.float64)


def _match(query: str, product: str) -> float:
    if query == product:
        return 1.0
    if query not in AGE_GROUPS or product not in AGE_GROUPS:
        return _OFF_SCALE
    return max(0.0, 1.0 - _DECAY * abs(AGE_GROUPS.index(query) - AGE_GROUPS.index(product)))
