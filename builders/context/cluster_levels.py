"""The clusters of every level: who is in them, what they hold, who is near.

In:  codes, embeddings, products x values.
Out: one :class:`Tier` per level, level 0 being the whole catalog.

Paper, section 3 and supplement 8.0.2: parents, nearest siblings by centroid, shares and numeric
statistics that deltas (Eq. 6) are taken of. Shares of single-valued attributes are over products
whose value is known; shares of list attributes and phrases are over all products of the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from fashion_rq_bench.builders.context.incidence import Incidence, Ints
from fashion_rq_bench.schema.domain import domain

__all__ = ["STATISTICS", "Tier", "build_tiers"]

Floats = npt.NDArray[np.float64]

STATISTICS = ("mean", "median", "min", "max", "q25", "q75")
_CHUNK = 65_536


@dataclass(frozen=True)
class Tier:
    """All clusters of one level. Level 0 is the catalog as one cluster.

    Attributes:
        prefixes: (C,) prefixes in lexicographic order.
        of_product: (N,) cluster of each product.
        counts: (C, V) holders of each value.
        shares: (C, V) shares in [0, 1] of those counts.
        parents: (C,) cluster of the level above.
        siblings: (C, S) nearest siblings by centroid (Euclidean), -1 for none.
        numeric: attribute to (C, 6) statistics, NaN where no product has a value.
    """

    prefixes: list[tuple[int, ...]]
    of_product: Ints
    sizes: Ints
    counts: sp.csr_array
    shares: sp.csr_array
    parents: Ints
    siblings: Ints
    numeric: dict[str, Floats]


def build_tiers(
    catalog: pa.Table, codes: Ints, values: Incidence, embeddings: pa.Table, n_siblings: int
) -> list[Tier]:
    """Level 0 (the catalog) to level L; counts made at the leaves and rolled up.

    Args:
        catalog: schema CATALOG.
        codes: (N, L) codes of the products.
        values: products x values.
        embeddings: product_id and vector, in the catalog's order.
        n_siblings: nearest siblings to find.
    """
    numbers = _numbers(codes)
    leaves, first = np.unique(numbers[-1], return_index=True)
    leaf_counts = _member_matrix(numbers[-1], len(leaves)) @ values.matrix
    leaf_sums = _vector_sums(numbers[-1], len(leaves), embeddings)
    tiers: list[Tier] = []
    for level, number in enumerate(numbers):
        rolled = _member_matrix(number[first], int(number.max(initial=-1)) + 1)
        starts = np.unique(number, return_index=True)[1]
        sizes, parents = np.bincount(number), numbers[max(level - 1, 0)][starts]
        counts = sp.csr_array(rolled @ leaf_counts)
        centroids = (rolled @ leaf_sums) / sizes[:, None]
        tiers.append(
            Tier(
                [tuple(map(int, codes[row, :level])) for row in starts],
                number,
                sizes,
                counts,
                _shares(counts, sizes, values),
                parents,
                _nearest(parents, centroids, n_siblings if level else 0),
                {n: _statistics(catalog[n], number, len(sizes)) for n in domain().numbers},
            )
        )
    return tiers


def _numbers(codes: Ints) -> list[Ints]:
    """(N,) number of each product's cluster among those of its level, per level from 0."""
    numbers = [np.zeros(len(codes), np.int64)]
    for column in codes.T:
        joined = numbers[-1] * (int(codes.max(initial=0)) + 1) + column
        numbers.append(np.unique(joined, return_inverse=True)[1].astype(np.int64))
    return numbers


def _member_matrix(number: Ints, n_clusters: int) -> sp.csr_array:
    ones = np.ones(len(number), np.int64)
    return sp.csr_array((ones, (number, np.arange(len(number)))), shape=(n_clusters, len(number)))


def _vector_sums(number: Ints, n_clusters: int, embeddings: pa.Table) -> Floats:
    """(n_clusters, d) sums of the members' vectors, read in chunks so that memory stays bounded."""
    dim = embeddings.schema.field("vector").type.list_size
    sums = np.zeros((n_clusters, dim))
    for start in range(0, len(number), _CHUNK):
        column = embeddings["vector"].slice(start, _CHUNK).combine_chunks()
        vectors = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, dim)
        members = _member_matrix(number[start : start + _CHUNK], n_clusters)
        sums += members @ vectors.astype(np.float64)
    return sums


def _nearest(parents: Ints, centroids: Floats, n: int) -> Ints:
    """The ``n`` nearest clusters with the same parent; ties go to the smaller prefix."""
    siblings = np.full((len(parents), n), -1, np.int64)
    for group in np.split(np.arange(len(parents)), np.flatnonzero(np.diff(parents)) + 1):
        k = min(n, len(group) - 1)
        if k < 1:
            continue
        gaps = np.sqrt(np.maximum(_squared_gaps(centroids[group]), 0.0))
        np.fill_diagonal(gaps, np.inf)
        order = np.argsort(np.round(gaps, 9), axis=1, kind="stable")[:, :k]
        siblings[group, :k] = group[order]
    return siblings


def _squared_gaps(points: Floats) -> Floats:
    squares = np.einsum("ij,ij->i", points, points)
    gaps: Floats = squares[:, None] + squares[None, :] - 2 * points @ points.T
    return gaps


def _shares(counts: sp.csr_array, sizes: Ints, values: Incidence) -> sp.csr_array:
    """Counts over the known values of a single-valued attribute, else over the cluster's size."""
    shares = counts.astype(np.float64).tocsc()
    scalars = domain().plain("context")
    for attribute, block in values.columns.items():
        known = sizes if attribute not in scalars else counts[:, block].sum(axis=1)
        inverse = 1.0 / np.maximum(known, 1)
        for column in range(block.start, block.stop):
            part = slice(shares.indptr[column], shares.indptr[column + 1])
            shares.data[part] *= inverse[shares.indices[part]]
    return shares.tocsr()


def _statistics(column: pa.ChunkedArray, number: Ints, n_clusters: int) -> Floats:
    """(n_clusters, 6): mean, median, min, max and quartiles (linear interpolation) per cluster."""
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    known = np.flatnonzero(np.isfinite(values))
    order = known[np.lexsort((values[known], number[known]))]
    counts = np.bincount(number[order], minlength=n_clusters)
    starts, ordered = np.cumsum(counts) - counts, values[order]
    result = np.full((n_clusters, len(STATISTICS)), np.nan)
    some = counts > 0
    sums = np.bincount(number[order], ordered, n_clusters)
    result[some, 0] = sums[some] / counts[some]
    for place, share in ((1, 0.5), (2, 0.0), (3, 1.0), (4, 0.25), (5, 0.75)):
        at = share * (counts[some] - 1)
        low, high = np.floor(at).astype(np.int64), np.ceil(at).astype(np.int64)
        below, above = ordered[starts[some] + low], ordered[starts[some] + high]
        result[some, place] = below + (at - low) * (above - below)
    return result
