"""Prices as people write them.

In:  numbers, or strings such as "Rs. 1,299", "₹1299", "1299.00 INR", "1.299,00 €", "$12.50".
Out: float64 prices, their currency, and how many could not be understood; price tiers.

Tiers are the paper's price hint (section 8.0.4).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.catalog.config import INR_TIERS, CatalogConfig
from fashion_rq_bench.schema.attributes import PRICE_TIERS

__all__ = ["Prices", "parse_price", "price_tiers", "prices", "tier_thresholds"]

_SIGNS = {
    "rs": "INR",
    "re": "INR",
    "₹": "INR",
    "₨": "INR",
    "rupee": "INR",
    "rupees": "INR",
    "$": "USD",
    "us$": "USD",
    "€": "EUR",
    "euro": "EUR",
    "euros": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₩": "KRW",
    "₺": "TRY",
    "r$": "BRL",
    "zł": "PLN",
    "kr": "SEK",
}
_NOISE = frozenset({"mrp", "price", "only", "from", "now"})
# Where a lone point before three digits groups thousands ("1.299 €"), as it does not in English.
_POINT_GROUPS = frozenset({"EUR", "BRL", "IDR", "VND", "TRY", "DKK", "CLP", "COP", "ARS"})
_NUMBER = re.compile(r"\d(?:[\d.,'’\s]*\d)?")
_SIGN = re.compile(r"[^\W\d_]+\$|[^\W\d_]+|[$€£¥₹₨₩₺]")


@dataclass(frozen=True)
class Prices:
    """A price column, understood.

    Attributes:
        values: float64, null where there was none or it was not understood.
        bad: which rows had a price that could not be used.
        currency: ISO code that most prices state, or None if none states any.
    """

    values: pa.DoubleArray
    bad: npt.NDArray[np.bool_]
    currency: str | None


@lru_cache(maxsize=65_536)
def parse_price(text: str) -> tuple[float | None, str | None]:
    """Amount and ISO currency of one price string; None where it is not one price.

    Understood: a currency sign or code on either side, Indian (1,29,999), English (1,299.50) and
    continental (1.299,50; 1 299,50) grouping, and Indian "/-". A comma before exactly three digits
    groups; a point before exactly three does so only in currencies written that way. Ranges and
    negative amounts are not a price.

    >>> parse_price("Rs. 1,29,999/-")
    (129999.0, 'INR')
    >>> parse_price("1.299,00 €")
    (1299.0, 'EUR')
    """
    found = _NUMBER.findall(text)
    if len(found) != 1:
        return None, None
    before, _, after = text.partition(found[0])
    signs = [word for word in _SIGN.findall(f"{before} {after}") if word.casefold() not in _NOISE]
    rest = _SIGN.sub("", f"{before} {after}").replace("/-", "")
    currency = _currency(signs)
    if re.search(r"[^\s.:,()]", rest) or len(signs) > 2 or (signs and currency is None):
        return None, None
    amount = _amount(found[0], currency)
    return (amount, currency) if amount is not None else (None, None)


def _currency(signs: list[str]) -> str | None:
    codes = {_SIGNS.get(sign.casefold()) or _iso(sign) for sign in signs}
    return codes.pop() if len(codes) == 1 else None


def _iso(sign: str) -> str | None:
    return sign.upper() if len(sign) == 3 and sign.isascii() and sign.isalpha() else None


def _amount(number: str, currency: str | None) -> float | None:
    number = re.sub(r"[\s'’]", "", number)
    last = max(number.rfind("."), number.rfind(","))
    if last < 0:
        return float(number)
    mark, other = number[last], ".,"[number[last] == "."]
    decimals = len(number) - last - 1
    grouping = number.count(mark) > 1 or (
        decimals == 3 and other not in number and (mark == "," or currency in _POINT_GROUPS)
    )
    whole = number if grouping else number[:last]
    fraction = "" if grouping else number[last + 1 :]
    groups = re.split(r"[.,]", whole)
    sound = all(len(group) in (2, 3) for group in groups[1:]) and len(groups[-1]) in (
        (3,) if len(groups) > 1 else range(1, 20)
    )
    return float(f"{''.join(groups)}.{fraction or 0}") if sound else None


def prices(column: pa.Array, stated: str | None) -> Prices:
    """Read a price column of numbers or strings.

    Args:
        column: numbers, or strings with null for no price.
        stated: the catalog's currency if it is known; prices that state another one are bad.
    """
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        values = column.cast(pa.float64())
        return _checked(values, pc.is_valid(values), stated)
    encoded = column.dictionary_encode()
    parsed = [parse_price(text) for text in encoded.dictionary.to_pylist()]
    currency = stated or _commonest(encoded, [code for _, code in parsed])
    amounts = pa.array(
        [None if code not in (None, currency) else amount for amount, code in parsed], pa.float64()
    )
    return _checked(amounts.take(encoded.indices), pc.is_valid(column), currency)


def _commonest(encoded: pa.DictionaryArray, codes: list[str | None]) -> str | None:
    counts: Counter[str] = Counter()
    for item in encoded.indices.value_counts().to_pylist():
        if item["values"] is not None and (code := codes[item["values"]]) is not None:
            counts[code] += item["counts"]
    return min(counts, key=lambda code: (-counts[code], code)) if counts else None


def _checked(values: pa.DoubleArray, given: pa.BooleanArray, currency: str | None) -> Prices:
    """Prices below zero and non-finite ones become null; whatever was given and is null is bad."""
    usable = pc.and_(pc.is_finite(values), pc.greater_equal(values, 0))
    values = pc.if_else(pc.fill_null(usable, False), values, None)
    bad = pc.and_(given, pc.is_null(values))
    return Prices(values, bad.to_numpy(zero_copy_only=False), currency)


def tier_thresholds(
    values: pa.Array | pa.ChunkedArray, currency: str | None, config: CatalogConfig
) -> tuple[float, float] | None:
    """The two thresholds that hold for this catalog, or None if it has no price."""
    if config.price_tiers is not None:
        return config.price_tiers
    quantiles = config.price_quantiles
    if quantiles is None and currency in (None, "INR"):
        return INR_TIERS
    low, high = pc.quantile(values, q=list(quantiles or (1 / 3, 2 / 3))).to_pylist()
    return None if low is None else (low, high)


def price_tiers(
    values: pa.Array | pa.ChunkedArray, thresholds: tuple[float, float] | None
) -> pa.Array | pa.ChunkedArray:
    """One of ``PRICE_TIERS`` per price, null where there is none.

    Below the first threshold is budget, above the second premium (paper 8.0.4).
    """
    if thresholds is None:
        return pa.nulls(len(values), pa.string())
    budget, middle, premium = PRICE_TIERS
    above = pc.if_else(pc.greater(values, thresholds[1]), premium, middle)
    return pc.if_else(pc.less(values, thresholds[0]), budget, above)
