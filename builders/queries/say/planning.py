"""What the queries of a cluster say, before a word is chosen.

In:  a cluster's evidence and the products around it.
Out: plans, more than needed, in the order in which they should be verbalised.

Paper, section 3: each product type of at least 5% gets a query, a catch-all covers the rest, and
queries hold what sets the cluster apart from its siblings. The wishes of a query are a set that
nearly all products of the cluster satisfy and few others do (``wishes.py``); wishes that shoppers
usually add (for whom, an occasion) join where they cost no product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from fashion_rq_bench.builders.context.incidence import Incidence, Ints
from fashion_rq_bench.builders.queries.say.candidate_wishes import wish_incidence
from fashion_rq_bench.builders.queries.say.draw import weighted
from fashion_rq_bench.builders.queries.say.evidence import Evidence
from fashion_rq_bench.builders.queries.say.habits import habit
from fashion_rq_bench.builders.queries.say.plan import Plan, can_name_person
from fashion_rq_bench.builders.queries.say.wish_sets import (
    Neighbourhood,
    PrefixIndex,
    SearchRule,
    WishSet,
    WishSpace,
)
from fashion_rq_bench.schema.domain import domain

__all__ = ["FITS_SIBLINGS", "Planned", "Planner"]

FITS_SIBLINGS = "fits siblings as well"
"""The reason against a query whose wishes the siblings' products satisfy as the target's do."""

_NAMED = 3
_MOST_CATCH_ALLS = 3
_SIZES = {3: 0.32, 4: 0.45, 5: 0.23}
_PERSON = 0.3
_FRUGAL = 0.2
_NEAR_BEST = 0.04
_NEAR_APART = 0.1
_NEAREST = 6
_LEAST_GAP = 0.1
_LEAST_EXACT = 0.8
_SLACK = 0.05


APART = SearchRule(sibling=1.0, related=0.1, other=0.05, floor=0.65, steep=1.0)
"""What a good set is once a query has been found to fit the siblings as well."""


@dataclass(frozen=True)
class Source:
    """Where plans are drawn from: wishes over some of a cluster's products.

    Attributes:
        space: all wishes that these products support.
        must: wishes (by number) that every plan says; none means any product type.
        broad: the product types are broad categories.
    """

    space: WishSpace
    must: tuple[int, ...] = ()
    broad: bool = False

    @cached_property
    def sets(self) -> list[WishSet]:
        """Sets of wishes for a first draft, the best first."""
        return self.space.best(self.must)

    @cached_property
    def apart(self) -> list[WishSet]:
        """Sets that hold for clearly more of these products than of the siblings, best first."""
        sets = self.space.best(self.must, APART)
        return [one for one in sets if one.exact >= APART.floor and _gap(one) >= _LEAST_GAP]


def _gap(one: WishSet) -> float:
    """By how much more of the cluster than of its siblings satisfies a set."""
    return one.exact - one.sibling


@dataclass(frozen=True)
class Planned:
    """A plan, how the products around satisfy its wishes, and where it was drawn from."""

    plan: Plan
    wishes: WishSet
    source: Source


class Planner:
    """Plans queries for the clusters of one catalog.

    Args:
        catalog: a table of schema CATALOG.
        index: the prefix tree over its products.
        values: from :func:`~.candidates.wish_incidence`.
    """

    def __init__(self, catalog: pa.Table, index: PrefixIndex, values: Incidence) -> None:
        self._index = index
        self._values = values
        broad = domain().type.columns[1:]  # the narrowest first
        self._broad = {column: wish_incidence(catalog, column) for column in broad}

    def plans(self, evidence: Evidence, count: int, rng: np.random.Generator) -> Iterator[Planned]:
        """``count`` plans and endless spare ones; the first ones cover the required types."""
        tiers = self._index.around(evidence.prefix, evidence.siblings)
        phrases = frozenset(evidence.phrases)
        sources = list(self._sources(evidence, tiers))
        if not sources:
            return
        turn = 0
        while True:
            source = sources[turn % len(sources)] if turn < count else sources[0]
            chosen = _complete(source.space, _near_best(source.sets, rng), rng)
            yield _plan(chosen, source, phrases, rng)
            turn += 1

    def revise(
        self, planned: Planned, reasons: Sequence[str], rng: np.random.Generator
    ) -> Planned | None:
        """Another plan in place of one whose query failed; None if there is none.

        Args:
            planned: what the query was to say.
            reasons: what the verifier says against it.
            rng: source of all choices.
        """
        source, phrases = planned.source, planned.plan.phrases
        if FITS_SIBLINGS in reasons:
            if not source.apart:
                return None
            return _plan(
                _complete(source.space, _furthest(source.apart, rng), rng), source, phrases, rng
            )
        if {"ungrounded", "length"} & set(reasons):
            shorter = source.space.shorter(planned.wishes)
            if not shorter:
                return None
            return _plan(max(shorter, key=lambda one: one.score), source, phrases, rng)
        return planned

    def _sources(self, evidence: Evidence, tiers: Neighbourhood) -> Iterator[Source]:
        """Where plans are drawn from: the cluster whole, or type by type, and the catch-all."""
        required = evidence.required_types()
        whole = WishSpace(self._values, tiers)
        joint = _joint_types(whole, required)
        if joint is not None:
            yield Source(whole)
            if len(required) > 1:
                yield Source(whole, (joint,))
        else:
            yield from self._by_type(tiers, required)
        minor = evidence.minor_types()
        if minor:
            yield from self._catch_all(tiers, minor)

    def _by_type(self, tiers: Neighbourhood, required: Sequence[str]) -> Iterator[Source]:
        for value in required:
            yield from self._naming(tiers, (value,))

    def _naming(self, tiers: Neighbourhood, types: tuple[str, ...]) -> Iterator[Source]:
        """Sets over the products of some types only, all of which they name."""
        inside = self._holding(self._values, tiers.exact, types)
        around = Neighbourhood(inside, tiers.sibling, tiers.related, tiers.other)
        space = WishSpace(self._values, around)
        joint = _joint_types(space, types)
        source = Source(space, () if joint is None else (joint,))
        if source.sets:
            yield source

    def _holding(self, values: Incidence, products: Ints, types: Sequence[str]) -> Ints:
        columns = [values.names.index((domain().type.name, value)) for value in types]
        held = values.matrix[products][:, columns].toarray().any(axis=1)
        return np.asarray(products[held])

    def _catch_all(self, tiers: Neighbourhood, minor: Sequence[str]) -> Iterator[Source]:
        """The narrowest broad category of all products, else the minor types named together."""
        for column, values in self._broad.items():
            source = Source(WishSpace(values, tiers, broad=True), broad=True)
            sets = [one for one in source.sets if one.exact >= _LEAST_EXACT]
            products = self._holding(self._values, tiers.exact, minor)
            if sets and self._reaches(column, sets[0], products):
                yield source
                return
        for start in range(0, min(len(minor), _NAMED * _MOST_CATCH_ALLS), _NAMED):
            yield from self._naming(tiers, tuple(minor[start : start + _NAMED]))

    def _reaches(self, column: str, chosen: WishSet, products: Ints) -> bool:
        """Whether all of some products are of the broad category that a set names."""
        category = chosen.values[domain().type.name]
        return len(self._holding(self._broad[column], products, category)) == len(products)


def _joint_types(space: WishSpace, required: Sequence[str]) -> int | None:
    """Number of the wish that names all required types and no others, if there is one."""
    for number, wish in enumerate(space.wishes):
        if wish.attribute == domain().type.name and set(wish.values) == set(required):
            return number
    return None


def _near_best(sets: Sequence[WishSet], rng: np.random.Generator) -> WishSet:
    """One of the best few sets; the best most often."""
    good = [one for one in sets if one.exact >= _LEAST_EXACT and len(one.wishes) > 1] or list(sets)
    near = [one for one in good if one.score >= good[0].score - _NEAR_BEST][:_NEAREST]
    return near[weighted([1.0 / (1 + rank) for rank in range(len(near))], rng)]


def _furthest(sets: Sequence[WishSet], rng: np.random.Generator) -> WishSet:
    """One of the sets that are furthest from the siblings; the furthest most often."""
    near = [one for one in sets if _gap(one) >= _gap(sets[0]) - _NEAR_APART][:_NEAREST]
    return near[weighted([1.0 / (1 + rank) for rank in range(len(near))], rng)]


def _complete(space: WishSpace, base: WishSet, rng: np.random.Generator) -> WishSet:
    """Add wishes that shoppers usually state, as long as the cluster's products hold them."""
    size = list(_SIZES)[weighted(list(_SIZES.values()), rng)]
    frugal = rng.random() < _FRUGAL
    floor = max(base.exact - _SLACK, min(_LEAST_EXACT, base.exact))
    while len(base.wishes) < size:
        longer = [one for one in space.longer(base) if one.exact >= floor]
        if not longer:
            break
        known = set(base.key)
        added = [next(i for i in one.key if i not in known) for one in longer]
        weights = [
            _appeal(space.wishes[i].attribute, frugal) / len(space.wishes[i].values) for i in added
        ]
        if not any(weights):
            break
        base = longer[weighted(weights, rng)]
    return base


def _appeal(attribute: str, frugal: bool) -> float:
    """How readily shoppers add an attribute; only some of them mind the price."""
    if attribute == domain().name_of("price") and not frugal:
        return 0.0
    return habit(attribute, "appeal")


def _plan(
    chosen: WishSet, source: Source, phrases: frozenset[str], rng: np.random.Generator
) -> Planned:
    wishes = dict(chosen.values)
    types = wishes.pop(domain().type.name)
    plan = Plan(types, wishes, False, source.broad, phrases)
    if can_name_person(plan) and domain().name_of("age") not in wishes and rng.random() < _PERSON:
        plan = replace(plan, person=True)
    return Planned(plan, chosen, source)
