"""Settings of the catalog stage.

In:  values from TOML or the command line.
Out: :class:`CatalogConfig`, checked.

Price tiers default to the paper's INR thresholds (section 8.0.4: below 700, to 2000, above).
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fashion_rq_bench.builders.catalog.domains.fashion.config import SyntheticConfig
from fashion_rq_bench.errors import ConfigError

__all__ = ["INR_TIERS", "CatalogConfig"]

INR_TIERS = (700.0, 2000.0)
"""Below the first: budget; from the first to the second: mid-range; above the second: premium."""


@dataclass(frozen=True)
class CatalogConfig:
    """How to read a catalog.

    Attributes:
        columns: our column = the source's column. What is not named is found by well-known names
            (``columns.aliases``); an empty string leaves a column out.
        null_values: strings that mean "no value", compared after trimming; counted apart.
        encoding: of CSV, TSV and JSON files.
        currency: of prices, e.g. "INR"; None takes it from the prices' own signs.
        price_tiers: two thresholds in the catalog's currency; None means INR 700 and 2000 where
            prices are in INR or of no stated currency, else the terciles of the prices.
        price_quantiles: two shares in (0, 1) that set the thresholds from the prices instead.
        duplicate_ids: "error", or "quarantine" to keep the first row of an id and set aside the
            later ones.
        infer_brand: fill a missing brand from the title, marked ``brand_inferred``.
        infer_age: fill a missing age group from the title and the gender, counted in the report.
        seed: of the synthetic catalog; read catalogs do not depend on it.
        synthetic: shape and faults of the synthetic catalog.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    null_values: tuple[str, ...] = ("NA", "N/A", "n/a", "NULL", "null", "None", "NaN", "nan")
    encoding: str = "utf-8"
    currency: str | None = None
    price_tiers: tuple[float, float] | None = None
    price_quantiles: tuple[float, float] | None = None
    duplicate_ids: Literal["error", "quarantine"] = "error"
    infer_brand: bool = True
    infer_age: bool = True
    seed: int = 0
    synthetic: SyntheticConfig = field(default_factory=SyntheticConfig)

    def __post_init__(self) -> None:
        if self.price_tiers is not None and self.price_quantiles is not None:
            raise ConfigError("Set price_tiers or price_quantiles, not both.")
        try:
            codecs.lookup(self.encoding)
        except LookupError as error:
            raise ConfigError("This text encoding is not known.", given=self.encoding) from error
        _check_rising("price_tiers", self.price_tiers, float("inf"))
        _check_rising("price_quantiles", self.price_quantiles, 1.0)
        if self.duplicate_ids not in ("error", "quarantine"):
            raise ConfigError(
                "duplicate_ids cannot be this.",
                given=self.duplicate_ids,
                allowed=("error", "quarantine"),
            )
        if self.seed < 0:
            raise ConfigError("A seed is zero or more.", given=self.seed)


def _check_rising(name: str, pair: tuple[float, float] | None, top: float) -> None:
    if pair is not None and not 0 < pair[0] < pair[1] < top:
        upper = "" if top == float("inf") else f", below {top:g}"
        raise ConfigError(f"{name} takes two rising numbers above 0{upper}.", given=pair)
