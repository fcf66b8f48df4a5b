"""Products x attribute values as sparse matrices.

In:  the catalog's columns.
Out: axes (which product holds which value of an attribute) and the incidence matrix of several.

A value is held or not; a null or an empty list holds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

__all__ = ["Axis", "Held", "Incidence", "Ints", "axis", "column_axis", "incidence"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Axis:
    """One attribute as codes: row i says that product ``products[i]`` has ``values[codes[i]]``.

    Rows are sorted by product, then code, without repeats.
    """

    name: str
    values: Sequence[str]
    products: Ints
    codes: Ints


@dataclass(frozen=True)
class Incidence:
    """Several axes side by side.

    Attributes:
        axes: the attributes, in the order of the columns.
        matrix: (products, values) int64 CSR of 0 and 1.
    """

    axes: tuple[Axis, ...]
    matrix: sp.csr_array

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """(attribute, value) of each column."""
        return [(one.name, value) for one in self.axes for value in one.values]

    @cached_property
    def columns(self) -> dict[str, slice]:
        """Columns of each attribute."""
        ends = np.cumsum([0, *(len(one.values) for one in self.axes)]).tolist()
        return {one.name: slice(ends[i], ends[i + 1]) for i, one in enumerate(self.axes)}

    def held(self, products: Ints, columns: Ints | None = None) -> Held:
        """What some products hold.

        Args:
            products: their numbers.
            columns: rising columns to look at; by default those that any of the products holds.
        """
        starts = self.matrix.indptr[products].astype(np.int64)
        counts = self.matrix.indptr[products + 1].astype(np.int64) - starts
        rows = np.repeat(np.arange(len(products)), counts)
        found = self.matrix.indices[np.arange(len(rows)) + np.repeat(_gaps(starts, counts), counts)]
        if columns is None:
            columns = np.flatnonzero(np.bincount(found, minlength=self.matrix.shape[1]))
        place = np.full(self.matrix.shape[1], -1)
        place[columns] = np.arange(len(columns))
        wanted = place[found] >= 0
        matrix = np.zeros((len(products), len(columns)), bool)
        matrix[rows[wanted], place[found[wanted]]] = True
        return Held(columns, matrix)


def _gaps(starts: Ints, counts: Ints) -> Ints:
    """What to add to a running number to get from the end of one run to the start of the next."""
    return starts - np.cumsum(counts) + counts


@dataclass(frozen=True)
class Held:
    """Which of some products hold which values.

    Attributes:
        columns: (C,) rising columns of the :class:`Incidence`.
        matrix: (products, C) bool.
    """

    columns: Ints
    matrix: Bools

    def within(self, block: slice) -> tuple[Ints, Bools]:
        """Columns inside a block of the incidence, and what is held of them."""
        low, high = np.searchsorted(self.columns, (block.start, block.stop))
        return self.columns[low:high], self.matrix[:, low:high]

    @cached_property
    def _places(self) -> dict[int, int]:
        return {column: place for place, column in enumerate(self.columns.tolist())}

    def any_of(self, columns: Iterable[int]) -> Bools:
        """(products,) which products hold a value of any of these columns of the incidence."""
        places = [self._places[column] for column in columns if column in self._places]
        return np.asarray(self.matrix[:, places].any(axis=1))


def axis(name: str, products: Ints, texts: pa.Array) -> Axis:
    """Axis from the (M,) products and texts of (product, value) rows; null texts are left out."""
    values = sorted(value for value in pc.unique(texts).to_pylist() if value is not None)
    found = pc.index_in(texts, pa.array(values, texts.type)).fill_null(-1)
    codes = found.to_numpy(zero_copy_only=False).astype(np.int64)
    held = codes >= 0
    width = max(len(values), 1)
    keys = np.unique(products[held] * width + codes[held])
    return Axis(name, values, keys // width, keys % width)


def column_axis(catalog: pa.Table, name: str) -> Axis:
    """Axis of a text column or of a column of lists of texts."""
    column = catalog[name].combine_chunks()
    if not pa.types.is_list(column.type):
        return axis(name, np.arange(len(catalog)), column)
    products = pc.list_parent_indices(column).to_numpy(zero_copy_only=False).astype(np.int64)
    return axis(name, products, column.flatten())


def incidence(axes: Sequence[Axis], n_products: int) -> Incidence:
    """Put axes side by side as one sparse matrix."""
    offsets = np.cumsum([0, *(len(one.values) for one in axes)])
    rows = np.concatenate([one.products for one in axes])
    columns = np.concatenate([one.codes + o for one, o in zip(axes, offsets, strict=False)])
    ones = np.ones(len(rows), np.int64)
    matrix = sp.coo_array((ones, (rows, columns)), shape=(n_products, int(offsets[-1])))
    return Incidence(tuple(axes), sp.csr_array(matrix))
