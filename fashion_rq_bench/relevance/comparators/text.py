"""Soft match of words, such as a material: best similarity (paper 8.0.4).

In:  lists of values of queries and products; the setting ``path``.
Out: max over query value v and product value u of sim(v, u). A product without values is compared
     by its description and, with ``path``, its category path, each as a single string.

A value that is a known spelling of a term of the vocabulary is compared as that term ("checks" and
"chequered" as "checked"). The catalog stage has already filled a product's values from
articleAttributes, else from the vocabulary found in its title and description. An attribute's
further columns count beside its own: Myntra's ``usage`` is an occasion, for it is what the catalog
says of it ("usage/occasion", paper 8.0.5).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import fashion_rq_bench.relevance.comparators._sides as sides
from fashion_rq_bench.relevance.comparators._base import Comparator, ComparatorConfig, Pairs
from fashion_rq_bench.schema.domain import per_domain
from fashion_rq_bench.words.folding import fold
from fashion_rq_bench.words.terms import synonyms
from fashion_rq_bench.words.tokens import token_key

__all__ = ["Text"]


@per_domain
def _terms(table: str | None) -> Mapping[str, str]:
    """Folded canonical term by token key of each of its spellings."""
    spellings = synonyms(table) if table else {}
    others = {token_key(other): fold(term) for term in spellings for other in spellings[term]}
    return others | {token_key(term): fold(term) for term in spellings}


class Text(Comparator):
    """Comparator of words."""

    soft = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The products' columns that are read."""
        return (*self.attribute.columns, "description", *(sides.LEVELS if self._path else ()))

    @property
    def _path(self) -> bool:
        return bool(self.attribute.settings.get("path", True))

    def query_value(self, value: str, /) -> str:
        """The term of which the whole value is a spelling, else the folded value."""
        return _terms(self.attribute.terms).get(token_key(value)) or fold(value)

    def product_side(self, products: pa.Table, config: ComparatorConfig, /) -> sides.Side:
        """Values as terms, else the description as it stands and the category path."""
        texts = [sides.column(products, "description")]
        if self._path:
            texts.append(sides.category_paths(products))
        return sides.text_side(self.own_values(products), texts, self.query_value)

    def scores(self, pairs: Pairs, /) -> NDArray[np.float64]:
        """sim(v, u); symmetric where the similarity is."""
        return pairs.similarity(pairs.queries, pairs.products)
