"""One comparator m_a per attribute, by its settings (paper 8.0.4).

In:  values of an attribute, of queries and of products.
Out: matches in [0, 1], and where each product's value came from.

Every comparator reads a query's value (``query_value``), factorises the products' values
(``product_side``) and scores pairs of strings (``scores``); the best over all pairs of values
counts. A product with nothing to compare gets the neutral score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.relevance.comparators._base import (
    MATCH_MODES,
    Comparator,
    ComparatorConfig,
    Pairs,
)
from fashion_rq_bench.relevance.comparators._sides import (
    FALLBACK,
    MISSING,
    VALUE,
    Side,
    best_over_values,
    distinct,
    values_side,
)
from fashion_rq_bench.relevance.comparators.category import Category
from fashion_rq_bench.relevance.comparators.choice import Choice
from fashion_rq_bench.relevance.comparators.color import Color
from fashion_rq_bench.relevance.comparators.name import Name
from fashion_rq_bench.relevance.comparators.scale import Scale
from fashion_rq_bench.relevance.comparators.text import Text
from fashion_rq_bench.relevance.comparators.tier import Tier
from fashion_rq_bench.relevance.similarity import Similarity
from fashion_rq_bench.schema.attributes import COMPARATORS
from fashion_rq_bench.schema.domain import domain, per_domain

__all__ = [
    "FALLBACK",
    "MATCH_MODES",
    "MISSING",
    "NEUTRAL",
    "VALUE",
    "Comparator",
    "ComparatorConfig",
    "Pairs",
    "Side",
    "comparators",
    "match_attribute",
    "query_side",
    "soft_attributes",
]

NEUTRAL = 0.5
"""Match of a product that has nothing to compare: missing metadata is not a mismatch."""

_KINDS: Mapping[str, type[Comparator]] = dict(
    zip(COMPARATORS, (Category, Choice, Scale, Color, Text, Name, Tier), strict=True)
)


@per_domain
def comparators() -> Mapping[str, Comparator]:
    """The comparator of each of the domain's attributes, in their order."""
    return MappingProxyType({one.name: _KINDS[one.comparator](one) for one in domain().attributes})


def soft_attributes() -> tuple[str, ...]:
    """Names of the attributes that may be compared by similarity."""
    return tuple(name for name, one in comparators().items() if one.soft)


def query_side(attribute: str, keys: pa.Array) -> Side:
    """Values of an attribute in intents, factorised; MISSING where unexpressed."""
    return values_side(keys, comparators()[attribute].query_value)


def match_attribute(
    attribute: str,
    query: Side,
    products: pa.Table,
    rows: NDArray[np.int64],
    product_rows: NDArray[np.int64],
    similarity: Similarity,
    config: ComparatorConfig,
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Match of one attribute over pairs.

    Args:
        attribute: a name of the domain's.
        query: the intents' values, as :func:`query_side` gives them.
        products: the products' columns.
        rows: (U,) row of ``query`` of each pair; each must express the attribute.
        product_rows: (U,) row of ``products`` of each pair.
        similarity: measure of the soft comparisons.
        config: settings of the comparators.

    Returns:
        (U,) matches in [0, 1], and (U,) VALUE, FALLBACK or MISSING: what was compared.

    Raises:
        MetricInputError: if the similarity gives something other than numbers.
    """
    comparator = comparators()[attribute]
    used, local = distinct(product_rows, len(products))
    product = comparator.product_side(_columns(products, comparator.columns, used), config)
    keys = query.codes[rows] * len(product.values) + product.codes[local]
    pairs, inverse = distinct(keys, len(query.values) * len(product.values))
    left, right = np.divmod(pairs, len(product.values))
    source = product.source[right]
    out = np.full(len(pairs), NEUTRAL)
    known = np.flatnonzero(source != MISSING)
    out[known] = best_over_values(
        *(query.values, product.values, left[known], right[known]),
        lambda one, two: _checked(comparator, Pairs(one, two, similarity, config)),
    )
    return out[inverse], source[inverse]


def _columns(products: pa.Table, names: Sequence[str], rows: NDArray[np.int64]) -> pa.Table:
    """Some rows of some columns; a column that is not there is null."""
    nothing = pa.nulls(len(rows), pa.large_string())
    present = products.column_names
    return pa.table(
        {name: products[name].take(rows) if name in present else nothing for name in names}
    )


def _checked(comparator: Comparator, pairs: Pairs) -> NDArray[np.float64]:
    scores = comparator.scores(pairs)
    if not np.isfinite(scores).all():
        raise MetricInputError("A similarity gave NaN or infinity.", given=pairs.similarity.name)
    return np.clip(scores, 0.0, 1.0)
