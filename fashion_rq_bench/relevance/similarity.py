"""How alike two strings are: the sim(·, ·) of every soft comparator (paper 8.0.4).

In:  pairs of strings; vectors from an edition's ``strings`` table, or an encoder, or neither.
Out: one number in [0, 1] per pair (cosines are clipped: an opposite meaning is worth nothing).

The measure is part of a score's identity: Rel under one encoder is not comparable with Rel under
another. A string without a vector is therefore encoded by the declared encoder or refused, never
compared by some other measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from fashion_rq_bench.errors import MetricInputError, MissingDependencyError, ModelError

__all__ = [
    "Encoder",
    "EncoderSimilarity",
    "LexicalSimilarity",
    "Similarity",
    "StringTable",
    "name_of",
]

_BLOCK = 1024
_DECIMALS = 6
_SHOWN = 5


class Similarity(Protocol):
    """Elementwise similarity of two equally long sequences of strings."""

    @property
    def name(self) -> str:
        """What the numbers depend on, e.g. the encoder's name and revision."""
        ...

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Similarity in [0, 1] of ``left[i]`` and ``right[i]``, shape (len(left),)."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Anything that turns strings into vectors: our text encoders, a SentenceTransformer."""

    def encode(self, texts: list[str], /) -> NDArray[np.floating[Any]]:
        """Vectors of shape (len(texts), d)."""
        ...


class _Vectors:
    """Unit vectors by string, kept at the float16 precision in which editions store them."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._matrix: NDArray[np.float32] | None = None

    def add(self, strings: Sequence[str], vectors: NDArray[Any]) -> None:
        rounded = vectors.astype(np.float16).astype(np.float64)
        norms = np.linalg.norm(rounded, axis=1, keepdims=True)
        if not np.isfinite(norms).all():
            raise MetricInputError("A string's vector holds NaN or infinity.")
        unit = (rounded / np.where(norms > 0, norms, 1.0)).astype(np.float32)
        known = len(self._rows)
        self._rows.update(zip(strings, range(known, known + len(strings)), strict=True))
        self._matrix = unit if self._matrix is None else np.concatenate([self._matrix, unit])

    def missing(self, strings: Iterable[str]) -> list[str]:
        return sorted(string for string in set(strings) if string not in self._rows)

    def cosines(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Cosines clipped to [0, 1] and rounded, so that every machine gives the same digits."""
        if self._matrix is None:
            return np.zeros(0)
        rows = self._rows
        a = np.fromiter((rows[string] for string in left), np.intp, len(left))
        b = np.fromiter((rows[string] for string in right), np.intp, len(right))
        out = np.empty(len(a))
        for start in range(0, len(a), _BLOCK):
            block = slice(start, start + _BLOCK)
            one, two = self._matrix[a[block]], self._matrix[b[block]]
            out[block] = np.einsum("ij,ij->i", one, two, dtype=np.float64)
        out[a == b] = 1.0
        return np.clip(out.round(_DECIMALS), 0.0, 1.0)


def _check_lengths(left: Sequence[str], right: Sequence[str]) -> None:
    if len(left) != len(right):
        raise MetricInputError(
            "A similarity compares two sequences of one length.", given=(len(left), len(right))
        )


def _encode(encoder: Encoder, strings: list[str]) -> NDArray[np.floating[Any]]:
    vectors = np.asarray(encoder.encode(strings))
    if vectors.ndim != 2 or len(vectors) != len(strings):
        raise ModelError(
            "An encoder must return one vector per string.",
            given=vectors.shape,
            allowed=[f"({len(strings)}, d)"],
        )
    return vectors


def name_of(encoder: Encoder, name: str | None = None) -> str:
    """Name under which an encoder's results are kept apart from others'.

    Raises:
        MetricInputError: if neither a name is given nor the encoder has one.
    """
    found = name or getattr(encoder, "name", None)
    if not isinstance(found, str):
        raise MetricInputError(
            "A similarity needs the name of its encoder, for scores under two encoders are not "
            "comparable.",
            given=type(encoder).__name__,
            fix="Pass name=, e.g. the model's id and revision.",
        )
    return found


