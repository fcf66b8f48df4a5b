"""Pattern, material, occasion and style of products.

In:  key-value attributes (Myntra's articleAttributes), titles and descriptions.
Out: one list of canonical terms per product and attribute.

Implements the product side of the paper's "material, occasion, pattern, style" (section 8.0.4):
parsed from articleAttributes, and where that yields nothing, found in title and description by the
curated vocabulary. Usage and occasion are one attribute there (section 8.0.5), so a product's usage
is the first of its occasions; it also keeps a column of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.words.vocabulary import canonical, find_all_terms, find_terms, fold

__all__ = ["ATTRIBUTE_KEYS", "LISTS", "attribute_lists", "parse_attributes", "split_values"]

LISTS = ("pattern", "material", "occasion", "style")

ATTRIBUTE_KEYS: Mapping[str, str] = {
    "pattern": "pattern",
    "pattern type": "pattern",
    "print": "pattern",
    "print or pattern type": "pattern",
    "surface styling": "pattern",
    "weave pattern": "pattern",
    "ornamentation": "pattern",
    "border": "pattern",
    "saree fabric": "material",
    "blouse fabric": "material",
    "top fabric": "material",
    "bottom fabric": "material",
    "fabric": "material",
    "fabric 2": "material",
    "fabric 3": "material",
    "fabric type": "material",
    "taxmaterial": "material",
    "material": "material",
    "upper material": "material",
    "exterior material": "material",
    "outer material": "material",
    "strap material": "material",
    "dial material": "material",
    "frame material": "material",
    "base metal": "material",
    "plating": "material",
    "occasion": "occasion",
    "sport": "occasion",
    "fit": "style",
    "fit type": "style",
    "neck": "style",
    "collar": "style",
    "neckline": "style",
    "sleeve length": "style",
    "sleeve styling": "style",
    "length": "style",
    "hemline": "style",
    "shape": "style",
    "top shape": "style",
    "silhouette": "style",
    "style": "style",
    "waist rise": "style",
    "rise": "style",
    "toe shape": "style",
    "toe type": "style",
    "heel type": "style",
    "ankle height": "style",
    "fastening": "style",
    "padding": "style",
    "coverage": "style",
    "display": "style",
    "features": "style",
    "frame shape": "style",
    "dial shape": "style",
}
"""Folded keys of articleAttributes, and the attribute each speaks of."""

_GENERIC = frozenset(
    {"na", "n a", "none", "no", "yes", "other", "others", "regular", "standard", "basic"}
    | {"not applicable", "no sleeves styling", "regular sleeves", "regular length", ""}
)
# "Pair it with a cotton tee" says what the product is worn with, not what it is.
_ADVICE = (
    r"(?i)\b(?:(?:team|pair|combine|match|club|wear|style|carry|try)\s+"
    r"(?:it|this|these|them|yours?|up)|goes\s+(?:well\s+)?with)\b[^.!]*"
)


def split_values(text: str) -> list[str]:
    """Values of a list written as text: split at commas, semicolons, slashes and bars."""
    return [part.strip() for part in re.split(r"[,;|/]", text) if part.strip()]


@lru_cache(maxsize=65_536)
def _terms_of(value: str, attribute: str) -> tuple[str, ...]:
    """Canonical terms of one structured value; an unknown value is kept folded."""
    if fold(value) in _GENERIC:
        return ()
    found = find_terms([value], attribute)[0]
    return tuple(found or [fold(part) for part in split_values(value) if fold(part)])


def parse_attributes(text: str | None) -> dict[str, list[str]]:
    """Lists per attribute from one product's key-value attributes, given as a JSON object.

    Keys outside ``ATTRIBUTE_KEYS`` and values that say nothing ("NA", "Regular") are passed over;
    what is not a JSON object yields nothing.
    """
    lists: dict[str, list[str]] = {name: [] for name in LISTS}
    for key, value in _pairs(text):
        attribute = ATTRIBUTE_KEYS.get(fold(key))
        if attribute is None or not isinstance(value, str):
            continue
        lists[attribute].extend(t for t in _terms_of(value, attribute) if t not in lists[attribute])
    return lists


def _pairs(text: str | None) -> list[tuple[str, object]]:
    if not text:
        return []
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if isinstance(loaded, list) and all(isinstance(i, list) and len(i) == 2 for i in loaded):
        return [(str(key), value) for key, value in loaded]
    return list(loaded.items()) if isinstance(loaded, dict) else []


def attribute_lists(
    columns: Mapping[str, pa.Array],
    title: pa.Array,
    description: pa.Array,
    brand: pa.Array,
    usage: pa.Array,
) -> dict[str, pa.ListArray]:
    """The four list columns.

    Args:
        columns: "attributes" (JSON objects) and any of the four lists as text, where the source
            has them.
        title, description, brand, usage: clean columns of the same length.

    Returns:
        Per attribute a list column: from its own column, else from "attributes", else from the
        vocabulary in title and description; empty where nothing was found, never null. Occasions
        begin with the usage.
    """
    texts = _searchable(title, description, brand)
    parsed = _parse_column(columns.get("attributes"), len(title))
    stated = {
        name: [first or second for first, second in zip(own, parsed[name], strict=True)]
        for name in LISTS
        for own in [_own_values(columns.get(name), name, len(title))]
    }
    lacking = [row for row in range(len(title)) if not all(stated[name][row] for name in LISTS)]
    found = find_all_terms([texts[row] for row in lacking], LISTS)
    for name, values in stated.items():
        for row, terms in zip(lacking, found[name], strict=True):
            values[row] = values[row] or terms
    stated["occasion"] = _with_usage(usage, stated["occasion"])
    return {name: pa.array(values, pa.list_(pa.string())) for name, values in stated.items()}


def _with_usage(usage: pa.Array, occasions: Sequence[list[str]]) -> list[list[str]]:
    encoded = usage.dictionary_encode()
    words = [canonical(name, "occasion") for name in encoded.dictionary.to_pylist()]
    rows = zip(encoded.indices.to_pylist(), occasions, strict=True)
    return [
        found if index is None else list(dict.fromkeys([words[index], *found]))
        for index, found in rows
    ]


def _parse_column(column: pa.Array | None, size: int) -> dict[str, Sequence[list[str]]]:
    if column is None:
        return {name: [[]] * size for name in LISTS}
    encoded = column.dictionary_encode()
    distinct = [parse_attributes(text) for text in encoded.dictionary.to_pylist()]
    empty: list[str] = []
    rows = encoded.indices.to_pylist()
    return {name: [empty if row is None else distinct[row][name] for row in rows] for name in LISTS}


def _own_values(column: pa.Array | None, name: str, size: int) -> Sequence[list[str]]:
    if column is None:
        return [[]] * size
    return [
        list(dict.fromkeys(t for part in split_values(text or "") for t in _terms_of(part, name)))
        for text in column.to_pylist()
    ]


def _searchable(title: pa.Array, description: pa.Array, brand: pa.Array) -> list[str]:
    """Title without its brand ("Silk Street" is no silk) and description without styling advice."""
    told = pc.replace_substring_regex(description, _ADVICE, " ").to_pylist()
    return [
        f"{_without(name or '', maker)} . {text or ''}"
        for name, maker, text in zip(title.to_pylist(), brand.to_pylist(), told, strict=True)
    ]


def _without(title: str, brand: str | None) -> str:
    if brand and title.casefold().startswith(brand.casefold()):
        return title[len(brand) :]
    return title
