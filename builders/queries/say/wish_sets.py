"""Which wishes to put into a query: what the cluster holds and its neighbours do not.

In:  which product holds which attribute value, and the prefix tree.
Out: per cluster, sets of wishes with the share of the cluster's, the siblings', the related and the
     other products that satisfy all of them.

Paper, section 3 (queries must be exhaustive and exclusive, grounded, without unsupported universal
claims). A wish is an attribute with one value, or a range of values ("black or brown"); a set of
wishes is used only if nearly all products of the cluster satisfy the whole set. Sets are found by
beam search over measured shares, so exclusivity is counted on products, not read off words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from fashion_rq_bench.builders.context.incidence import Incidence, Ints
from fashion_rq_bench.builders.queries.say.candidate_wishes import Wish, candidates, masks
from fashion_rq_bench.builders.queries.say.lexicon import person_forms
from fashion_rq_bench.schema.domain import domain

__all__ = ["Neighbourhood", "PrefixIndex", "SearchRule", "WishSet", "WishSpace"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_MOST_EXTRA = 3
_EXTRA_VALUE = 0.02
_EXTRA_WISH = 0.01


@dataclass(frozen=True)
class WishSet:
    """A conjunction of wishes and the share of each tier's products that satisfy all of it.

    Shares are in [0, 1]; NaN where the tier is empty. ``score`` is what the search maximises;
    ``key`` numbers the wishes within their :class:`WishSpace`.
    """

    key: tuple[int, ...]
    wishes: tuple[Wish, ...]
    exact: float
    sibling: float
    related: float
    other: float
    score: float

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        """Attribute to values."""
        return {wish.attribute: wish.values for wish in self.wishes}


@dataclass(frozen=True)
class Neighbourhood:
    """Product numbers of a cluster and of the tiers around it."""

    exact: Ints
    sibling: Ints
    related: Ints
    other: Ints

    @property
    def tiers(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The four tiers, nearest first."""
        return self.exact, self.sibling, self.related, self.other


