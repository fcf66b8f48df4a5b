"""The strings that a Similarity will be asked for.

In:  intents, products, pairs of both.
Out: the strings, sorted, so that their vectors can be made beforehand and ship with an edition.

Serves sim(·, ·) of the paper's section 8.0.4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.relevance.comparators import (
    VALUE,
    ComparatorConfig,
    comparators,
    soft_attributes,
)
from fashion_rq_bench.relevance.comparators._sides import category_levels, category_paths, levels_of
from fashion_rq_bench.relevance.comparators.category import Category
from fashion_rq_bench.relevance.intents import Intents, intent_sides, intents_array
from fashion_rq_bench.relevance.pair_relevance import match_pairs
from fashion_rq_bench.relevance.settings import RelevanceConfig
from fashion_rq_bench.schema.domain import domain

__all__ = ["catalog_strings", "intent_strings", "required_strings"]


class _Recorder:
    """A Similarity that notes what it is asked and finds nothing alike."""

    name = "recorder"

    def __init__(self) -> None:
        self.strings: set[str] = set()

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        self.strings.update(left, right)
        return np.zeros(len(left))


def required_strings(
    intents: Intents,
    products: pa.Table,
    query_index: ArrayLike,
    product_index: ArrayLike,
    *,
    config: RelevanceConfig | None = None,
) -> list[str]:
    """Every string for which :func:`match_pairs` on these pairs asks its Similarity, sorted.

    Which strings are asked for does not depend on the similarity's answers. Arguments and errors
    are those of :func:`match_pairs`.
    """
    recorder = _Recorder()
    match_pairs(intents, products, query_index, product_index, recorder, config=config)
    return sorted(recorder.strings)


def intent_strings(intents: Intents) -> list[str]:
    """Every value of a softly compared attribute in the intents, as compared, sorted."""
    sides = intent_sides(intents_array(intents))
    found = {
        string
        for name, side in zip(domain().names, sides, strict=True)
        if name in soft_attributes()
        for value in side.values
        for string in value
    }
    return sorted(found)


def catalog_strings(products: pa.Table) -> list[str]:
    """Every value and category path of a catalog that may be compared softly, sorted.

    Descriptions, which stand in for missing values, are left out: see :func:`required_strings`.
    """
    found = set(category_paths(products).drop_null().to_pylist())
    for key in category_levels(products).unique().drop_null().to_pylist():
        found.update(filter(None, levels_of(key)))
    for name in soft_attributes():
        comparator = comparators()[name]
        if isinstance(comparator, Category):  # its paths are in already
            continue
        own = comparator.attribute.columns
        bare = products.select([one for one in products.column_names if one in own])
        side = comparator.product_side(bare, ComparatorConfig())
        found.update(
            string
            for value, source in zip(side.values, side.source, strict=True)
            if source == VALUE
            for string in value
        )
    return sorted(found)
