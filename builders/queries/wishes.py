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
import pyarrow as pa
import scipy.sparse as sp

from fashion_rq_bench.builders.values import (
    Axis,
    Incidence,
    Ints,
    axis,
    column_axis,
    incidence,
)
from fashion_rq_bench.vocabulary import tokens

from .lexicon import occasion_forms, said, type_forms

__all__ = [
    "COLUMNS",
    "Neighbourhood",
    "PrefixIndex",
    "SearchRule",
    "Wish",
    "WishSet",
    "WishSpace",
    "wish_incidence",
]

Floats = npt.NDArray[np.float64]

COLUMNS = {
    "product_type": "article_type",
    "gender": "gender",
    "age_group": "age_group",
    "color": "base_color",
    "pattern": "pattern",
    "material": "material",
    "occasion": "occasion",
    "brand": "brand",
    "price_hint": "price_tier",
    "style_tags": "style",
}
"""The catalog column behind each of the ten attributes."""

_MAX_RANGE = {"product_type": 3, "color": 3, "brand": 3, "pattern": 2}
_MIN_IN_RANGE = 0.1
_MIN_TYPE = 0.05
_MIN_HELD = 0.8
_MOST_SINGLES = 4
_EXTRA_VALUE = 0.02
_MOST_EXTRA = 3
_EXTRA_WISH = 0.01


