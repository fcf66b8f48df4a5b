"""Which column of a source is which column of a catalog.

In:  the source's column names and a column map.
Out: our column -> the source's column, or CatalogError with the nearest match.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fashion_rq_bench.errors import CatalogError
from fashion_rq_bench.schema.domain import domain, per_domain

__all__ = ["aliases", "resolve_columns", "targets"]

_HELPERS: Mapping[str, tuple[str, ...]] = {
    "category": ("category", "categories", "categorypath", "categoryname", "productcategory"),
    "attributes": ("articleattributes", "attributes", "productattributes"),
    "style_note": ("stylenote",),
    "care": ("materialscaredesc", "materialcare", "care"),
}
"""Columns that are taken apart, and their well-known names."""


@per_domain
def targets() -> tuple[str, ...]:
    """What a column map may set: a product's columns, and four that are taken apart.

    ``category`` is a flat category or a path ("Women > Dresses"); ``attributes`` holds key-value
    pairs (a struct, a map or JSON text, as Myntra's articleAttributes); ``style_note`` and ``care``
    are further descriptions, appended to the first.
    """
    return (*(column.name for column in domain().columns), *_HELPERS)


@per_domain
def aliases() -> Mapping[str, tuple[str, ...]]:
    """Well-known names per column, best first, compared without case, spaces and punctuation.

    Where the domain states none: the column's own name and that of its attribute.
    """
    found = {}
    for column in domain().columns:
        names = (column.name, *(a.name for a in domain().attributes if a.column == column.name))
        found[column.name] = column.aliases or tuple(map(_plain, names))
    return {**found, **_HELPERS}


def resolve_columns(source: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """Our columns that the source has, each with the source's name for it.

    Args:
        source: the source's column names.
        given: explicit map, ours -> theirs; it wins over the well-known names, and an empty name
            leaves a column out. One source column may serve several of ours.

    Raises:
        CatalogError: on a column of ours or theirs that does not exist, or names that repeat.
    """
    _check_distinct(source)
    for ours, theirs in given.items():
        if ours not in targets():
            raise CatalogError(
                "The column map sets a column that a catalog does not have.",
                given=ours,
                allowed=targets(),
            )
        if theirs and theirs not in source:
            raise CatalogError(
                f"The column map takes {ours!r} from a column that the source does not have.",
                given=theirs,
                allowed=source,
            )
    found = {ours: theirs for ours, theirs in given.items() if theirs}
    names = {_plain(name): name for name in reversed(source) if name not in found.values()}
    for ours, known in aliases().items():
        if ours not in given:
            theirs = next((names[alias] for alias in known if alias in names), "")
            if theirs:
                found[ours] = theirs
    return {ours: found[ours] for ours in targets() if ours in found}


def _check_distinct(source: Sequence[str]) -> None:
    twice = sorted({name for name in source if source.count(name) > 1})
    if twice:
        raise CatalogError(
            "Two columns of the source have the same name.",
            given=twice[0],
            fix="Rename one of them in the file's first line.",
        )


def _plain(name: str) -> str:
    return re.sub(r"[^0-9a-z]", "", name.casefold())
