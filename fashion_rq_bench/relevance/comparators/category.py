"""Product type match: in the category path, else by similarity (paper 8.0.4, Product type).

In:  product types of queries; master, sub and article category of products; the setting ``found``.
Out: where the type is found in the path, max(``found``, sim to the leaf); else the best similarity
     over the three levels and the whole path.

"Found" is by whole tokens within a level, after folding case, hyphens and number: "kurta" is found
in "Kurtas" and "t-shirt" in "Tshirts", but "men" not in "Women".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import fashion_rq_bench.relevance.comparators._sides as sides
from fashion_rq_bench.relevance.comparators._base import Comparator, ComparatorConfig, Pairs
from fashion_rq_bench.words.folding import plain
from fashion_rq_bench.words.number import plural
from fashion_rq_bench.words.tokens import token_key

__all__ = ["Category", "found"]


def found(
    queries: Sequence[str], products: Sequence[str], config: ComparatorConfig
) -> NDArray[np.bool_]:
    """Whether ``queries[i]`` is found in the path ``products[i]``, shape (len(queries),).

    With ``match="paper"`` it is found as a literal substring of the lower-cased path.
    """
    keys = {query: _keys(query, config) for query in set(queries)}
    places = {path: _place(path, config) for path in set(products)}
    hits = (
        any(key in places[path] for key in keys[query])
        for query, path in zip(queries, products, strict=True)
    )
    return np.fromiter(hits, np.bool_, len(queries))


def _keys(query: str, config: ComparatorConfig) -> set[str]:
    if config.match == "paper":
        return {query}
    # Of a word written only in the plural the singular is another word: "short", "brief".
    return {token_key(query), token_key(plural(query))} - {""}


def _place(path: str, config: ComparatorConfig) -> str:
    levels = path.split(sides.SEPARATOR)
    return sides.path_of(levels) if config.match == "paper" else "|".join(map(token_key, levels))


class Category(Comparator):
    """Comparator of product types."""

    soft = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The three levels of the category path."""
        return sides.LEVELS

    @property
    def least(self) -> float:
        """Least match of a product type that is found in the path."""
        return float(self.attribute.settings.get("found", 0.85))

    def query_value(self, value: str, /) -> str:
        """The type without case."""
        return plain(value)

    def product_side(self, products: pa.Table, config: ComparatorConfig, /) -> sides.Side:
        """Category paths; a product without any level is missing."""
        return sides.side_of(
            sides.category_levels(products),
            lambda key: (sides.SEPARATOR.join(sides.levels_of(key)),),
        )

    def scores(self, pairs: Pairs, /) -> NDArray[np.float64]:
        """Matches of types with joined paths, as :meth:`product_side` gives them; not symmetric."""
        hits = found(pairs.queries, pairs.products, pairs.config)
        compared = {path: _compared(path) for path in set(pairs.products)}
        rows: list[int] = []
        strings: list[str] = []
        for row, (path, hit) in enumerate(zip(pairs.products, hits.tolist(), strict=True)):
            leaf, everything = compared[path]
            strings += leaf if hit else everything
            rows += [row] * (len(strings) - len(rows))
        best = np.where(hits, self.least, 0.0)
        asked = [pairs.queries[row] for row in rows]
        np.maximum.at(best, rows, pairs.similarity(asked, strings))
        return best


def _compared(path: str) -> tuple[list[str], list[str]]:
    """The leaf, if there is one, and every distinct level with the whole path."""
    levels = path.split(sides.SEPARATOR)
    everything = dict.fromkeys([*levels, sides.path_of(levels)])
    return [leaf for leaf in levels[-1:] if leaf], [part for part in everything if part]
