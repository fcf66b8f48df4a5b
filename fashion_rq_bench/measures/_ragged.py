"""Ragged arrays: one row per query, rows of any length, stored flat.

In:  2-D arrays, lists of arrays, Arrow list arrays.
Out: :class:`Ragged` (flat values and row offsets), checked; and :func:`blocks`, which lays rows of
     similar length out as small 2-D arrays, so that all work is vectorised and memory stays linear
     whatever the lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fashion_rq_bench.errors import MetricInputError

__all__ = [
    "Block",
    "Ragged",
    "blocks",
    "check_same_rows",
    "encode_ids",
    "number_rows",
    "offsets_of",
    "rows_of",
]

Array = NDArray[Any]
Ints = NDArray[np.int64]

_BLOCK_VALUES = 1 << 17  # values per 2-D block: about the size of a core's cache


@dataclass(frozen=True)
class Ragged:
    """``len(offsets) - 1`` rows; row i is ``values[offsets[i]:offsets[i + 1]]``."""

    values: Array
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        """Number of values in each row."""
        return np.diff(self.offsets)

    def locate(self, position: int) -> tuple[int, int]:
        """Row and place within the row of a position in ``values``."""
        row = int(np.searchsorted(self.offsets, position, side="right")) - 1
        return row, position - int(self.offsets[row])

    def row_numbers(self) -> Ints:
        """For every value the row it stands in."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)


@dataclass(frozen=True)
class Block:
    """Rows whose lengths differ by less than a factor of two, to be laid out as a 2-D array."""

    rows: Ints
    starts: Ints
    lengths: Ints
    width: int

    def pad(self, values: Array, fill: float) -> Array:
        """The rows as a (rows, width) array, short ones filled up on the right (may be a view)."""
        first, size = int(self.starts[0]), len(self.rows) * self.width
        if int(self.lengths.sum()) == size and int(self.starts[-1]) - first + self.width == size:
            return values[first : first + size].reshape(-1, self.width)
        columns = np.arange(self.width)
        where = np.minimum(self.starts[:, None] + columns, len(values) - 1)
        return np.where(columns < self.lengths[:, None], values[where], fill)


def _similar_lengths(lengths: Ints) -> Iterator[Ints]:
    if len(lengths) and lengths[0] > 0 and (lengths == lengths[0]).all():
        yield np.arange(len(lengths))
        return
    size_class = np.frexp(lengths.astype(np.float64))[1]  # 1 for 1, 2 for 2-3, 3 for 4-7, …
    for one in np.unique(size_class[lengths > 0]):
        yield np.flatnonzero(size_class == one)