class StringTable:
    """Cosines looked up in an edition's ``strings`` table.

    Args:
        table: columns ``string`` and ``vector`` (fixed-size list of float16), one row per string.
        name: the encoder that made the vectors, as the edition declares it.
        fallback_encoder: the same encoder, or a function that loads it, for strings not in the
            table; each is encoded once and kept.

    Attributes:
        encoded: how many strings had to be encoded so far.

    Raises:
        MetricInputError: if the table lacks a column or holds a null; on a call, if a string is
            not in the table and no encoder was given.
        MissingDependencyError: on a call, if the encoder is needed but not installed.
    """

    def __init__(
        self,
        table: pa.Table,
        name: str,
        fallback_encoder: Encoder | Callable[[], Encoder] | None = None,
    ) -> None:
        self.name = name
        self.encoded = 0
        self._encoder = fallback_encoder
        self._vectors = _Vectors()
        if not {"string", "vector"} <= set(table.column_names):
            raise MetricInputError(
                "A table of strings needs the columns string and vector.", given=table.column_names
            )
        column = table.column("vector").combine_chunks()
        if column.null_count or table.column("string").null_count:
            raise MetricInputError("A table of strings must not hold nulls.", given=name)
        if len(column):
            vectors = column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
            self._vectors.add(table.column("string").to_pylist(), vectors)

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """See :class:`Similarity`."""
        _check_lengths(left, right)
        missing = self._vectors.missing([*left, *right])
        if missing:
            self._vectors.add(missing, _encode(self._load(missing), missing))
            self.encoded += len(missing)
        return self._vectors.cosines(left, right)

    def _load(self, missing: list[str]) -> Encoder:
        shown = ", ".join(repr(string[:60]) for string in missing[:_SHOWN])
        problem = f"{len(missing)} strings are not in the table of {self.name!r}: {shown}."
        if self._encoder is None:
            raise MetricInputError(
                problem,
                fix=f"Pass the encoder {self.name!r} as fallback_encoder, or install it: "
                'pip install "fashion-rq-bench[offline]".',
            )
        if isinstance(self._encoder, Encoder):
            return self._encoder
        try:
            self._encoder = self._encoder()
        except MissingDependencyError as error:
            raise MissingDependencyError(f"{problem} {error.problem}", fix=error.fix) from error
        return self._encoder


class EncoderSimilarity:
    """Cosines of an encoder's vectors; each distinct string is encoded once and kept.

    Vectors are rounded to float16 as in an edition, so that this equals a :class:`StringTable`
    made by the same encoder.

    Args:
        encoder: ``encode(list of N strings)`` gives (N, d) floats; need not be normalised.
        name: what identifies the encoder, e.g. its name and revision; by default ``encoder.name``.

    Attributes:
        encoded: how many strings were encoded so far.

    Raises:
        MetricInputError: if neither a name is given nor the encoder has one.
    """

    def __init__(self, encoder: Encoder, name: str | None = None) -> None:
        self.name = name_of(encoder, name)
        self.encoded = 0
        self._encoder = encoder
        self._vectors = _Vectors()

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """See :class:`Similarity`."""
        _check_lengths(left, right)
        missing = self._vectors.missing([*left, *right])
        if missing:
            self._vectors.add(missing, _encode(self._encoder, missing))
            self.encoded += len(missing)
        return self._vectors.cosines(left, right)


class LexicalSimilarity:
    """Dice coefficient of the two strings' sets of letter trigrams; needs no model.

    2|A ∩ B| / (|A| + |B|) over trigrams of the case-folded words, each word padded by a space on
    either side. Two strings without any trigram are alike only if they are equal.
    """

    name = "lexical-trigram-dice"

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """See :class:`Similarity`."""
        _check_lengths(left, right)
        strings = list(dict.fromkeys([*left, *right]))
        if not strings:
            return np.zeros(0)
        grams = _trigram_matrix(strings)
        sizes = np.diff(grams.indptr)
        row = {string: index for index, string in enumerate(strings)}
        a = np.fromiter((row[string] for string in left), np.intp, len(left))
        b = np.fromiter((row[string] for string in right), np.intp, len(right))
        shared = np.asarray(grams[a].multiply(grams[b]).sum(axis=1)).ravel()
        dice = 2.0 * shared / np.maximum(sizes[a] + sizes[b], 1)
        return np.where(a == b, 1.0, dice)


def _trigram_matrix(strings: Sequence[str]) -> sparse.csr_matrix:
    columns: dict[str, int] = {}
    indices: list[int] = []
    starts = [0]
    for string in strings:
        padded = [f" {word} " for word in string.casefold().split()]
        grams = {word[i : i + 3] for word in padded for i in range(len(word) - 2)}
        indices.extend(columns.setdefault(gram, len(columns)) for gram in sorted(grams))
        starts.append(len(indices))
    shape = (len(strings), max(len(columns), 1))
    return sparse.csr_matrix((np.ones(len(indices)), indices, starts), shape=shape)
