"""Settings of the context stage.

In:  values from TOML or the command line.
Out: :class:`ContextConfig`, checked.

The thresholds are those of the paper's supplement 8.0.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from fashion_rq_bench.errors import ConfigError

__all__ = ["ContextConfig"]


@dataclass(frozen=True)
class ContextConfig:
    """Knobs of the context stage.

    Attributes:
        siblings: nearest siblings compared with.
        min_delta: percentage points that make an exclusivity constraint.
        min_share: smallest share listed in a distribution.
        discriminating_coverage, discriminating_precision, discriminating_top: see signatures.
        coverage_coverage, coverage_precision, coverage_top: see signatures.
        max_combination: attributes per signature, 1 to 3.
        phrase_min_count: titles that must hold a phrase; phrase_limit: phrases kept.
        phrases_per_cluster: phrases listed in the evidence.
    """

    siblings: int = 3
    min_delta: float = 20.0
    min_share: float = 0.05
    discriminating_coverage: float = 0.10
    discriminating_precision: float = 0.90
    discriminating_top: int = 8
    coverage_coverage: float = 0.05
    coverage_precision: float = 0.50
    coverage_top: int = 20
    max_combination: int = 3
    phrase_min_count: int = 20
    phrase_limit: int = 1000
    phrases_per_cluster: int = 12

    def __post_init__(self) -> None:
        shares = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name, value in shares.items():
            if name.endswith(("share", "coverage", "precision")) and not 0 <= value <= 1:
                raise ConfigError(f"context.{name} is a share.", given=value, allowed=["0 to 1"])
        if not 1 <= self.max_combination <= 3:
            raise ConfigError(
                "context.max_combination is the attributes of a signature.",
                given=self.max_combination,
                allowed=[1, 2, 3],
            )
        if self.siblings < 0 or self.min_delta <= 0:
            raise ConfigError(
                "context.siblings cannot be negative, context.min_delta must be above 0.",
                given=(self.siblings, self.min_delta),
            )
