"""The planted hierarchy: which groups there are and what their products share.

In:  a seed and the words.
Out: :class:`Plan`: one row per planted leaf (article type × colour family × gender) with its weight
     and the traits its products tend to have.

Stands in for the catalog of the paper's section 4 where the truth must be known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from fashion_rq_bench.builders.catalog.domains.fashion.words import ArticleType, Words, words

__all__ = ["FAVOURITES", "MAX_TRAITS", "Plan", "plan"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MAX_TRAITS = 5
FAVOURITES = 3
_PLAN_STREAM = 2**31 - 1  # no chunk of products has this number


@dataclass(frozen=True)
class Plan:
    """Planted leaves, as arrays over them (P leaves).

    Attributes:
        type: (P,) position in ``words().types``.
        who: (P,) gender.
        family: (P,) colour family.
        share: (P,) probability of a product to be of the leaf; sums to 1.
        traits: (P, MAX_TRAITS) position of the usual value of each trait of the type, -1 for none.
        occasion: (P,) position of the usual occasion in the type's list.
        brands: (P, FAVOURITES) positions in ``brand_names``.
        brand_names, brand_tiers: all brands, each once.
        leaf_brands: per leaf, positions of the brands that may make it.
    """

    type: Ints
    who: tuple[str, ...]
    family: tuple[str, ...]
    share: Floats
    traits: Ints
    occasion: Ints
    brands: Ints
    brand_names: tuple[str, ...]
    brand_tiers: Ints
    leaf_brands: tuple[Ints, ...]

    def labels(self, words: Words) -> tuple[list[str], list[str], list[str]]:
        """Names of each leaf's group, article type and of the leaf itself: levels 1, 2 and 3."""
        types = [words.types[position] for position in self.type.tolist()]
        leaves = [
            f"{kind.name} / {family} / {who}"
            for kind, family, who in zip(types, self.family, self.who, strict=True)
        ]
        return [kind.group for kind in types], [kind.name for kind in types], leaves


@lru_cache(maxsize=8)
def plan(seed: int) -> Plan:
    """Draw the leaves of a seed; their number does not depend on the catalog's size."""
    found = words()
    rng = np.random.default_rng(np.random.SeedSequence([seed, _PLAN_STREAM]))
    brands = {name: tier for domain in found.brands.values() for name, tier in domain}
    names = list(brands)
    leaves = [
        (position, who, family, weight)
        for position, kind in enumerate(found.types)
        for who, family, weight in _leaves_of(kind, found, rng)
    ]
    kinds = np.array([leaf[0] for leaf in leaves])
    weights = np.array([leaf[3] for leaf in leaves])
    makers = tuple(_makers(found, found.types[leaf[0]], leaf[1], names) for leaf in leaves)
    return Plan(
        type=kinds,
        who=tuple(leaf[1] for leaf in leaves),
        family=tuple(leaf[2] for leaf in leaves),
        share=weights / weights.sum(),
        traits=np.stack([_usual_traits(found.types[kind], rng) for kind in kinds]),
        occasion=np.array([rng.integers(len(found.types[kind].occasions)) for kind in kinds]),
        brands=np.stack([_favourites(brands_of_leaf, rng) for brands_of_leaf in makers]),
        brand_names=tuple(names),
        brand_tiers=np.array(list(brands.values())),
        leaf_brands=makers,
    )


def _leaves_of(
    kind: ArticleType, found: Words, rng: np.random.Generator
) -> list[tuple[str, str, float]]:
    """(gender, colour family, weight) of a type: the larger its share, the more families."""
    leaves: list[tuple[str, str, float]] = []
    everyone = sum(kind.who.values())
    for who, part in kind.who.items():
        weight = kind.weight * part / everyone
        palette = found.palettes[kind.palette]
        count = min(len(palette), max(2, int(1 + np.log2(1 + weight / 4))))
        # Popular colours first, with chance for others.
        order = np.argsort(np.arange(len(palette)) + rng.normal(0, 2.0, len(palette)))[:count]
        zipf = 1.0 / np.arange(1, count + 1)
        shares = weight * zipf / zipf.sum()
        leaves += [
            (who, palette[i], share) for i, share in zip(order, shares.tolist(), strict=True)
        ]
    return leaves


def _usual_traits(kind: ArticleType, rng: np.random.Generator) -> Ints:
    usual = np.full(MAX_TRAITS, -1, dtype=np.int64)
    for position, values in enumerate(kind.traits.values()):
        # The first values of a list are the commonest; a leaf may settle on any of them.
        usual[position] = int(len(values) * rng.random() ** 1.5)
    return usual


def _makers(found: Words, kind: ArticleType, who: str, names: list[str]) -> Ints:
    domains = found.domains(kind, who)
    return np.array([names.index(name) for domain in domains for name, _ in found.brands[domain]])


def _favourites(brands: Ints, rng: np.random.Generator) -> Ints:
    return rng.choice(brands, size=FAVOURITES, replace=len(brands) < FAVOURITES)
