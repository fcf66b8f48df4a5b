"""Soft match of material, occasion, pattern and style: best similarity (paper 8.0.4).

In:  lists of values of queries and products.
Out: max over query value v and product value u of sim(v, u). A product without values is compared
     by its description and, except for material, its category path, each as a single string.

A value that is a known spelling of a term of the vocabulary is compared as that term ("checks" and
"chequered" as "checked"). The catalog stage has already filled a product's values from
articleAttributes, else from the vocabulary found in its title and description. Myntra's ``usage``
counts as an occasion, for it is what the catalog says of it ("usage/occasion", paper 8.0.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.relevance.comparators._base import ComparatorConfig
from fashion_rq_bench.relevance.comparators._sides import (
    LEVELS,
    Side,
    category_paths,
    column,
    joined,
    text_side,
)
from fashion_rq_bench.relevance.similarity import Similarity
from fashion_rq_bench.words.vocabulary import fold, synonyms, token_key

__all__ = ["MATERIAL", "OCCASION", "PATTERN", "STYLE", "SoftText"]


@cache
def _terms(attribute: str) -> Mapping[str, str]:
    """Folded canonical term by token key of each of its spellings."""
    spellings = synonyms(attribute)
    others = {token_key(other): fold(term) for term in spellings for other in spellings[term]}
    return others | {token_key(term): fold(term) for term in spellings}


@dataclass(frozen=True)
class SoftText:
    """Comparator of one soft attribute.

    Attributes:
        column: the products' column of value lists, also the name of its terms in the vocabulary.
        use_path: whether the category path stands in for missing values, beside the description.
        also: a column of single values that count beside the list's.
    """

    column: str
    use_path: bool = True
    also: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The products' columns that are read."""
        own = (self.column, self.also) if self.also else (self.column,)
        return (*own, "description", *(LEVELS if self.use_path else ()))

    def query_value(self, value: str, /) -> str:
        """The term of which the whole value is a spelling, else the folded value."""
        return _terms(self.column).get(token_key(value)) or fold(value)

    def product_side(self, products: pa.Table, config: ComparatorConfig, /) -> Side:
        """Values as terms, else the description as it stands and the category path."""
        texts = [column(products, "description")]
        if self.use_path:
            texts.append(category_paths(products))
        own = column(products, self.column)
        if self.also:
            own = joined([own, column(products, self.also)])
        return text_side(own, texts, self.query_value)

    def scores(
        self,
        queries: Sequence[str],
        products: Sequence[str],
        similarity: Similarity,
        config: ComparatorConfig,
        /,
    ) -> NDArray[np.float64]:
        """sim(v, u); symmetric where the similarity is."""
        return similarity(queries, products)


MATERIAL = SoftText("material", use_path=False)
OCCASION = SoftText("occasion", also="usage")
PATTERN = SoftText("pattern")
STYLE = SoftText("style")
