"""Draws of the synthetic catalog: uniform numbers per product, and the lists they choose from.

In:  a plan and the words.
Out: :class:`Draw`, products before they have words; :class:`Lists`, the words as flat lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from fashion_rq_bench.builders.catalog.domains.fashion.plan import MAX_TRAITS, Plan
from fashion_rq_bench.builders.catalog.domains.fashion.text import Ragged, titled
from fashion_rq_bench.builders.catalog.domains.fashion.words import MATERIAL_KEYS, words

__all__ = ["CHANCES", "Draw", "Lists", "lists"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_TRAITS = tuple(f"{what}_{slot}" for what in ("usual", "trait") for slot in range(MAX_TRAITS))
CHANCES = (
    *_TRAITS,
    *("usual_occasion", "occasion", "usual_brand", "brand", "colour", "season", "year", "price"),
    *("title", "layout", "open", "story", "advice", "care", "detail", "pair", "fabric", "phrase"),
    *("line", "code", "look", "fashion"),
)
"""Names of the uniform numbers of a product, in order."""


@dataclass(frozen=True)
class Draw:
    """Products before they have words: (N,) leaves and (N, len(CHANCES)) numbers in [0, 1)."""

    plan: Plan
    leaf: Ints
    chance: Floats
    consistency: float

    def of(self, name: str) -> Floats:
        """One named number per product."""
        found: Floats = self.chance[:, CHANCES.index(name)]
        return found

    @property
    def type(self) -> Ints:
        """(N,) article types."""
        return self.plan.type[self.leaf]


@dataclass(frozen=True)
class Lists:
    """The words as ragged lists, by article type unless said otherwise.

    ``values`` and ``looks`` are by type and trait (type × MAX_TRAITS + trait).
    """

    values: Ragged
    looks: Ragged
    fragments: Ragged
    occasions: Ragged
    details: Ragged
    pairs: Ragged
    seasons: Ragged
    kinds: tuple[str, ...]
    kind_of: Ints
    made_of: Ints
    pattern_of: Ints


@cache
def lists() -> Lists:
    """The words, laid out once."""
    found = words()
    cells = [
        (key, values)
        for kind in found.types
        for key, values in [*kind.traits.items(), *[("", ())] * (MAX_TRAITS - len(kind.traits))]
    ]
    kinds = tuple(sorted({kind.kind for kind in found.types}))
    return Lists(
        values=Ragged.of([values for _, values in cells]),
        looks=Ragged.of([[_look(key, value) for value in values] for key, values in cells]),
        fragments=Ragged.of(
            [[f'"{key}": "{titled(value)}"' for value in values] for key, values in cells]
        ),
        occasions=Ragged.of([kind.occasions for kind in found.types]),
        details=Ragged.of([kind.details for kind in found.types]),
        pairs=Ragged.of([kind.pairs for kind in found.types]),
        # A season's weight as so many copies of it.
        seasons=Ragged.of(
            [
                [name for name, weight in kind.seasons.items() for _ in range(round(weight))]
                for kind in found.types
            ]
        ),
        kinds=kinds,
        kind_of=np.array([kinds.index(kind.kind) for kind in found.types]),
        made_of=np.array([_where(list(kind.traits), MATERIAL_KEYS) for kind in found.types]),
        pattern_of=np.array([_where(list(kind.traits), {"Pattern"}) for kind in found.types]),
    )


def _look(key: str, value: str) -> str:
    """The phrase of a trait in sentences; material and pattern have slots of their own."""
    return "" if key in MATERIAL_KEYS or key == "Pattern" else words().look(key, value)


def _where(keys: list[str], wanted: frozenset[str] | set[str]) -> int:
    return next((place for place, key in enumerate(keys) if key in wanted), -1)
