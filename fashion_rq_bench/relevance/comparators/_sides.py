"""What the comparators share: factorised values of queries and products, and best-of-all-pairs.

In:  columns of an Arrow table of products.
Out: a ``Side``: every distinct value once, and which row holds which.

Each distinct (query value, product value) pair is compared once, however many (query, product)
pairs hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fashion_rq_bench.words.folding import fold, plain

__all__ = [
    "FALLBACK",
    "LEVELS",
    "MISSING",
    "SEPARATOR",
    "VALUE",
    "Side",
    "best_over_rows",
    "best_over_values",
    "category_levels",
    "category_paths",
    "column",
    "distinct",
    "joined",
    "levels_of",
    "path_of",
    "side_of",
    "text_side",
    "values_side",
]

VALUE, FALLBACK, MISSING = range(3)
"""Where a product's comparison strings come from: its value, its text, or nowhere."""

SEPARATOR = "\x1f"
LEVELS = ("master_category", "sub_category", "article_type")
_TABLE = 1 << 21  # entries of a table that is filled faster than as many keys are sorted
_NOTHING = pa.scalar(None, pa.large_string())
_BETWEEN = pa.scalar(SEPARATOR, pa.large_string())

Scorer = Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]]


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        codes: (N,) position in ``values`` of each row.
        values: distinct tuples of comparison strings.
        source: (len(values),) VALUE, FALLBACK or MISSING; a MISSING tuple is never compared.
    """

    codes: NDArray[np.int64]
    values: Sequence[tuple[str, ...]]
    source: NDArray[np.uint8]


def column(products: pa.Table, name: str) -> pa.Array:
    """A column as one array of strings; null where absent, blank strings are null.

    List columns are joined by a separator that :func:`values_side` splits again.
    """
    if name not in products.column_names:
        return pa.nulls(len(products), pa.large_string())
    found = products.column(name).combine_chunks()
    if pa.types.is_list(found.type) or pa.types.is_large_list(found.type):
        found = _list_joined(found)
    text = pc.utf8_trim_whitespace(found.cast(pa.large_string()))
    return pc.if_else(pc.equal(text, ""), _NOTHING, text)


def _list_joined(lists: pa.Array) -> pa.Array:
    if lists.flatten().null_count:
        lists = pa.array(
            [[v for v in row if v is not None] if row else None for row in lists.to_pylist()],
            pa.list_(pa.string()),
        )
    return pc.binary_join(lists.cast(pa.list_(pa.string())), SEPARATOR)


def values_side(keys: pa.Array, clean: Callable[[str], str] = fold) -> Side:
    """Side of a column of joined values; null rows are MISSING.

    Args:
        keys: (N,) strings as :func:`column` gives them.
        clean: applied to every single value; values it empties are dropped.
    """
    once = cache(clean)  # lists repeat their members
    return side_of(keys, lambda key: _split(key, once))


def _split(key: str, clean: Callable[[str], str]) -> tuple[str, ...]:
    cleaned = (clean(part) for part in key.split(SEPARATOR))
    return tuple(dict.fromkeys(part for part in cleaned if part))


def side_of(keys: pa.Array, split: Callable[[str], tuple[str, ...]], source: int = VALUE) -> Side:
    """Side of a column of strings, each split into comparison strings; null is MISSING."""
    encoded = keys.dictionary_encode()
    values = [split(key) for key in encoded.dictionary.to_pylist()]
    sources = [source if value else MISSING for value in values]
    codes = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    return Side(
        codes.astype(np.int64), [*values, ()], np.array([*sources, MISSING], dtype=np.uint8)
    )


def text_side(
    values: pa.Array, texts: Sequence[pa.Array], clean: Callable[[str], str] = fold
) -> Side:
    """Side of values that fall back to texts, each text being compared as a single string.

    Args:
        values: (N,) joined values.
        texts: (N,) columns of text; those that are not null stand in where a row has no values.
        clean: applied to every single value, not to texts.
    """
    own = values_side(values, clean)
    missing = own.source[own.codes] == MISSING
    standing_in = pc.if_else(pa.array(missing), joined(texts), _NOTHING)
    other = side_of(standing_in, lambda key: tuple(filter(None, key.split(SEPARATOR))), FALLBACK)
    return Side(
        np.where(missing, other.codes + len(own.values), own.codes),
        [*own.values, *other.values],
        np.concatenate([own.source, other.source]),
    )


def joined(columns: Sequence[pa.Array]) -> pa.Array:
    """Columns of strings joined row by row, an empty string for a null; null where all are."""
    # "replace": with "skip", pyarrow 26 drops the rows in which every column is null.
    text = pc.binary_join_element_wise(
        *columns, _BETWEEN, null_handling="replace", null_replacement=""
    )
    return pc.if_else(pc.equal(text, SEPARATOR * (len(columns) - 1)), _NOTHING, text)


def category_levels(products: pa.Table) -> pa.Array:
    """The levels of each product's category path, joined for :func:`side_of`; null without any."""
    return joined([column(products, name) for name in LEVELS])


