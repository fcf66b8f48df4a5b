"""What a comparator is.

In:  nothing.
Out: the ``Comparator`` protocol and the settings that comparators read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.relevance.comparators._sides import Side
from fashion_rq_bench.relevance.similarity import Similarity

__all__ = ["MATCH_MODES", "Comparator", "ComparatorConfig"]

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
                "Price thresholds must be two rising positive numbers.",
                given=self.price_thresholds,
            )


class Comparator(Protocol):
    """How one attribute's values are read and compared; a module or object of this package."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The products' columns that :meth:`product_side` reads."""
        ...

    def query_value(self, value: str, /) -> str:
        """One value of an intent in the form that ``scores`` compares; "" for no value at all."""
        ...

    def product_side(self, products: pa.Table, config: ComparatorConfig, /) -> Side:
        """The products' values of this attribute, factorised."""
        ...

    def scores(
        self,
        queries: Sequence[str],
        products: Sequence[str],
        similarity: Similarity,
        config: ComparatorConfig,
        /,
    ) -> NDArray[np.float64]:
        """Match in [0, 1] of ``queries[i]`` with ``products[i]``, shape (len(queries),)."""
        ...
