"""Products that no query can tell apart.

In:  a catalog table, and the text that models read of each product.
Out: one group number per product; products of one group are twins.

The paper grades products by the tree alone. Two listings of one article can fall into different
leaves, and would then stand in a pool under different grades with nothing to tell them apart; so
pools hold at most one of any twins (see :mod:`~fashion_rq_bench.builders.tasks.candidate_pools`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fashion_rq_bench.schema.domain import domain

__all__ = ["twins"]

_UNIT = "\x1f"
_NULL = "\x00"


def twins(catalog: pa.Table, texts: pa.Array) -> npt.NDArray[np.int64]:
    """Group products that share title and attributes, or the text that models read.

    Case and spacing do not count. The two relations are joined: if A equals B in attributes and B
    equals C in text, all three are twins.

    Args:
        catalog: ``CATALOG`` table of N rows.
        texts: N strings, from :func:`~fashion_rq_bench.builders.catalog.text.product_text`.

    Returns:
        (N,) group numbers in [0, number of groups), the same for twins.
    """
    by_attributes = _codes(_joined(catalog))
    by_text = _codes(_folded(texts))
    shift = int(by_attributes.max(initial=-1)) + 1
    size = shift + int(by_text.max(initial=-1)) + 1
    ones = np.ones(len(by_text), dtype=np.int8)
    graph = coo_array((ones, (by_attributes, by_text + shift)), shape=(size, size))
    _, component = connected_components(graph, directed=False)
    return np.asarray(component[by_attributes], dtype=np.int64)


def _joined(catalog: pa.Table) -> pa.Array:
    """The title and what the attributes read; the exact price and other columns do not count."""
    read = (name for one in domain().attributes for name in one.columns)
    names = [name for name in dict.fromkeys(("title", *read)) if name not in domain().numbers]
    columns = [_folded(_flat(catalog[name])) for name in names]
    return pc.binary_join_element_wise(
        *columns, _UNIT, null_handling="replace", null_replacement=_NULL
    )


def _flat(column: pa.ChunkedArray) -> pa.Array:
    values = column.combine_chunks()
    return pc.binary_join(values, _UNIT) if pa.types.is_list(values.type) else values


def _folded(values: pa.Array) -> pa.Array:
    """Lower case, single spaces; every distinct value is folded once."""
    encoded = values.dictionary_encode()
    lower = pc.utf8_lower(encoded.dictionary)
    single = pc.utf8_trim_whitespace(pc.replace_substring_regex(lower, r"\s+", " "))
    return single.take(encoded.indices)


def _codes(values: pa.Array) -> npt.NDArray[np.int64]:
    encoded = values.dictionary_encode(null_encoding="encode")
    indices = (
        encoded.combine_chunks().indices
        if isinstance(encoded, pa.ChunkedArray)
        else encoded.indices
    )
    return np.asarray(indices, dtype=np.int64)
