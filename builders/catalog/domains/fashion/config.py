"""Shape and faults of the synthetic catalog.

In:  values from TOML.
Out: :class:`SyntheticConfig`, checked.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from fashion_rq_bench.errors import ConfigError

__all__ = ["SyntheticConfig"]


@dataclass(frozen=True)
class SyntheticConfig:
    """Rates are shares of products, in [0, 1].

    Attributes:
        consistency: how often a product has the usual trait of its planted leaf (material, pattern,
            fit, occasion, brand) instead of any that its article type allows, per trait.
        missing: rate at which brand, price, age group, season and description are absent, each.
        no_attributes: rate at which the key-value attributes are absent.
        na: rate at which colour, usage and the pattern attribute say "NA", each.
        entities: rate of descriptions with broken or doubly escaped entities.
        near_duplicates: rate of products that repeat another in all but id, price and, for half of
            them, colour.
    """

    consistency: float = 0.75
    missing: float = 0.03
    no_attributes: float = 0.15
    na: float = 0.01
    entities: float = 0.05
    near_duplicates: float = 0.03

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if not 0 <= value <= 1:
                raise ConfigError(f"synthetic.{item.name} is a share between 0 and 1.", given=value)
