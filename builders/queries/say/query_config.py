"""How many queries, how long, and who writes them.

In:  settings.
Out: :class:`QueryConfig`, checked as it is made.

Counts are those of the paper's section 3 (6 to 12 queries per cluster).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fashion_rq_bench.errors import ConfigError

__all__ = ["QueryConfig"]


@dataclass(frozen=True)
class QueryConfig:
    """Knobs of the queries stage.

    Attributes:
        generator: "grammar", offline and deterministic, or "llm" (docs/language-models.md).
        seed: seed of every choice.
        min_queries, max_queries: queries drafted per cluster; leaves get ``min_queries`` to
            ``min_queries + 2``, higher clusters as many as their product types need.
        least_queries: queries a cluster keeps even if the verifier objects, the best of them.
        min_words, max_words: length of a query.
        noise: share of the queries typed in haste (see ``noise.py``), labelled in ``source``.
        check: run the verifier, revise what fails once, and drop what fails again.
    """

    generator: Literal["grammar", "llm"] = "grammar"
    seed: int = 0
    min_queries: int = 6
    max_queries: int = 12
    least_queries: int = 2
    min_words: int = 3
    max_words: int = 26
    noise: float = 0.0
    check: bool = True

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ConfigError("queries.seed must not be negative.", given=self.seed)
        if not 1 <= self.min_queries <= self.max_queries:
            raise ConfigError(
                "queries.min_queries and max_queries must be a rising pair from 1.",
                given=(self.min_queries, self.max_queries),
            )
        if not 0 <= self.least_queries <= self.min_queries:
            raise ConfigError(
                "queries.least_queries must be between 0 and queries.min_queries.",
                given=self.least_queries,
            )
        if not 0 <= self.noise <= 1:
            raise ConfigError("queries.noise is a share.", given=self.noise, allowed=["0 to 1"])
        if not 1 <= self.min_words <= self.max_words:
            raise ConfigError(
                "queries.min_words and max_words must be a rising pair from 1.",
                given=(self.min_words, self.max_words),
            )