def blocks(offsets: Ints) -> Iterator[Block]:
    """Cut rows into blocks; rows without values are left out."""
    lengths = np.diff(offsets)
    for rows in _similar_lengths(lengths):
        width = int(lengths[rows].max())
        step = max(1, _BLOCK_VALUES // width)
        for first in range(0, len(rows), step):
            chunk = rows[first : first + step]
            yield Block(chunk, offsets[chunk], lengths[chunk], width)


def offsets_of(lengths: Array | Sequence[int]) -> Ints:
    """Row offsets for rows of these lengths."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _from_arrow(array: Any, name: str) -> Ragged:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if not isinstance(array, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        raise MetricInputError(
            f"{name} must be an Arrow array of lists, one list per query.", given=str(array.type)
        )
    values = array.flatten()
    if array.null_count or values.null_count:
        raise MetricInputError(
            f"{name} contains nulls.", given=f"{array.null_count + values.null_count} nulls"
        )
    lengths = pc.list_value_length(array).to_numpy(zero_copy_only=False)
    return Ragged(values.to_numpy(zero_copy_only=False), offsets_of(lengths))


def _row_array(row: Any, index: int, name: str) -> Array:
    try:
        array = np.asarray(row)
    except ValueError:  # lists of unequal length inside
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise MetricInputError(
            f"{name} must hold one list per query; row {index} is not a list of single values.",
            given=row,
            fix="Wrap a single query: [[...]].",
        )
    return array


def _check_kinds(rows: list[Array], data: Any, kinds: str, name: str, expected: str) -> None:
    for index, (row, given) in enumerate(zip(rows, data, strict=True)):
        if len(row) and row.dtype.kind not in kinds:
            bad = [
                place
                for place, item in enumerate(given)
                if np.asarray(item).dtype.kind not in kinds
            ]
            place = bad[0] if bad else 0
            raise MetricInputError(
                f"{name} must hold {expected}; query {index}, position {place}, holds "
                f"{given[place]!r}."
            )


def _convert(data: Any, name: str, kinds: str, expected: str) -> Ragged:
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return _from_arrow(data, name)
    if hasattr(data, "__array__"):  # numpy itself, a tensor, a data frame
        data = np.asarray(data)
        if data.ndim == 2:
            starts = np.arange(data.shape[0] + 1, dtype=np.int64) * data.shape[1]
            return Ragged(np.ascontiguousarray(data).ravel(), starts)
    single = isinstance(data, str | bytes) or (isinstance(data, np.ndarray) and data.ndim == 0)
    if single or not isinstance(data, Sequence | np.ndarray):
        raise MetricInputError(
            f"{name} must be a 2-D array, a list of arrays or an Arrow list array.",
            given=type(data).__name__,
        )
    rows = [_row_array(row, index, name) for index, row in enumerate(data)]
    _check_kinds(rows, data, kinds, name, expected)
    filled = [row for row in rows if len(row)]
    flat = np.concatenate(filled) if filled else np.empty(0)
    return Ragged(flat, offsets_of([len(row) for row in rows]))


def rows_of(data: Any, name: str, *, kinds: str, expected: str) -> Ragged:
    """Any accepted form as :class:`Ragged`.

    Args:
        data: a 2-D array, a sequence of 1-D sequences, or an Arrow list array.
        name: what it is, for error messages.
        kinds: accepted numpy kinds of the values, e.g. ``"iuf"``.
        expected: the same in words.

    Raises:
        MetricInputError: no rows, a row that is no list, values of another kind, nulls.
    """
    ragged = data if isinstance(data, Ragged) else _convert(data, name, kinds, expected)
    if not len(ragged):
        raise MetricInputError(f"{name} is empty.", fix="Give at least one query.")
    if len(ragged.values) and ragged.values.dtype.kind not in kinds:
        raise MetricInputError(
            f"{name} must hold {expected}.", given=str(ragged.values.dtype), fix="Convert it first."
        )
    return ragged


def number_rows(data: Any, name: str, *, minimum: float | None = None) -> Ragged:
    """Finite numbers; integers, float32 and float64 keep their type, others become float64.

    Raises:
        MetricInputError: as :func:`rows_of`, and for NaN, infinite or too small values, naming
            query and position.
    """
    ragged = rows_of(data, name, kinds="biuf", expected="numbers")
    values = ragged.values
    if values.dtype.kind == "b" or values.dtype == np.float16:
        values = values.astype(np.float64)
    if values.dtype.kind == "f":
        _refuse(ragged, ~np.isfinite(values), name, "NaN or infinite")
    if minimum is not None and len(values) and values.min() < minimum:
        _refuse(ragged, values < minimum, name, f"below {minimum:g}")
    return Ragged(values, ragged.offsets)


def _refuse(ragged: Ragged, bad: NDArray[np.bool_], name: str, problem: str) -> None:
    if bad.any():
        position = int(bad.argmax())
        row, place = ragged.locate(position)
        raise MetricInputError(
            f"{name} of query {row}, position {place}, is {problem}.",
            given=ragged.values[position].item(),
            fix="Correct the value or leave the product out.",
        )


def check_same_rows(scores: Ragged, other: Ragged, name: str) -> None:
    """Refuse rows that do not have the lengths of the scores' rows."""
    if len(scores) != len(other):
        raise MetricInputError(
            f"scores and {name} must have one row per query.",
            given=f"{len(scores)} rows of scores, {len(other)} of {name}",
        )
    differ = np.flatnonzero(scores.lengths != other.lengths)
    if len(differ):
        row = int(differ[0])
        raise MetricInputError(
            f"scores and {name} of query {row} differ in length.",
            given=f"{scores.lengths[row]} scores, {other.lengths[row]} {name}",
        )


def _one_chunk(array: Any) -> pa.Array:
    """Strings of more than 2 GB come in chunks; their offsets then need 64 bits."""
    if isinstance(array, pa.ChunkedArray):
        wide = pa.large_string() if pa.types.is_string(array.type) else array.type
        return array.cast(wide).combine_chunks()
    return array


def encode_ids(data: Any, name: str = "ids") -> tuple[Ragged, pa.Array]:
    """Ids as numbers in the order of the ids (strings by their UTF-8 bytes, integers by value).

    Returns:
        the codes as a ragged int64 array, and the distinct ids in order: ``ids[code]``.

    Raises:
        MetricInputError: as :func:`rows_of`, and if an id repeats within a row.
    """
    ragged = rows_of(data, name, kinds="iuUO", expected="strings or integers")
    try:
        encoded = _one_chunk(pa.array(ragged.values)).dictionary_encode()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise MetricInputError(f"{name} must be all strings or all integers: {error}.") from error
    if encoded.null_count:
        row, place = ragged.locate(int(np.argmax(encoded.is_null().to_numpy(zero_copy_only=False))))
        raise MetricInputError(f"{name} of query {row}, position {place}, is null.")
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    codes = Ragged(rank[encoded.indices.to_numpy()], ragged.offsets)
    distinct = encoded.dictionary.take(pa.array(order))
    _refuse_repeats(codes, distinct, name)
    return codes, distinct


def _refuse_repeats(codes: Ragged, distinct: pa.Array, name: str) -> None:
    for block in blocks(codes.offsets):
        ordered = np.sort(block.pad(codes.values, -1), axis=1)
        same = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
        if same.any():
            row, column = np.argwhere(same)[0]
            raise MetricInputError(
                f"{name} of query {int(block.rows[row])} repeat.",
                given=distinct[int(ordered[row, column])].as_py(),
                fix="Keep each product once per query.",
            )
