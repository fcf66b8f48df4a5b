"""Which column of a source is which column of a catalog.

In:  the source's column names and a column map.
Out: our column -> the source's column, or CatalogError with the nearest match.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fashion_rq_bench.errors import CatalogError
from fashion_rq_bench.schema import tables as schema

__all__ = ["ALIASES", "TARGETS", "resolve_columns"]

_HELPERS = ("category", "attributes", "style_note", "care")
TARGETS = (*schema.product_schema().names, *_HELPERS)
"""What a column map may set: a product's columns, and four that are taken apart.

``category`` is a flat category or a path ("Women > Dresses"); ``attributes`` holds key-value pairs
(a struct, a map or JSON text, as Myntra's articleAttributes); ``style_note`` and ``care`` are
further descriptions, appended to the first.
"""

ALIASES: Mapping[str, tuple[str, ...]] = {
    "product_id": ("productid", "id", "styleid", "articleid", "itemid", "sku", "asin", "uniqid"),
    "title": ("productdisplayname", "title", "productname", "producttitle", "prodname", "name"),
    "description": ("description", "productdescription", "detaildesc", "desc", "longdescription"),
    "master_category": ("mastercategory", "department", "departmentname"),
    "sub_category": ("subcategory", "subcategoryname", "productgroupname"),
    "article_type": ("articletype", "producttype", "producttypename", "itemtype"),
    "brand": ("brandname", "brand", "manufacturer", "designer"),
    "base_color": ("basecolour", "basecolor", "colour", "color", "colourgroupname", "colorname"),
    "gender": ("gender", "sex"),
    "age_group": ("agegroup", "age"),
    "season": ("season",),
    "year": ("year", "launchyear"),
    "usage": ("usage",),
    "fashion_type": ("fashiontype",),
    "price": ("price", "listprice", "mrp", "originalprice", "retailprice", "sellingprice"),
    "pattern": ("pattern", "graphicalappearancename"),
    "material": ("material", "fabric", "materials"),
    "occasion": ("occasion",),
    "style": ("style", "styletags", "fit"),
    "image": ("image", "imagepath", "imagefile", "imagefilename"),
    "category": ("category", "categories", "categorypath", "categoryname", "productcategory"),
    "attributes": ("articleattributes", "attributes", "productattributes"),
    "style_note": ("stylenote",),
    "care": ("materialscaredesc", "materialcare", "care"),
}
"""Well-known names per column, best first, compared without case, spaces and punctuation."""


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
        if ours not in TARGETS:
            raise CatalogError(
                "The column map sets a column that a catalog does not have.",
                given=ours,
                allowed=TARGETS,
            )
        if theirs and theirs not in source:
            raise CatalogError(
                f"The column map takes {ours!r} from a column that the source does not have.",
                given=theirs,
                allowed=source,
            )
    found = {ours: theirs for ours, theirs in given.items() if theirs}
    names = {_plain(name): name for name in reversed(source) if name not in found.values()}
    for ours, aliases in ALIASES.items():
        if ours not in given:
            theirs = next((names[alias] for alias in aliases if alias in names), "")
            if theirs:
                found[ours] = theirs
    return {ours: found[ours] for ours in TARGETS if ours in found}


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
