"""Values of a product that follow from its other values.

In:  clean string columns (null for no value).
Out: categories, titles, descriptions, years, age groups, as columns of the same length.

Age groups are the scale of the paper's section 8.0.4 ("Adults-Men" is adult).
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.catalog.values.cleaning import join_present
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.words.vocabulary import find_terms, fold

__all__ = ["age_groups", "categories", "descriptions", "made_titles", "spelled_out", "years"]

_YEARS = (1900, 2100)
_PATH = r"\s*(?:>|»|/)\s*"


def _none(size: int) -> pa.Array:
    return pa.nulls(size, pa.string())


def categories(fields: Mapping[str, pa.Array], size: int) -> dict[str, pa.Array]:
    """``master_category``, ``sub_category`` and ``article_type``.

    A ``category`` column stands in for what the source lacks: of a path ("Women > Dresses >
    Maxi") the first part is the master category, the one before the last the subcategory, the last
    the article type. Without an article type column the subcategory, and without that the master
    category, is the article type. Then subcategory and master category fall back to the level
    below them, so that every labelled product has all three.
    """
    parts = _path_parts(fields["category"]) if "category" in fields else {}
    found = {name: fields.get(name, parts.get(name)) for name in _LEVELS}
    types = next((found[name] for name in _LEVELS if found[name] is not None), _none(size))
    middle = found["sub_category"]
    middle = types if middle is None else pc.coalesce(middle, types)
    top = found["master_category"]
    top = middle if top is None else pc.coalesce(top, middle)
    return {"master_category": top, "sub_category": middle, "article_type": types}


_LEVELS = ("article_type", "sub_category", "master_category")


def _path_parts(category: pa.Array) -> dict[str, pa.Array]:
    encoded = category.dictionary_encode()
    names = encoded.dictionary
    split = pc.split_pattern_regex(names, _PATH).to_pylist()
    # "Shirts / Tops" is one name, "Men / Shirts / Formal" a path: a slash needs two of its kind.
    paths = [
        [part for part in parts if part] if ">" in name or "»" in name or len(parts) > 2 else [name]
        for name, parts in zip(names.to_pylist(), split, strict=True)
    ]
    chosen = {"article_type": -1, "sub_category": -2, "master_category": 0}
    return {
        level: pa.array(
            [path[max(index, -len(path))] if path else None for path in paths], pa.string()
        ).take(encoded.indices)
        for level, index in chosen.items()
    }


def made_titles(fields: Mapping[str, pa.Array], size: int) -> pa.Array:
    """Titles made from brand, person, colour and article type; null without an article type."""
    told = [one.column for one in map(domain().role, ("person", "color")) if one]
    parts = [fields.get(name, _none(size)) for name in ("brand", *told, "article_type")]
    return pc.if_else(pc.is_valid(parts[-1]), join_present(parts, " "), None)


def descriptions(fields: Mapping[str, pa.Array], size: int) -> pa.Array:
    """The description, then style note and care, each unless it is already part of it."""
    text = fields.get("description", _none(size))
    for name in ("style_note", "care"):
        if name in fields:
            text = _appended(text, fields[name])
    return text


def _appended(text: pa.Array, more: pa.Array) -> pa.Array:
    rows = zip(text.to_pylist(), more.to_pylist(), strict=True)
    joined = [
        new if old is None else old if new is None or new in old else f"{old} {new}"
        for old, new in rows
    ]
    return pa.array(joined, pa.string())


def spelled_out(column: str, values: pa.Array) -> pa.Array:
    """Values as the catalog writes them; the domain's letters written out ("F" is Women)."""
    letters = domain().table("letters").get(column, {})
    encoded = values.dictionary_encode()
    names = [letters.get(fold(name), name) for name in encoded.dictionary.to_pylist()]
    return pa.array(names, pa.string()).take(encoded.indices)


def years(year: pa.Array) -> tuple[pa.Array, pa.BooleanArray]:
    """Years as int32 and which rows had one that is none (1900 to 2100; "2016.0" is 2016)."""
    encoded = year.dictionary_encode()
    numbers = pa.array([_year(text) for text in encoded.dictionary.to_pylist()], pa.int32())
    values = numbers.take(encoded.indices)
    return values, pc.and_(pc.is_valid(year), pc.is_null(values))


def _year(text: str) -> int | None:
    digits = text.removesuffix(".0")
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else 0
    return number if _YEARS[0] <= number <= _YEARS[1] else None


def age_groups(stated: pa.Array, title: pa.Array, person: pa.Array, terms: str) -> pa.Array:
    """Age groups: the stated one on the paper's scale, else the title's, else the person's.

    A stated value off the scale is kept as it is. "Men" and "Women" are adults, "Boys" and "Girls"
    kids, unless the title says otherwise ("Disney Kids Boys"); unisex says nothing.
    """
    encoded = stated.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    known = [
        (found or [text])[0] for text, found in zip(names, find_terms(names, terms), strict=True)
    ]
    values = pa.array(known, pa.string()).take(encoded.indices)
    told = pa.array([found[0] if found else None for found in find_terms(title, terms)])
    ages = domain().table("implied_age")
    which = pc.index_in(pc.utf8_lower(person), value_set=pa.array(list(ages), pa.string()))
    implied = pa.array(list(ages.values()), pa.string()).take(which)
    return pc.coalesce(values, told.cast(pa.string()), implied)