@dataclass(frozen=True)
class Wish:
    """An attribute and the values any of which will do, the most frequent first."""

    attribute: str
    values: tuple[str, ...]


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

    def around(self, prefix: Sequence[int]) -> Neighbourhood:
        """The cluster, its siblings, what else lies under its grandparent, and the rest."""
        runs = [self._run(prefix[: max(len(prefix) - up, 0)]) for up in range(3)]
        whole = (0, len(self._codes))
        rings = [
            self._ring(outer, inner) for outer, inner in zip([*runs[1:], whole], runs, strict=True)
        ]
        return Neighbourhood(self._order[slice(*runs[0])], *rings)

    def _ring(self, outer: tuple[int, int], inner: tuple[int, int]) -> Ints:
        places = np.concatenate([np.arange(outer[0], inner[0]), np.arange(inner[1], outer[1])])
        step = max(1, -(-len(places) // self._limit))
        return self._order[places[::step]]


def wish_incidence(catalog: pa.Table, type_column: str = "article_type") -> Incidence:
    """Products x values of the ten attributes; each axis bears the attribute's name.

    Args:
        catalog: a table of schema CATALOG.
        type_column: what a product type is: "article_type", or a broader category.
    """
    axes = []
    for attribute, column in {**COLUMNS, "product_type": type_column}.items():
        found = _occasions(catalog) if attribute == "occasion" else column_axis(catalog, column)
        axes.append(Axis(attribute, found.values, found.products, found.codes))
    return incidence(axes, len(catalog))


def _occasions(catalog: pa.Table) -> Axis:
    """Occasions and usage as one attribute, as the paper reads them (supplement 8.0.5)."""
    own, usage = column_axis(catalog, "occasion"), column_axis(catalog, "usage")
    texts = [own.values[code] for code in own.codes]
    texts += [usage.values[code].casefold() for code in usage.codes]
    products = np.concatenate([own.products, usage.products])
    return axis("occasion", products, pa.array(texts, pa.string()))


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
        products = np.concatenate(tiers.tiers)
        candidates = _candidates(values, tiers.exact, broad)
        self.wishes = tuple(_wish(values, columns) for columns in candidates)
        used = sorted({column for columns in candidates for column in columns})
        place = {column: position for position, column in enumerate(used)}
        held = values.matrix[products][:, used].toarray() > 0
        held, self._shares = _distinct(held, _tier_shares([len(tier) for tier in tiers.tiers]))
        self._masks = [held[:, [place[c] for c in columns]].any(axis=1) for columns in candidates]
        self._costs = [_EXTRA_WISH + _EXTRA_VALUE * (len(w.values) - 1) for w in self.wishes]

    def best(self, must: Sequence[int] = ()) -> list[WishSet]:
        """Sets with a product type, the best first, found by beam search.

        Args:
            must: wishes (by number) that every set holds; the product types by default.
        """
        starts = [i for i, wish in enumerate(self.wishes) if wish.attribute == "product_type"]
        found: dict[tuple[int, ...], WishSet] = {}
        keys = [tuple(must)] if must else [(i,) for i in starts]
        while keys:
            sets = sorted(self.measure(keys), key=lambda one: (-one.score, one.key))
            sets = sets[: self._rule.beam]
            found.update({one.key: one for one in sets})
            keys = sorted({key for one in sets for key in self._longer(one.key)})
        return sorted(found.values(), key=lambda one: (-one.score, one.key))

    def measure(self, keys: Sequence[tuple[int, ...]]) -> list[WishSet]:
        """Shares and scores of given sets of wishes (by number)."""
        if not keys:
            return []
        masks = np.stack([np.logical_and.reduce([self._masks[i] for i in key]) for key in keys])
        shares = masks @ self._shares
        scores = self._rule.score(shares, np.array([sum(self._costs[i] for i in k) for k in keys]))
        shares[:, ~self._shares.any(axis=0)] = np.nan
        return [
            WishSet(
                key,
                tuple(self.wishes[i] for i in key),
                *(float(share) for share in row[:4]),
                round(float(row[4]), 9),
            )
            for key, row in zip(keys, np.column_stack([shares, scores]), strict=True)
        ]

    def longer(self, base: WishSet) -> list[WishSet]:
        """The sets that say one wish more than ``base``."""
        return self.measure(list(self._longer(base.key, limit=len(self.wishes))))

    def _longer(self, key: tuple[int, ...], limit: int | None = None) -> Iterator[tuple[int, ...]]:
        if len(key) >= (limit or self._rule.longest):
            return
        taken = {self.wishes[i].attribute for i in key}
        spare = _MOST_EXTRA - sum(len(self.wishes[i].values) - 1 for i in key)
        if any(self.wishes[i].values[0].casefold() in ("boys", "girls") for i in key):
            taken.add("age_group")  # said by the gender
        for i, wish in enumerate(self.wishes):
            if wish.attribute not in taken and len(wish.values) - 1 <= max(spare, 0):
                yield tuple(sorted((*key, i)))


def _tier_shares(sizes: Sequence[int]) -> Floats:
    """(products, tiers) weights: a mask times column t is its share of tier t."""
    shares = np.zeros((sum(sizes), len(sizes)))
    start = 0
    for tier, size in enumerate(sizes):
        shares[start : start + size, tier] = 1 / max(size, 1)
        start += size
    return shares


def _distinct(held: npt.NDArray[np.bool_], shares: Floats) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Each distinct row of ``held`` once, with the ``shares`` of its products added up."""
    if not held.shape[1]:
        return held[:1], shares.sum(axis=0, keepdims=True)
    packed = np.packbits(held, axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    members = sp.csr_array((np.ones(len(rows)), (inverse, np.arange(len(rows)))))
    return held[first], np.asarray(members @ shares)


def _candidates(values: Incidence, products: Ints, broad: bool) -> list[tuple[int, ...]]:
    """Columns of every wish that the cluster supports and shoppers say."""
    own = values.matrix[products]
    share = np.asarray(own.sum(axis=0)).ravel() / max(len(products), 1)
    found = [
        columns
        for attribute, block in values.columns.items()
        for columns in _ranges(attribute, own[:, block].toarray() > 0, share[block], block.start)
    ]
    types = [c for c in found if values.names[c[0]][0] == "product_type"]
    dominant = values.names[types[0][0]][1] if types and not broad else ""
    return [columns for columns in found if _sayable(_wish(values, columns), dominant)]


def _ranges(
    attribute: str, held: npt.NDArray[np.bool_], share: Floats, start: int
) -> Iterator[tuple[int, ...]]:
    """Single values and ranges of values that nearly all of the cluster's products hold."""
    ranked = [int(column) for column in np.lexsort((np.arange(len(share)), -share))]
    yield from (
        (start + column,) for column in ranked[:_MOST_SINGLES] if share[column] >= _MIN_HELD
    )
    least = _MIN_TYPE if attribute == "product_type" else _MIN_IN_RANGE
    frequent = [column for column in ranked if share[column] >= least]
    for size in range(2, min(_MAX_RANGE.get(attribute, 1), len(frequent)) + 1):
        chosen = frequent[:size]
        if held[:, chosen].any(axis=1).mean() >= _MIN_HELD:
            yield tuple(start + column for column in chosen)


def _wish(values: Incidence, columns: tuple[int, ...]) -> Wish:
    return Wish(values.names[columns[0]][0], tuple(values.names[c][1] for c in columns))


def _sayable(wish: Wish, article_type: str) -> bool:
    """Shoppers ask neither for adults' shirts nor blue deodorants nor sports shoes for sports."""
    kind = type_forms(article_type).kind if article_type else ""
    if wish.attribute == "age_group" and wish.values[0] == "adult":
        return False
    if wish.attribute == "occasion":
        forms = occasion_forms(wish.values[0])
        if forms.once and forms.clash & set(tokens(article_type)):
            return False
    return all(said(wish.attribute, value, kind) for value in wish.values)
