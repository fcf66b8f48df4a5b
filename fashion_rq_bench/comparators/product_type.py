"""Product type match: in the category path, else by similarity (paper 8.0.4, Product type).

In:  product types of queries; master, sub and article category of products.
Out: where the type is found in the path, max(0.85, sim to the leaf); else the best similarity over
     the three levels and the whole path.

"Found" is by whole tokens within a level, after folding case, hyphens and number: "kurta" is found
in "Kurtas" and "t-shirt" in "Tshirts", but "men" not in "Women".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.comparators._base import ComparatorConfig
from fashion_rq_bench.comparators._sides import (
    LEVELS,
    SEPARATOR,
    Side,
    category_levels,
    levels_of,
    path_of,
    plain,
    side_of,
)
from fashion_rq_bench.similarity import Similarity
from fashion_rq_bench.vocabulary import plural, token_key

__all__ = ["FOUND", "columns", "found", "product_side", "query_value", "scores"]

columns = LEVELS

FOUND = 0.85
"""Least match of a product type that is found in the path."""

query_value = plain


def product_side(products: pa.Table, config: ComparatorConfig) -> Side:
    """Category paths; a product without any level is missing."""
    return side_of(category_levels(products), lambda key: (SEPARATOR.join(levels_of(key)),))


def found(
    queries: Sequence[str], products: Sequence[str], config: ComparatorConfig
) -> NDArray[np.bool_]:
    """Whether ``queries[i]`` is found in the path ``products[i]``, shape (len(queries),).

    With ``match="paper"`` it is found as a literal substring of the lower-cased path.
    """
    if config.match == "paper":
        keys = {query: (query,) for query in queries}
        places = [path_of(path.split(SEPARATOR)) for path in products]
    else:
        # Of a word written only in the plural the singular is another word: "short", "brief".
        keys = {query: (token_key(query), token_key(plural(query))) for query in queries}
        places = ["|".join(map(token_key, path.split(SEPARATOR))) for path in products]
    hits = (
        any(key and key in place for key in keys[query])
        for query, place in zip(queries, places, strict=True)
    )
    return np.fromiter(hits, np.bool_, len(queries))


def scores(
    queries: Sequence[str],
    products: Sequence[str],
    similarity: Similarity,
    config: ComparatorConfig,
) -> NDArray[np.float64]:
    """Matches of types with joined paths, as :func:`product_side` gives them; not symmetric."""
    paths = [path.split(SEPARATOR) for path in products]
    hits = found(queries, products, config)
    rows: list[int] = []
    strings: list[str] = []
    for row, levels in enumerate(paths):
        candidates = levels[-1:] if hits[row] else [*levels, path_of(levels)]
        strings += filter(None, dict.fromkeys(candidates))
        rows += [row] * (len(strings) - len(rows))
    best = np.where(hits, FOUND, 0.0)
    np.maximum.at(best, rows, similarity([queries[row] for row in rows], strings))
    return best