class PrefixIndex:
    """Products sorted by their codes, so that a prefix is a run of them.

    Args:
        codes: (N, L) codes of the products.
        limit: products looked at per tier beyond the cluster; larger tiers are thinned evenly.
    """

    def __init__(self, codes: Ints, limit: int = 1500) -> None:
        self._order = np.lexsort(codes.T[::-1])
        self._codes = codes[self._order]
        self._limit = limit

    def members(self, prefix: Sequence[int]) -> Ints:
        """Product numbers under a prefix."""
        low, high = self._run(prefix)
        return self._order[low:high]

    def _run(self, prefix: Sequence[int]) -> tuple[int, int]:
        low, high = 0, len(self._codes)
        for level, code in enumerate(prefix):
            column = self._codes[low:high, level]
            low, high = (
                low + int(np.searchsorted(column, code, "left")),
                low + int(np.searchsorted(column, code, "right")),
            )
        return low, high

    def around(self, prefix: Sequence[int], nearest: Sequence[Sequence[int]] = ()) -> Neighbourhood:
        """The cluster, its siblings, what else lies under its grandparent, and the rest.

        Args:
            prefix: the cluster.
            nearest: prefixes of its nearest siblings. Above the leaves these alone are the sibling
                tier, and the other siblings are related: under the root most siblings are another
                kind of thing, and what they lack sets a cluster apart from none of its like.
        """
        runs = [self._run(prefix[: max(len(prefix) - up, 0)]) for up in range(3)]
        whole = (0, len(self._codes))
        sibling, related, other = (
            self._ring(outer, inner) for outer, inner in zip([*runs[1:], whole], runs, strict=True)
        )
        if nearest and len(prefix) < self._codes.shape[1]:
            near = self._thinned(np.concatenate([self.members(one) for one in nearest]))
            rest = np.setdiff1d(sibling, near, assume_unique=True)
            sibling, related = near, self._thinned(np.concatenate([rest, related]))
        return Neighbourhood(self._order[slice(*runs[0])], sibling, related, other)

    def _ring(self, outer: tuple[int, int], inner: tuple[int, int]) -> Ints:
        places = np.concatenate([np.arange(outer[0], inner[0]), np.arange(inner[1], outer[1])])
        return np.asarray(self._order[self._thinned(places)])

    def _thinned(self, places: Ints) -> Ints:
        return places[:: max(1, -(-len(places) // self._limit))]


@dataclass(frozen=True)
class SearchRule:
    """What a good set of wishes is.

    Attributes:
        sibling, related, other: penalties for the share of such products that satisfy the set.
        floor: share of the cluster that should satisfy it; below, the score falls by ``steep``
            times the shortfall more.
        longest: most wishes in a set.
        beam: sets kept per length.
    """

    sibling: float = 0.9
    related: float = 0.3
    other: float = 0.1
    floor: float = 0.88
    steep: float = 0.5
    longest: int = 5
    beam: int = 16

    def score(self, shares: Floats, cost: Floats) -> Floats:
        """(S,) scores of (S, 4) satisfied shares by tier and (S,) costs of wording."""
        penalties = np.array([1.0, -self.sibling, -self.related, -self.other])
        short = np.maximum(self.floor - shares[:, 0], 0.0)
        return np.asarray(shares @ penalties - self.steep * short - cost)


class WishSpace:
    """All wishes that a cluster supports, and how well sets of them set it apart.

    Args:
        values: from :func:`wish_incidence`.
        tiers: the cluster and what lies around it.
        rule: what a good set is.
        broad: the product types are broad categories.

    Attributes:
        wishes: the candidates.
    """

    def __init__(
        self,
        values: Incidence,
        tiers: Neighbourhood,
        rule: SearchRule | None = None,
        *,
        broad: bool = False,
    ) -> None:
        self._rule = rule or SearchRule()
        found = candidates(values, tiers.exact, broad)
        self.wishes = tuple(one.wish for one in found)
        held = masks(values, np.concatenate(tiers.tiers), found)
        held, self._shares = _distinct(held, _tier_shares([len(tier) for tier in tiers.tiers]))
        self._masks = list(np.ascontiguousarray(held.T))
        self._lenient = [one.lenient for one in found]
        self._type, self._age = domain().type.name, domain().name_of("age")
        self._says_age = [_says_age(wish) for wish in self.wishes]
        self._costs = [_EXTRA_WISH + _EXTRA_VALUE * (len(one.wish.values) - 1) for one in found]

    def best(self, must: Sequence[int] = (), rule: SearchRule | None = None) -> list[WishSet]:
        """Sets with a product type, the best first, found by beam search.

        Args:
            must: wishes (by number) that every set holds; the product types by default.
            rule: what a good set is, if not what this space was made with.
        """
        rule = rule or self._rule
        starts = [i for i, wish in enumerate(self.wishes) if wish.attribute == self._type]
        found: dict[tuple[int, ...], WishSet] = {}
        keys = [tuple(must)] if must else [(i,) for i in starts]
        while keys:
            sets = sorted(self.measure(keys, rule), key=lambda one: (-one.score, one.key))
            sets = sets[: rule.beam]
            found.update({one.key: one for one in sets})
            short = [one.key for one in sets if len(one.key) < rule.longest]
            keys = sorted({longer for key in short for longer in self._longer(key, sure=True)})
        return sorted(found.values(), key=lambda one: (-one.score, one.key))

    def measure(
        self, keys: Sequence[tuple[int, ...]], rule: SearchRule | None = None
    ) -> list[WishSet]:
        """Shares and scores of given sets of wishes (by number)."""
        if not keys:
            return []
        held = np.stack([np.logical_and.reduce([self._masks[i] for i in key]) for key in keys])
        shares = np.round(held @ self._shares, 9)
        costs = np.array([sum(self._costs[i] for i in key) for key in keys])
        scores = np.round((rule or self._rule).score(shares, costs), 9)
        shares[:, ~self._shares.any(axis=0)] = np.nan
        return [
            WishSet(key, tuple(self.wishes[i] for i in key), row[0], row[1], row[2], row[3], score)
            for key, row, score in zip(keys, shares.tolist(), scores.tolist(), strict=True)
        ]

    def longer(self, base: WishSet) -> list[WishSet]:
        """The sets that say one wish more than ``base``."""
        return self.measure(list(self._longer(base.key, sure=False)))

    def shorter(self, base: WishSet) -> list[WishSet]:
        """The sets that say one wish less than ``base``, its product types apart."""
        types = {i for i in base.key if self.wishes[i].attribute == self._type}
        spare = [i for i in base.key if i not in types]
        return self.measure([tuple(i for i in base.key if i != gone) for gone in spare])

    def _longer(self, key: tuple[int, ...], *, sure: bool) -> Iterator[tuple[int, ...]]:
        """Keys of one wish more; ``sure`` ones hold none that some products leave open."""
        taken = {self.wishes[i].attribute for i in key}
        spare = _MOST_EXTRA - sum(len(self.wishes[i].values) - 1 for i in key)
        if any(self._says_age[i] for i in key):
            taken.add(self._age)
        for i, wish in enumerate(self.wishes):
            if (sure and self._lenient[i]) or (self._says_age[i] and self._age in taken):
                continue
            if wish.attribute not in taken and len(wish.values) - 1 <= max(spare, 0):
                yield tuple(sorted((*key, i)))


def _says_age(wish: Wish) -> bool:
    return wish.attribute == domain().name_of("person") and person_forms(wish.values[0]).tells_age


def _tier_shares(sizes: Sequence[int]) -> Floats:
    """(products, tiers) weights: a mask times column t is its share of tier t."""
    shares = np.zeros((sum(sizes), len(sizes)))
    start = 0
    for tier, size in enumerate(sizes):
        shares[start : start + size, tier] = 1 / max(size, 1)
        start += size
    return shares


def _distinct(held: Bools, shares: Floats) -> tuple[Bools, Floats]:
    """Each distinct row of ``held`` once, with the ``shares`` of its products added up."""
    if not held.shape[1]:
        return held[:1], shares.sum(axis=0, keepdims=True)
    packed = np.packbits(held, axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    members = sp.csr_array((np.ones(len(rows)), (inverse, np.arange(len(rows)))))
    return held[first], np.asarray(members @ shares)
