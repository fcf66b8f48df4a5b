"""What models make of texts: each distinct one encoded once, kept on disk by identity and content.

In:  an encoder, texts, and a folder for finished shards (or None).
Out: (N, d) float32 vectors in the order of the texts; dot products of pairs.

A shard's file is named by the encoder's identity, the role and the texts in it. Shards are cut
from the sorted distinct texts, whatever is already there, so that an interrupted run and an
uninterrupted one give the same bits (a forward pass depends on what else is in its batch).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.encoders.encoding import Role, Vectors, check_vectors
from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.support.files import digest, read_parquet, write_parquet
from fashion_rq_bench.support.metering import encoding
from fashion_rq_bench.support.progress import track

__all__ = ["SHARD", "Encodes", "encode_rows", "encode_texts", "pair_dots"]

SHARD = 1024
"""Items per shard."""

_NUMBERS = 1 << 22
"""Numbers per block of gathered vectors: 32 MB."""

Ints = NDArray[np.int64]
Item = TypeVar("Item", str, tuple[str, str])


class Encodes(Protocol):
    """The part of a ``TextEncoder`` that scoring needs."""

    @property
    def identity(self) -> str:
        """Key of the function from text to vector."""
        ...

    def encode(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """Vectors (N, d)."""
        ...


def encode_rows(
    items: Sequence[Item],
    encode: Callable[[list[Item]], pa.Table],
    identity: str,
    role: str,
    *,
    cache: Path | None = None,
    leading: Iterable[Item] = (),
    counter: object = None,
) -> tuple[list[pa.Table], Ints]:
    """Encode each distinct item once, shard by shard, keeping finished shards.

    Args:
        items: N texts, or N pairs of texts.
        encode: from a list of distinct items to a table with one row for each.
        identity: of the model, with every setting that changes a row.
        role: what the items are, such as "query"; part of the shard's name.
        cache: folder of shards; nothing is kept if None.
        leading: some of the items, which get shards of their own: those of a call with them alone.
        counter: has ``count_tokens(items)``, for what a run cost.

    Returns:
        The shards, whose rows are the distinct items, and (N,) the row of each item.

    Raises:
        ModelError: from ``encode``, or because it gave another number of rows.
    """
    first = sorted(set(leading), key=_length_first)
    rest = sorted(set(items).difference(first), key=_length_first)
    folder = None if cache is None else cache / digest(identity, role)[:16]
    cuts = [
        part[start : start + SHARD]
        for part in (first, rest)
        for start in range(0, len(part), SHARD)
    ]
    shards = [
        _shard(cut, encode, identity, folder, role, counter)
        for cut in track(cuts, f"encoding {role} texts", total=SHARD * len(cuts), unit=SHARD)
    ]
    return shards, _place_of(items, first + rest)


def encode_texts(
    encoder: Encodes,
    texts: Sequence[str],
    role: Role,
    *,
    cache: Path | None = None,
    leading: Iterable[str] = (),
) -> Vectors:
    """Vectors of texts, shape (N, d), as the encoder gives them.

    Args:
        encoder: gives its ``identity`` and encodes lists of texts.
        texts: N strings; equal ones are encoded once.
        role: "query" or "document".
        cache: folder of shards; nothing is kept if None.
        leading: as in :func:`encode_rows`.

    Raises:
        ModelError: from the encoder, or because its vectors cannot be ranked by.
    """

    def encode(part: list[str]) -> pa.Table:
        vectors = np.asarray(encoder.encode(part, role))
        check_vectors(vectors, len(part), vectors.shape[-1], encoder.identity)
        flat = pa.array(np.ascontiguousarray(vectors).ravel(), pa.float32())
        return pa.table({"vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])})

    shards, place = encode_rows(
        texts, encode, encoder.identity, role, cache=cache, leading=leading, counter=encoder
    )
    if not shards:
        return encoder.encode([], role)
    widths = {shard["vector"].type.list_size for shard in shards}
    if len(widths) > 1:
        raise _uneven(encoder.identity, widths)
    return np.concatenate([_matrix(shard) for shard in shards])[place]


def pair_dots(
    queries: Vectors, products: Vectors, query_index: Ints, product_index: Ints
) -> NDArray[np.float64]:
    """Dot product of U pairs of rows, in float64, so that equal vectors score equally.

    Args:
        queries: (Q, d) vectors; unit vectors give cosines.
        products: (P, d) vectors.
        query_index: (U,) rows of ``queries``.
        product_index: (U,) rows of ``products``.

    Returns:
        (U,) dot products.

    Raises:
        ModelError: queries and products have vectors of different lengths.
    """
    if queries.shape[1] != products.shape[1]:
        raise _uneven("The model", {queries.shape[1], products.shape[1]})
    found = np.empty(len(query_index))
    block = max(1, _NUMBERS // max(1, queries.shape[1]))
    for start in range(0, len(query_index), block):
        part = slice(start, start + block)
        left = queries[query_index[part]].astype(np.float64)
        right = products[product_index[part]].astype(np.float64)
        found[part] = np.einsum("ud,ud->u", left, right)
    return found


def _place_of(items: Sequence[Item], distinct: Sequence[Item]) -> Ints:
    position = {item: row for row, item in enumerate(distinct)}
    return np.array([position[item] for item in items], dtype=np.int64)


def _uneven(name: str, widths: set[int]) -> ModelError:
    return ModelError(f"{name} gave vectors of different lengths.", given=sorted(widths))


def _length_first(item: str | tuple[str, str]) -> tuple[int, str | tuple[str, str]]:
    return (len(item) if isinstance(item, str) else sum(map(len, item))), item


def _matrix(shard: pa.Table) -> Vectors:
    column = shard["vector"].combine_chunks()
    found: Vectors = column.flatten().to_numpy().reshape(-1, column.type.list_size)
    return found


def _shard(
    items: list[Item],
    encode: Callable[[list[Item]], pa.Table],
    identity: str,
    folder: Path | None,
    role: str,
    counter: object,
) -> pa.Table:
    parts = [item if isinstance(item, str) else "\0".join(item) for item in items]
    path = None if folder is None else folder / f"{digest(*parts)[:32]}.parquet"
    if path is not None and path.is_file():
        return read_parquet(path)
    with encoding(counter, role, items) as note:
        rows = encode(items)
        note(rows if role == "document" else None)
    if len(rows) != len(items):
        raise ModelError(f"{identity} was given {len(items)} texts and returned {len(rows)} rows.")
    if path is not None:
        write_parquet(rows, path)
    return rows
