"""What a comparator is, and the settings that all of them read.

In:  an attribute: the columns it is read from, its comparator's settings.
Out: the class :class:`Comparator`, of which every module of this package makes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.relevance.comparators._sides import Side, column, joined, values_side
from fashion_rq_bench.relevance.similarity import Similarity
from fashion_rq_bench.schema.attributes import Attribute
from fashion_rq_bench.words.folding import fold
from fashion_rq_bench.words.terms import choice_of

__all__ = ["MATCH_MODES", "Comparator", "ComparatorConfig", "Pairs", "Valued"]

MATCH_MODES = ("tokens", "paper")


@dataclass(frozen=True)
class ComparatorConfig:
    """Settings of the comparators.

    Attributes:
        match: how a product type or brand is found: by whole tokens after folding case, hyphens
            and number ("tokens"), or as a literal lower-cased substring ("paper").
        price_thresholds: lower ends of the tiers mid-range and premium in the catalog's currency;
            the paper's are 700 and 2000 INR (budget < 700, mid-range 700–2000, premium > 2000).

    Raises:
        ConfigError: if the mode is unknown or the thresholds do not rise.
    """

    match: str = "tokens"
    price_thresholds: tuple[float, float] = (700.0, 2000.0)

    def __post_init__(self) -> None:
        if self.match not in MATCH_MODES:
            raise ConfigError(
                "There is no such way to match words.", given=self.match, allowed=MATCH_MODES
            )
        low, high = self.price_thresholds
        if not 0 < low < high < float("inf"):
            raise ConfigError(
                "Price thresholds must be two rising positive numbers.", given=self.price_thresholds
            )


@dataclass(frozen=True)
class Pairs:
    """Values to be compared, and by what.

    Attributes:
        queries, products: of equal length, as ``query_value`` and ``product_side`` give them.
        similarity: measure of the soft comparisons.
        config: settings of the comparators.
    """

    queries: Sequence[str]
    products: Sequence[str]
    similarity: Similarity
    config: ComparatorConfig

    def each(self) -> Iterator[tuple[str, str]]:
        """Pair by pair."""
        return zip(self.queries, self.products, strict=True)


@dataclass(frozen=True, eq=False)
class Comparator:
    """How one attribute's values are read and compared.

    Attributes:
        attribute: what is compared; its settings hold the comparator's numbers.
        soft: values are compared by similarity where they are not the same.
    """

    attribute: Attribute
    soft = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The products' columns that :meth:`product_side` reads."""
        return self.attribute.columns

    def own_values(self, products: pa.Table) -> pa.Array:
        """The values of all the attribute's columns, joined; null where there are none."""
        found = [column(products, name) for name in self.attribute.columns]
        return found[0] if len(found) == 1 else joined(found)

    def query_value(self, value: str, /) -> str:
        """One value of an intent in the form that ``scores`` compares; "" for no value at all."""
        raise NotImplementedError

    def product_side(self, products: pa.Table, config: ComparatorConfig, /) -> Side:
        """The products' values of this attribute, factorised."""
        return values_side(self.own_values(products), self.query_value)

    def scores(self, pairs: Pairs, /) -> NDArray[np.float64]:
        """Match in [0, 1] of each pair, shape (number of pairs,)."""
        raise NotImplementedError


class Valued(Comparator):
    """Comparator of one value out of a few, compared by itself alone."""

    def query_value(self, value: str, /) -> str:
        """The value that a word stands for, else the folded word itself."""
        return choice_of(self.attribute, value) or fold(value)

    def scores(self, pairs: Pairs, /) -> NDArray[np.float64]:
        """1 for the same value, else :meth:`match`; symmetric."""
        found = (1.0 if a == b else self.match(a, b) for a, b in pairs.each())
        return np.fromiter(found, np.float64)

    def match(self, query: str, product: str) -> float:
        """Match of two values that differ."""
        raise NotImplementedError