def levels_of(key: str) -> tuple[str, ...]:
    """The three levels, master to leaf, of a joined category path; "" where one is missing."""
    return tuple(plain(level) for level in key.split(SEPARATOR))


def path_of(levels: Sequence[str]) -> str:
    """The path as one string, e.g. "apparel > topwear > tshirts"."""
    return " > ".join(level for level in levels if level)


def category_paths(products: pa.Table) -> pa.Array:
    """(N,) category paths, each as one string; null without any level."""
    encoded = category_levels(products).dictionary_encode()
    paths = [path_of(levels_of(key)) for key in encoded.dictionary.to_pylist()]
    return pa.array(paths, pa.large_string()).take(encoded.indices)


def distinct(keys: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """``np.unique`` with inverse of keys in [0, size); without sorting where a table is small."""
    if size > _TABLE:
        found, inverse = np.unique(keys, return_inverse=True)
        return found, inverse
    place = np.zeros(size, dtype=np.int64)
    place[keys] = 1
    found = np.flatnonzero(place)
    place[found] = np.arange(len(found))
    return found, place[keys]


def best_over_values(
    query_values: Sequence[tuple[str, ...]],
    product_values: Sequence[tuple[str, ...]],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    scorer: Scorer,
) -> NDArray[np.float64]:
    """max over v in ``query_values[left[i]]``, u in ``product_values[right[i]]`` of scorer(v, u).

    Args:
        left, right: (U,) positions; the tuples they point at are not empty.
        scorer: called once, with every distinct pair of strings once.

    Returns:
        (U,) float64.
    """
    if not len(left):
        return np.zeros(0)
    q_strings, q_ids, q_starts, q_counts = _flatten(query_values)
    p_strings, p_ids, p_starts, p_counts = _flatten(product_values)
    counts = q_counts[left] * p_counts[right]
    starts = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(left)), counts)
    within = np.arange(len(owner)) - starts[owner]
    across = p_counts[right][owner]
    i = q_ids[q_starts[left][owner] + within // across]
    j = p_ids[p_starts[right][owner] + within % across]
    keys, inverse = distinct(i * len(p_strings) + j, len(q_strings) * len(p_strings))
    one, two = np.divmod(keys, len(p_strings))
    scores = scorer([q_strings[k] for k in one.tolist()], [p_strings[k] for k in two.tolist()])
    return np.maximum.reduceat(scores[inverse], starts)


def best_over_rows(
    values: Sequence[tuple[str, ...]],
    left: NDArray[np.int64],
    rows: NDArray[np.int64],
    scorer: Callable[[Sequence[str], NDArray[np.int64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """max over v in ``values[left[i]]`` of scorer(v, rows[i]), shape (U,); NaN stays NaN."""
    if not len(left):
        return np.zeros(0)
    strings, ids, starts, counts = _flatten(values)
    repeats = counts[left]
    first = np.cumsum(repeats) - repeats
    owner = np.repeat(np.arange(len(left)), repeats)
    member = ids[starts[left][owner] + np.arange(len(owner)) - first[owner]]
    scores = scorer([strings[k] for k in member.tolist()], rows[owner])
    return np.maximum.reduceat(scores, first)


_Flat = tuple[list[str], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def _flatten(values: Sequence[tuple[str, ...]]) -> _Flat:
    """Distinct strings, the string of every member, where each tuple starts, how long it is."""
    ids: dict[str, int] = {}
    members = [ids.setdefault(string, len(ids)) for value in values for string in value]
    counts = np.fromiter(map(len, values), np.int64, len(values))
    return list(ids), np.array(members, dtype=np.int64), np.cumsum(counts) - counts, counts
