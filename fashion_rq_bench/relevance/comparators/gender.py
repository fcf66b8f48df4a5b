"""Gender match: exact after synonyms (paper 8.0.4, Gender).

In:  gender words of queries and products ("men", "boys", "Women", "unisex").
Out: 1.0 for the same gender, 0.7 where one side is unisex, 0.1 otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.relevance.comparators._base import ComparatorConfig
from fashion_rq_bench.relevance.comparators._sides import Side, column, values_side
from fashion_rq_bench.relevance.similarity import Similarity
from fashion_rq_bench.words.vocabulary import fold, gender

__all__ = ["columns", "product_side", "query_value", "scores"]

columns = ("gender",)


def query_value(value: str) -> str:
    """The gender a word stands for, else the folded word itself."""
    return gender(value) or fold(value)


def product_side(products: pa.Table, config: ComparatorConfig) -> Side:
    """Values of the column ``gender``."""
    return values_side(column(products, "gender"), query_value)


def scores(
    queries: Sequence[str],
    products: Sequence[str],
    similarity: Similarity,
    config: ComparatorConfig,
) -> NDArray[np.float64]:
    """Matches of genders as :func:`query_value` gives them; symmetric."""
    pairs = zip(queries, products, strict=True)
    return np.fromiter((_match(query, product) for query, product in pairs), np.float64)


def _match(query: str, product: str) -> float:
    if query == product:
        return 1.0
    return 0.7 if "unisex" in (query, product) else 0.1
