"""The id of an edition: a hash of what it says, not of how its files are written.

In:  the eight tables of an edition and the identity of what its vectors were computed with.
Out: 16 hexadecimal digits. The same rows give the same id under any version of Arrow or Parquet,
     on any machine (docs/design/0009-editions.md gives the canonical form).

Two things are left out because their last bits differ between machines: the vectors of ``strings``
and the ``match`` of a pair, which follows from the rest and those vectors. The identity of the text
encoder stands in for both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.schema.tables import CONFIGS, SCHEMA_VERSION
from fashion_rq_bench.support.files import digest, to_json

__all__ = ["content_id", "table_digest"]

_FORM = "fashion-rq edition content, form 1"
_BLOCK = 65_536
_DERIVED = {"ranking": {"candidates.match"}, "classification": {"match"}, "strings": {"vector"}}
_STATISTICS = {"clusters"}
"""Configs whose float64 are means and quantiles: hashed as float32, so that the order in which a
machine adds numbers up does not show. Prices in ``corpus`` are hashed exactly."""


class _Hasher(Protocol):
    def update(self, data: bytes, /) -> None: ...


def content_id(tables: Mapping[str, pa.Table], identity: Mapping[str, Any]) -> str:
    """Id of an edition's content.

    Args:
        tables: config to table, all of ``schema.CONFIGS``, rows in the edition's order.
        identity: what vectors and matches were computed with, JSON-able; e.g. the encoder's name
            and revision.

    Returns:
        16 hexadecimal digits (64 bits of SHA-256).
    """
    rows = [table_digest(tables[config], config) for config in CONFIGS]
    return digest(_FORM, SCHEMA_VERSION, to_json(identity, indent=None), *rows)[:16]


def table_digest(table: pa.Table, config: str) -> str:
    """SHA-256 (hex) of a config's rows in canonical form, without its derived columns."""
    columns = []
    for name in table.column_names:
        if name not in _DERIVED.get(config, ()):
            columns += [name, _column_digest(table[name], name, config)]
    return digest(config, str(table.num_rows), *columns)


def _column_digest(column: pa.ChunkedArray, path: str, config: str) -> str:
    """Blocks of a fixed number of rows, so that the chunks of a table do not matter."""
    hasher = hashlib.sha256()
    for start in range(0, len(column), _BLOCK):
        block = column.slice(start, _BLOCK).combine_chunks()
        array = pa.concat_arrays(block.chunks) if isinstance(block, pa.ChunkedArray) else block
        _feed(hasher, array, path, config)
    return hasher.hexdigest()


def _feed(hasher: _Hasher, array: pa.Array, path: str, config: str) -> None:
    """Length, null mask, then lengths and children of nested types or the values of plain ones."""
    if path in _DERIVED.get(config, ()):
        return
    _feed_numbers(hasher, np.array([len(array), array.null_count]), "<i8")
    if array.null_count:
        _feed_numbers(hasher, pc.is_null(array).to_numpy(zero_copy_only=False), "u1")
    kind = array.type
    if pa.types.is_struct(kind):
        for field, child in zip(kind, array.flatten(), strict=True):
            hasher.update(field.name.encode("utf-8") + b"\0")
            _feed(hasher, child, f"{path}.{field.name}", config)
    elif pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        _feed_numbers(hasher, _filled(pc.list_value_length(array), 0), "<i8")
        _feed(hasher, array.flatten(), path, config)
    elif pa.types.is_string(kind):
        _feed_strings(hasher, array)
    else:
        _feed_values(hasher, array, config)


def _feed_strings(hasher: _Hasher, array: pa.Array) -> None:
    _feed_numbers(hasher, _filled(pc.binary_length(array), 0), "<i8")
    present = array.drop_null().cast(pa.large_string())
    _, offsets, data = present.buffers()
    if len(present) and data is not None:
        # a slice keeps the whole buffer: only what its offsets span belongs to it
        bounds = np.frombuffer(offsets, np.int64)[present.offset :][: len(present) + 1]
        hasher.update(data.slice(bounds[0], bounds[-1] - bounds[0]).to_pybytes())


def _feed_values(hasher: _Hasher, array: pa.Array, config: str) -> None:
    kind = array.type
    if pa.types.is_boolean(kind):
        _feed_numbers(hasher, _filled(array, False), "u1")
    elif pa.types.is_integer(kind):
        _feed_numbers(hasher, _filled(array, 0), "<i8")
    else:
        values = _filled(array, 0.0)
        narrow = config in _STATISTICS or not pa.types.is_float64(kind)
        values = values.astype("<f4" if narrow else "<f8") + 0.0  # -0.0 becomes 0.0
        values[np.isnan(values)] = np.nan  # one bit pattern for every NaN
        _feed_numbers(hasher, values, values.dtype.newbyteorder("<"))


def _filled(array: pa.Array, value: float) -> np.ndarray[Any, Any]:
    filled = pc.fill_null(array, pa.scalar(value, array.type))
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def _feed_numbers(hasher: _Hasher, values: np.ndarray[Any, Any], kind: Any) -> None:
    hasher.update(np.ascontiguousarray(values, dtype=kind).tobytes())
