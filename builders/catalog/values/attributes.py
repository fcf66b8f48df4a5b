"""Lists of values that products have: for fashion pattern, material, occasion and style.

In:  key-value attributes (Myntra's articleAttributes), titles and descriptions.
Out: one list of canonical terms per product and list column of the domain.

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

from fashion_rq_bench.schema.attributes import Domain
from fashion_rq_bench.schema.domain import domain, per_domain
from fashion_rq_bench.words.vocabulary import canonical, find_all_terms, find_terms, fold

__all__ = ["attribute_lists", "found_values", "parse_attributes", "split_values"]

# "Pair it with a cotton tee" says what the product is worn with, not what it is.
_ADVICE = (
    r"(?i)\b(?:(?:team|pair|combine|match|club|wear|style|carry|try)\s+"
    r"(?:it|this|these|them|yours?|up)|goes\s+(?:well\s+)?with)\b[^.!]*"
)


def split_values(text: str) -> list[str]:
    """Values of a list written as text: split at commas, semicolons, slashes and bars."""
    return [part.strip() for part in re.split(r"[,;|/]", text) if part.strip()]


@per_domain
def _terms() -> dict[str, str]:
    """Columns whose values are known terms, and the table of these."""
    return {one.column: one.terms for one in domain().attributes if one.terms}


@per_domain
def _nothing() -> frozenset[str]:
    """Folded values that say nothing ("Regular")."""
    return frozenset(["", *domain().table("values").get("nothing", ())])


@lru_cache(maxsize=65_536)
def _terms_of(_: Domain, value: str, column: str) -> tuple[str, ...]:
    """Canonical terms of one structured value; an unknown value is kept folded."""
    if fold(value) in _nothing():
        return ()
    terms = _terms().get(column)
    found = find_terms([value], terms)[0] if terms else []
    return tuple(found or [fold(part) for part in split_values(value) if fold(part)])


def parse_attributes(text: str | None) -> dict[str, list[str]]:
    """Lists per column from one product's key-value attributes, given as a JSON object.

    Keys outside the domain's table ``attribute_keys`` and values that say nothing ("NA",
    "Regular") are passed over; what is not a JSON object yields nothing.
    """
    lists: dict[str, list[str]] = {name: [] for name in domain().lists}
    keys = domain().table("attribute_keys")
    for key, value in _pairs(text):
        own = lists.get(keys.get(fold(key), ""))
        if own is not None and isinstance(value, str):
            own.extend(t for t in _terms_of(domain(), value, keys[fold(key)]) if t not in own)
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
    columns: Mapping[str, pa.Array], title: pa.Array, description: pa.Array, brand: pa.Array
) -> dict[str, pa.ListArray]:
    """The list columns.

    Args:
        columns: clean columns as text, where the source has them: the lists themselves, the plain
            ones that an attribute is read from beside its list, and "attributes" (JSON objects).
        title, description, brand: clean columns of the same length.

    Returns:
        Per list column: from its own column, else from "attributes", else from the vocabulary in
        title and description; empty where nothing was found, never null. A list begins with the
        plain columns of its attribute (the usage is the first of the occasions).
    """
    names, size = domain().lists, len(title)
    parsed = _parse_column(columns.get("attributes"), size)
    stated = {
        name: [first or second for first, second in zip(own, parsed[name], strict=True)]
        for name in names
        for own in [_own_values(columns.get(name), name, size)]
    }
    lacking = [row for row in range(size) if not all(stated[name][row] for name in names)]
    texts = _searchable(title, description, brand)
    for name, found in _found([texts[row] for row in lacking], names).items():
        for row, terms in zip(lacking, found, strict=True):
            stated[name][row] = stated[name][row] or terms
    for one in domain().attributes:
        for more in one.columns[1:]:
            if one.column in names and more in columns:
                stated[one.column] = _begun(columns[more], stated[one.column], one.terms)
    return {name: pa.array(values, pa.list_(pa.string())) for name, values in stated.items()}


def found_values(
    columns: Mapping[str, pa.Array], title: pa.Array, description: pa.Array, brand: pa.Array
) -> dict[str, pa.Array]:
    """Plain columns of attributes said beside the noun, where missing from title and description.

    Args:
        columns, title, description, brand: as of :func:`attribute_lists`.
    """
    plain = [one.column for one in domain().attributes if one.role == "words" and one.terms]
    names = [name for name in plain if name not in domain().lists]
    texts = _searchable(title, description, brand) if names else []
    none = pa.nulls(len(title), pa.string())
    return {
        name: pc.coalesce(columns.get(name, none), _first(found))
        for name, found in _found(texts, names).items()
    }


def _first(lists: Sequence[list[str]]) -> pa.Array:
    return pa.array([found[0] if found else None for found in lists], pa.string())


def _found(texts: Sequence[str], columns: Sequence[str]) -> dict[str, list[list[str]]]:
    """Terms found in texts per column that has any."""
    terms = {name: table for name, table in _terms().items() if name in columns}
    found = find_all_terms(texts, tuple(terms.values()))
    return {name: found[table] for name, table in terms.items()}


def _begun(plain: pa.Array, lists: Sequence[list[str]], terms: str | None) -> list[list[str]]:
    """Lists that begin with the term of a plain column."""
    encoded = plain.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    words = [canonical(name, terms) if terms else fold(name) for name in names]
    rows = zip(encoded.indices.to_pylist(), lists, strict=True)
    return [
        found if index is None else list(dict.fromkeys([words[index], *found]))
        for index, found in rows
    ]


def _parse_column(column: pa.Array | None, size: int) -> dict[str, Sequence[list[str]]]:
    names = domain().lists
    if column is None:
        return {name: [[]] * size for name in names}
    encoded = column.dictionary_encode()
    distinct = [parse_attributes(text) for text in encoded.dictionary.to_pylist()]
    empty: list[str] = []
    rows = encoded.indices.to_pylist()
    return {name: [empty if row is None else distinct[row][name] for row in rows] for name in names}


def _own_values(column: pa.Array | None, name: str, size: int) -> Sequence[list[str]]:
    if column is None:
        return [[]] * size
    one = domain()
    return [
        list(dict.fromkeys(t for p in split_values(text or "") for t in _terms_of(one, p, name)))
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
