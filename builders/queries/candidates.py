"""Wishes that a cluster's products support.

In:  products x values of the ten attributes, the products of a cluster.
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

from fashion_rq_bench.builders.values import Axis, Incidence, Ints, axis, column_axis, incidence
from fashion_rq_bench.vocabulary import tokens

from .lexicon import occasion_forms, said, type_forms

__all__ = ["COLUMNS", "Candidate", "Wish", "candidates", "masks", "wish_incidence"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

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
_MIN_IN_RANGE = {"product_type": 0.05}
_MIN_HELD = 0.8
_MOST_SINGLES = 4

_OFTEN_UNKNOWN = {"price_hint": 0.15, "material": 0.5, "style_tags": 0.5, "pattern": 0.6}
"""Attributes that catalogs often leave open, and the least share of a cluster's products whose
value is known. Among these nearly all must agree; the others are given the benefit of the doubt."""
_MIN_AGREED = 0.9
_LEAST_KNOWN = 3


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


def candidates(values: Incidence, products: Ints, broad: bool) -> list[Candidate]:
    """Every wish that the cluster supports and shoppers say.

    Args:
        values: from :func:`wish_incidence`.
        products: numbers of the cluster's products.
        broad: the product types are broad categories, of no class of things in particular.
    """
    own = values.matrix[products]
    found = [
        candidate
        for attribute, block in values.columns.items()
        for candidate in _supported(attribute, own[:, block].toarray() > 0, values, block.start)
    ]
    types = [one.wish.values[0] for one in found if one.wish.attribute == "product_type"]
    dominant = types[0] if types and not broad else ""
    return [one for one in found if _sayable(one.wish, dominant)]


def masks(values: Incidence, products: Ints, found: list[Candidate]) -> Bools:
    """(products, candidates): which products satisfy which wish."""
    own = values.matrix[products]
    used = sorted({column for one in found for column in one.columns})
    place = {column: position for position, column in enumerate(used)}
    held = own[:, used].toarray() > 0
    open_ = {
        name: own[:, values.columns[name]].sum(axis=1) == 0
        for name in {one.wish.attribute for one in found if one.lenient}
    }
    result = np.zeros((len(products), len(found)), bool)
    for number, one in enumerate(found):
        result[:, number] = held[:, [place[column] for column in one.columns]].any(axis=1)
        if one.lenient:
            result[:, number] |= open_[one.wish.attribute]
    return result


def _supported(attribute: str, held: Bools, values: Incidence, start: int) -> Iterator[Candidate]:
    """Candidates of one attribute from (products of the cluster, values) held or not."""
    known = held.any(axis=1)
    if not known.any():
        return
    share = held.mean(axis=0)
    ranked = [int(column) for column in np.lexsort((np.arange(len(share)), -share))]
    least = _MIN_IN_RANGE.get(attribute, 0.1)
    frequent = [column for column in ranked if share[column] >= least]
    single = [column for column in ranked[:_MOST_SINGLES] if share[column] >= _MIN_HELD]
    for column in single:
        yield _candidate(values, attribute, (start + column,), lenient=False)
    for size in range(2, min(_MAX_RANGE.get(attribute, 1), len(frequent)) + 1):
        if held[:, frequent[:size]].any(axis=1).mean() >= _MIN_HELD:
            columns = tuple(start + column for column in frequent[:size])
            yield _candidate(values, attribute, columns, lenient=False)
    enough = max(_LEAST_KNOWN, _OFTEN_UNKNOWN.get(attribute, 1.0) * len(held))
    if not single and attribute in _OFTEN_UNKNOWN and known.sum() >= enough:
        agreed = held[known].mean(axis=0)
        if agreed[ranked[0]] >= _MIN_AGREED:
            yield _candidate(values, attribute, (start + ranked[0],), lenient=True)


def _candidate(
    values: Incidence, attribute: str, columns: tuple[int, ...], *, lenient: bool
) -> Candidate:
    texts = tuple(values.names[column][1] for column in columns)
    return Candidate(Wish(attribute, texts), columns, lenient)


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
