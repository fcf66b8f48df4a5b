"""Vectors of texts, each distinct text encoded once, kept on disk by identity and content.

In:  an encoder, texts, and a folder for finished shards (or None).
Out: (N, d) float32 vectors in the order of the texts; dot products of pairs.

A shard's file is named by the encoder's identity, the role and the texts in it. Shards are cut
from the sorted distinct texts, whatever is already there, so that an interrupted run and an
uninterrupted one give the same bits (a forward pass depends on what else is in its batch).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench._io import digest, read_parquet, write_parquet
from fashion_rq_bench._progress import track
from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.retrievers.encoders import Role, Vectors, check_vectors

__all__ = ["SHARD", "Encodes", "encode_texts", "pair_dots"]

SHARD = 1024
"""Texts per shard."""

_NUMBERS = 1 << 22
"""Numbers per block of gathered vectors: 32 MB."""


class Encodes(Protocol):
    """The part of a ``TextEncoder`` that scoring needs."""

    @property
    def identity(self) -> str:
        """Key of the function from text to vector."""
        ...

    def encode(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """Vectors (N, d)."""
        ...


def encode_texts(
    encoder: Encodes, texts: Sequence[str], role: Role, *, cache: Path | None = None
) -> Vectors:
    """Vectors of texts, shape (N, d), as the encoder gives them.

    Args:
        encoder: gives its ``identity`` and encodes lists of texts.
        texts: N strings; equal ones are encoded once.
        role: "query" or "document".
        cache: folder of shards; nothing is kept if None.

    Raises:
        ModelError: from the encoder.
    """
    position = {text: row for row, text in enumerate(sorted(set(texts), key=_length_first))}
    distinct = list(position)
    folder = None if cache is None else cache / digest(encoder.identity, role)[:16]
    starts = range(0, len(distinct), SHARD)
    shards = [
        _shard(encoder, distinct[start : start + SHARD], role, folder)
        for start in track(starts, f"encoding {role} texts", total=len(distinct), unit=SHARD)
    ]
    if not shards:
        return encoder.encode([], role)
    widths = {shard.shape[1] for shard in shards}
    if len(widths) > 1:
        raise _uneven(encoder.identity, widths)
    return np.concatenate(shards)[[position[text] for text in texts]]


def pair_dots(
    queries: Vectors,
    products: Vectors,
    query_index: NDArray[np.int64],
    product_index: NDArray[np.int64],
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


def _uneven(name: str, widths: set[int]) -> ModelError:
    return ModelError(f"{name} gave vectors of different lengths.", given=sorted(widths))


def _encoded(encoder: Encodes, texts: list[str], role: Role) -> Vectors:
    vectors = encoder.encode(texts, role)
    check_vectors(vectors, len(texts), vectors.shape[-1], encoder.identity)
    return vectors


def _length_first(text: str) -> tuple[int, str]:
    return len(text), text


def _shard(encoder: Encodes, texts: list[str], role: Role, folder: Path | None) -> Vectors:
    if folder is None:
        return _encoded(encoder, texts, role)
    path = folder / f"{digest(*texts)[:32]}.parquet"
    if not path.is_file():
        vectors = _encoded(encoder, texts, role)
        flat = pa.array(np.ascontiguousarray(vectors).ravel(), pa.float32())
        column = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
        write_parquet(pa.table({"vector": column}), path)
        return vectors
    column = read_parquet(path)["vector"].combine_chunks()
    width = column.type.list_size
    found: Vectors = column.flatten().to_numpy().reshape(-1, width)
    return found
