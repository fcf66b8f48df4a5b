"""Price match: the same of three tiers (paper 8.0.4, Price hint).

In:  price hints of queries ("budget", "under 500"); price tiers or prices of products; the setting
     ``other``.
Out: 1.0 for the same tier, ``other`` otherwise (a hint that cannot be read included).
"""

from __future__ import annotations

import math
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fashion_rq_bench.relevance.comparators._base import Comparator, ComparatorConfig, Pairs
from fashion_rq_bench.relevance.comparators._sides import Side, column, values_side
from fashion_rq_bench.schema.attributes import PRICE_TIERS
from fashion_rq_bench.words.folding import fold, plain

__all__ = ["Tier", "tier_of_hint", "tier_of_price"]

_WORDS = (
    "budget cheap affordable inexpensive economical economy low",
    "mid midrange moderate moderately medium average",
    "premium luxury luxurious expensive high designer upscale costly",
)
_TIER_OF_WORD = {
    word: tier for tier, words in zip(PRICE_TIERS, _WORDS, strict=True) for word in words.split()
}
_NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s*(k\b)?")
_BELOW = re.compile(r"\b(under|below|less|within|upto|up to|max|maximum|cheaper)\b|<")
_ABOVE = re.compile(r"\b(over|above|more|from|min|minimum|at least)\b|>|\+")


def tier_of_price(price: float, config: ComparatorConfig) -> str:
    """Tier of a price in the catalog's currency; the upper threshold itself is mid-range."""
    low, high = config.price_thresholds
    return PRICE_TIERS[0] if price < low else PRICE_TIERS[1] if price <= high else PRICE_TIERS[2]


def tier_of_hint(hint: str, config: ComparatorConfig) -> str | None:
    """Tier that a price hint names, or None.

    A number is put into its tier: "under 700" just below it, "over 2000" just above, a range by
    its middle. Without a number the first word that names a tier counts.
    """
    numbers = [
        float(digits.replace(",", "")) * (1000.0 if thousand else 1.0)
        for digits, thousand in _NUMBER.findall(hint)
    ]
    if len(numbers) == 1:
        towards = -math.inf if _BELOW.search(hint) else math.inf if _ABOVE.search(hint) else None
        price = numbers[0] if towards is None else math.nextafter(numbers[0], towards)
        return tier_of_price(price, config)
    if numbers:
        return tier_of_price((numbers[0] + numbers[1]) / 2, config)
    named = (_TIER_OF_WORD.get(word) for word in fold(hint).split())
    return next(filter(None, named), None)


class Tier(Comparator):
    """Comparator of price hints."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The tier, and the price where there is none."""
        return ("price_tier", "price")

    def query_value(self, value: str, /) -> str:
        """The hint without case."""
        return plain(value)

    def product_side(self, products: pa.Table, config: ComparatorConfig, /) -> Side:
        """The column ``price_tier``; where it is null, the tier of ``price`` by the thresholds."""
        tiers = column(products, "price_tier")
        if "price" in products.column_names:
            price = products.column("price").combine_chunks().cast(pa.float64())
            low, high = config.price_thresholds
            budget, middle, premium = (pa.scalar(tier, pa.large_string()) for tier in PRICE_TIERS)
            by_price = pc.if_else(
                pc.less(price, low), budget, pc.if_else(pc.less_equal(price, high), middle, premium)
            )
            tiers = pc.coalesce(tiers, by_price)
        return values_side(tiers, plain)

    def scores(self, pairs: Pairs, /) -> NDArray[np.float64]:
        """1.0 where the hint's tier is the product's, else ``other``."""
        tiers = ([tier_of_hint(value, pairs.config) for value in pair] for pair in pairs.each())
        same = [asked is not None and asked == own for asked, own in tiers]
        other = float(self.attribute.settings.get("other", 0.3))
        return np.where(np.array(same, dtype=bool), 1.0, other)
