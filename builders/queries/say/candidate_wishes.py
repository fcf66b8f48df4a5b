"""Wishes that a cluster's products support.

In:  products x values of the domain's attributes, the products of a cluster.
Out: candidate wishes: single values and ranges of values that nearly all of them hold, as far as
     their values are known, and that shoppers say of such things.

Paper, query prompt, rule 8: no claim of a single value unless all products share it; several values
are described together ("black or brown").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fashion_rq_bench.builders.context.incidence import (
    Axis,
    Incidence,
    Ints,
    axis,
    column_axis,
    incidence,
)
from fashion_rq_bench.builders.queries.say.habits import habit
from fashion_rq_bench.builders.queries.say.lexicon import occasion_forms, said, type_forms
from fashion_rq_bench.schema.attributes import Attribute
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.words.vocabulary import tokens

__all__ = ["Candidate", "Wish", "candidates", "masks", "wish_incidence"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_MIN_HELD = 0.8
_MIN_RANGE = 0.7
"""Least share of the products that must hold a single value, or one of a range."""

_MOST_SINGLES = 4

_MIN_AGREED = 0.9
_LEAST_KNOWN = 3
"""Of an attribute that catalogs often leave open: nearly all known values must agree, and so many
products must have one; the others are given the benefit of the doubt."""


@dataclass(frozen=True)
class Wish:
    """An attribute and the values any of which will do, the most frequent first."""

    attribute: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A wish, the columns of its values, and whether products without a value satisfy it."""

    wish: Wish
    columns: tuple[int, ...]
    lenient: bool


def wish_incidence(catalog: pa.Table, type_column: str = "") -> Incidence:
    """Products x values of the attributes; each axis bears the attribute's name.

    Args:
        catalog: a table of schema CATALOG.
        type_column: what a product type is: the type's own column, or that of a broader category.
    """
    axes = []
    for one in domain().attributes:
        if one.role == "type":
            found = column_axis(catalog, type_column or one.column)
        else:
            found = _axis(catalog, one)
        axes.append(Axis(one.name, found.values, found.products, found.codes))
    return incidence(axes, len(catalog))


def _axis(catalog: pa.Table, one: Attribute) -> Axis:
    """An attribute's texts, the paper's occasions and usage as one (supplement 8.0.5)."""
    own, *others = (
        column_axis(catalog, name)
        for name in one.columns
        if not pa.types.is_floating(catalog[name].type)
    )
    if not others:
        return own
    texts = [own.values[code] for code in own.codes]
    texts += [other.values[code].casefold() for other in others for code in other.codes]
    products = np.concatenate([own.products, *(other.products for other in others)])
    return axis(one.name, products, pa.array(texts, pa.string()))


def candidates(values: Incidence, products: Ints, broad: bool) -> list[Candidate]:
    """Every wish that the cluster supports and shoppers say.

    Args:
        values: from :func:`wish_incidence`.
        products: numbers of the cluster's products.
        broad: the product types are broad categories, of no class of things in particular.
    """
    own = values.held(products)
    found = [
        candidate
        for attribute, block in values.columns.items()
        if domain().by_name[attribute].wish
        for candidate in _supported(attribute, own.within(block), values)
    ]
    kind = domain().type.name
    types = [one.wish.values[0] for one in found if one.wish.attribute == kind]
    dominant = types[0] if types and not broad else ""
    return [one for one in found if _sayable(one.wish, dominant)]


def masks(values: Incidence, products: Ints, found: list[Candidate]) -> Bools:
    """(products, candidates): which products satisfy which wish."""
    used = {column for one in found for column in one.columns}
    blocks = {
        one.wish.attribute: values.columns[one.wish.attribute] for one in found if one.lenient
    }
    for block in blocks.values():
        used.update(range(block.start, block.stop))
    own = values.held(products, np.array(sorted(used), dtype=np.int64))
    unknown = {name: ~own.within(block)[1].any(axis=1) for name, block in blocks.items()}
    result = np.zeros((len(products), len(found)), bool)
    for number, one in enumerate(found):
        result[:, number] = own.any_of(one.columns)
        if one.lenient:
            result[:, number] |= unknown[one.wish.attribute]
    return result


def _supported(attribute: str, own: tuple[Ints, Bools], values: Incidence) -> Iterator[Candidate]:
    """Candidates of one attribute from its columns and (products, columns) held or not."""
    columns, held = own
    known = held.any(axis=1)
    if not known.any():
        return
    share = held.mean(axis=0)
    ranked = np.lexsort((columns, -share)).tolist()
    single = [place for place in ranked[:_MOST_SINGLES] if share[place] >= _MIN_HELD]
    for place in single:
        yield _candidate(values, attribute, columns[[place]], lenient=False)
    least, unknown = habit(attribute, "least"), habit(attribute, "unknown")
    frequent = [place for place in ranked if share[place] >= least]
    for size in range(2, min(int(habit(attribute, "range")), len(frequent)) + 1):
        if held[:, frequent[:size]].any(axis=1).mean() >= _MIN_RANGE:
            yield _candidate(values, attribute, columns[frequent[:size]], lenient=False)
    enough = max(_LEAST_KNOWN, unknown * len(held))
    open_ = not single and unknown < 1 and known.sum() >= enough
    if open_ and held[known, ranked[0]].mean() >= _MIN_AGREED:
        yield _candidate(values, attribute, columns[[ranked[0]]], lenient=True)


def _candidate(values: Incidence, attribute: str, columns: Ints, *, lenient: bool) -> Candidate:
    numbers = tuple(columns.tolist())
    texts = tuple(values.names[column][1] for column in numbers)
    return Candidate(Wish(attribute, texts), numbers, lenient)


def _sayable(wish: Wish, article_type: str) -> bool:
    """Shoppers ask neither for adults' shirts nor blue deodorants nor sports shoes for sports."""
    kind = type_forms(article_type).kind if article_type else ""
    if wish.attribute == domain().name_of("occasion"):
        forms = occasion_forms(wish.values[0])
        if forms.once and forms.clash & set(tokens(article_type)):
            return False
    return all(said(wish.attribute, value, kind) for value in wish.values)
