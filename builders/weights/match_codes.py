"""Match, mismatch or unspecified: what both estimators know of a query and a product (8.0.5).

In:  intents, a catalog, pairs of positions in them.
Out: the codes f_a = 1 (match), 0 (mismatch), 0.5 (unspecified by query or product); and every
     product's values as integer keys, equal where two products agree.

Queries and products are canonicalised by the comparators themselves, so a match here is what
R(q, p) calls one; only grades between the two are dropped. Text that stands in for a missing value
does not count as one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.relevance.comparators import VALUE, ComparatorConfig, Side, comparators
from fashion_rq_bench.relevance.intents import Intents
from fashion_rq_bench.relevance.pair_relevance import PairMatches, match_pairs
from fashion_rq_bench.relevance.settings import RelevanceConfig
from fashion_rq_bench.schema.domain import domain

__all__ = ["UNSPECIFIED", "codes_of", "match_codes", "product_keys", "product_sides"]

UNSPECIFIED = 0.5
_TEXT = ("description", "master_category", "sub_category", "article_type")


class _Same:
    """The similarity of strings that knows only equality."""

    name = "equal"

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        return np.fromiter((a == b for a, b in zip(left, right, strict=True)), float, len(left))


def match_codes(
    intents: Intents,
    products: pa.Table,
    query_index: ArrayLike,
    product_index: ArrayLike,
    config: ComparatorConfig | None = None,
) -> NDArray[np.float64]:
    """f_a of every pair (paper 8.0.5, Regression cross-check).

    Args:
        intents: one entry per query, see :func:`fashion_rq_bench.relevance.attr_score.match_pairs`.
        products: a catalog.
        query_index, product_index: (P,) positions.
        config: settings of the comparators.

    Returns:
        (P, A) of 1, 0 and 0.5, columns in the order of the domain's attributes. A product that goes
        with every choice (unisex) is unspecified for a query that names one.

    Raises:
        MetricInputError: as ``match_pairs``.
    """
    settings = RelevanceConfig(comparators=config or ComparatorConfig())
    return codes_of(
        match_pairs(intents, products, query_index, product_index, _Same(), config=settings)
    )


def codes_of(matches: PairMatches) -> NDArray[np.float64]:
    """(P, A) codes of matches made with a similarity that knows only equality."""
    noun, known = domain().type, domain().attributes
    full = np.array([one.threshold if one is noun else 1.0 for one in known])
    close = [one.settings.get("close", 0.7) if "either" in one.settings else -1.0 for one in known]
    unknown = np.isnan(matches.match) | matches.missing | matches.fallback
    unknown |= matches.match == np.array(close)
    return np.where(unknown, UNSPECIFIED, (matches.match >= full).astype(np.float64))


def product_sides(products: pa.Table, config: ComparatorConfig | None = None) -> list[Side]:
    """The products' canonical values of each attribute, without text that stands in for them."""
    sides = []
    for comparator in comparators().values():
        own = comparator.attribute
        stands_in = () if own is domain().type else {*_TEXT}.difference(own.columns)
        read = {*comparator.columns}.intersection(products.column_names).difference(stands_in)
        bare = products.select(sorted(read) or ["product_id"])
        sides.append(comparator.product_side(bare, config or ComparatorConfig()))
    return sides


def product_keys(sides: Sequence[Side]) -> NDArray[np.int64]:
    """(N, A) keys, equal where two products hold the same set of values; -1 where they hold none.

    Args:
        sides: of N products, from :func:`product_sides`.
    """
    return np.stack([_keys(side) for side in sides], axis=1)


def _keys(side: Side) -> NDArray[np.int64]:
    seen: dict[frozenset[str], int] = {}
    keys = np.array(
        [
            seen.setdefault(frozenset(value), len(seen)) if source == VALUE else -1
            for value, source in zip(side.values, side.source.tolist(), strict=True)
        ],
        dtype=np.int64,
    )
    return keys[side.codes]
