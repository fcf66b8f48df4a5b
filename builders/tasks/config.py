"""How many products a pool takes, and how many anchors are kept.

In:  the [tasks] of a build's configuration.
Out: a checked :class:`TaskConfig`.
"""

from __future__ import annotations

from dataclasses import dataclass

from fashion_rq_bench.errors import ConfigError

__all__ = ["TaskConfig"]


@dataclass(frozen=True)
class TaskConfig:
    """Sizes of the pools; tiers are in the order Exact, Sibling, Related, Irrelevant.

    Attributes:
        seed: seed of every draw.
        ranking: products a T1 pool takes per tier; fewer where a tier is short.
        min_ranking: an anchor with a smaller T1 pool is left out.
        classification: products a T2 pool takes per tier, out of the T1 pool.
        min_classification: an anchor with a smaller T2 pool is left out.
        distractors: sibling leaves a T3 pool draws one product each from.
        min_distractors: an anchor with fewer such leaves is left out of T3.
        max_anchors: keep at most so many anchors, spread over article types; None keeps all.
    """

    seed: int = 0
    ranking: tuple[int, int, int, int] = (3, 4, 4, 4)
    min_ranking: int = 12
    classification: tuple[int, int, int, int] = (2, 2, 2, 2)
    min_classification: int = 7
    distractors: int = 4
    min_distractors: int = 3
    max_anchors: int | None = None

    def __post_init__(self) -> None:
        """Check that every pool can be filled as described."""
        if self.seed < 0:
            raise ConfigError("tasks.seed must not be negative.", given=self.seed)
        if min(*self.ranking, *self.classification) < 1:
            raise ConfigError("Every tier of a pool takes at least one product.", given=self)
        if any(few > many for few, many in zip(self.classification, self.ranking, strict=True)):
            raise ConfigError(
                "T2 pools are subsets of T1 pools: no tier of tasks.classification may exceed "
                f"tasks.ranking {self.ranking}.",
                given=self.classification,
            )
        for name, least, most in (
            ("min_ranking", self.min_ranking, sum(self.ranking)),
            ("min_classification", self.min_classification, sum(self.classification)),
            ("min_distractors", self.min_distractors, self.distractors),
        ):
            if not 1 <= least <= most:
                raise ConfigError(f"tasks.{name} must lie in 1 … {most}.", given=least)
        if self.max_anchors is not None and self.max_anchors < 1:
            raise ConfigError("tasks.max_anchors must be at least 1.", given=self.max_anchors)
