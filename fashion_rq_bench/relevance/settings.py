"""Settings of R(q, p): the attributes' weights and what the comparators need to know.

In:  weights by attribute, or none for the domain's own (fashion's are the paper's Tables 3 and 10).
Out: a :class:`RelevanceConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.relevance.comparators import ComparatorConfig
from fashion_rq_bench.schema.domain import domain, per_domain

__all__ = ["RelevanceConfig", "default_weights"]


@per_domain
def default_weights() -> Mapping[str, float]:
    """The domain's weights w_a; fashion's are the paper's, distilled from its cross-encoder."""
    return MappingProxyType({one.name: one.weight for one in domain().attributes})


@dataclass(frozen=True)
class RelevanceConfig:
    """Settings of R(q, p).

    Attributes:
        weights: w_a by attribute; they need not sum to one. An attribute left out weighs nothing.
        comparators: settings of the comparators.

    Raises:
        ConfigError: for an unknown attribute, a negative or non-finite weight, or no weight at all.
    """

    weights: Mapping[str, float] = field(default_factory=default_weights)
    comparators: ComparatorConfig = field(default_factory=ComparatorConfig)

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if name not in domain().names:
                raise ConfigError(
                    "A weight is given for an unknown attribute.",
                    given=name,
                    allowed=domain().names,
                )
            if not (np.isfinite(weight) and weight >= 0):
                raise ConfigError(
                    f"The weight of {name!r} must be a finite number of at least 0.", given=weight
                )
        if not sum(self.weights.values()) > 0:
            raise ConfigError(
                "At least one weight must be above 0.",
                given=dict(self.weights),
                fix="Leave weights out for the paper's.",
            )

    def vector(self) -> NDArray[np.float64]:
        """(A,) weights in the order of the domain's attributes."""
        return np.array([self.weights.get(name, 0.0) for name in domain().names], dtype=np.float64)
