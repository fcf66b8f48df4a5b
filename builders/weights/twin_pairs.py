"""Twins: products that differ in one attribute and agree in all others (paper 8.0.5).

In:  the products' values as integer keys.
Out: per attribute the groups of twins; their number; disjoint pairs of them.

Products are never compared with one another: those that agree on the control attributes fall under
one hash, which takes time and memory linear in the catalog.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.schema.domain import domain

__all__ = ["TwinGroups", "count_pairs", "disjoint_pairs", "twin_groups"]

_HASH_SEED = 8_005
Keys = NDArray[np.int64]


@dataclass(frozen=True)
class TwinGroups:
    """Products that agree on the controls, in groups of at least two values of one attribute.

    Any two products of a group with different values are twins. Rows are sorted by group, then by
    value, then by position in the catalog.

    Attributes:
        attribute: in which twins differ.
        rows: (M,) positions in the catalog, each at most once.
        group: (M,) number of each row's group, rising from 0.
        value: (M,) key of each row's value.
    """

    attribute: str
    rows: Keys
    group: Keys
    value: Keys


def twin_groups(keys: Keys, attribute: str, controls: tuple[str, ...] | None = None) -> TwinGroups:
    """Find the twins of one attribute.

    Args:
        keys: (N, A) from :func:`~.match_codes.product_keys`; -1 (no value) agrees with -1.
        attribute: in which twins differ; a product without a value of it has no twins.
        controls: on which twins agree, all by default; ``attribute`` itself is left out of them.

    Raises:
        ConfigError: if an attribute is unknown.
    """
    names = domain().names
    controls = names if controls is None else controls
    for name in (attribute, *controls):
        if name not in names:
            raise ConfigError("There is no such attribute.", given=name, allowed=names)
    at = names.index(attribute)
    held = [names.index(name) for name in controls if name != attribute]
    known = np.flatnonzero(keys[:, at] >= 0)
    hashes, values = _hash(keys[known][:, held]), keys[known, at]
    order = np.lexsort((values, hashes))  # stable, so by position within a value
    rows, values, hashes = known[order], values[order], hashes[order]
    group = np.cumsum(np.r_[False, hashes[1:] != hashes[:-1]][: len(rows)])
    new_value = np.r_[False, (group[1:] == group[:-1]) & (values[1:] != values[:-1])][: len(rows)]
    kept = np.isin(group, group[new_value])
    numbers = np.unique(group[kept], return_inverse=True)[1]
    return TwinGroups(attribute, rows[kept], numbers.astype(np.int64), values[kept])


def _hash(keys: Keys) -> NDArray[np.uint64]:
    """Zobrist hash of each row: the sum of a random 64-bit number per (column, value).

    Two of 44,446 different rows share a hash once in some 10¹⁰ catalogs.
    """
    rng = np.random.default_rng(_HASH_SEED)
    total = np.zeros(len(keys), dtype=np.uint64)
    for column in keys.T:
        size = int(column.max(initial=-1)) + 2
        total += rng.integers(0, 2**64, size=size, dtype=np.uint64)[column + 1]
    return total


def count_pairs(twins: TwinGroups) -> int:
    """How many pairs of twins there are, without listing them."""
    _, sizes = np.unique(twins.group, return_counts=True)
    _, same = np.unique(np.stack([twins.group, twins.value]), axis=1, return_counts=True)
    return int((sizes**2).sum() - (same**2).sum()) // 2


def disjoint_pairs(twins: TwinGroups, rng: np.random.Generator) -> NDArray[np.int64]:
    """Pairs of twins, every product in at most one: independent observations of the attribute.

    Within a group sorted by value (in random order), the i-th is paired with the one half a group
    further on; that gives as many pairs as there can be.

    Returns:
        (P, 2) positions in the catalog, P at most half the rows.
    """
    if not len(twins.rows):
        return np.zeros((0, 2), dtype=np.int64)
    shuffled = rng.permutation(len(twins.rows))
    by_value = rng.permutation(int(twins.value.max()) + 1)[twins.value]
    order = shuffled[np.lexsort((by_value[shuffled], twins.group[shuffled]))]
    _, starts, sizes = np.unique(twins.group, return_index=True, return_counts=True)
    position = np.arange(len(order)) - np.repeat(starts, sizes)
    half = np.repeat(sizes // 2, sizes)
    low = np.flatnonzero(position < half)
    first, second = order[low], order[low + np.repeat((sizes + 1) // 2, sizes)[low]]
    differ = twins.value[first] != twins.value[second]
    pairs: Keys = np.stack([twins.rows[first], twins.rows[second]], axis=1)[differ]
    return pairs
