"""Signatures: attribute combinations that describe a cluster.

In:  one integer code per product and axis (several for title phrases), cluster numbers per level.
Out: per cluster the discriminating and the coverage signatures.

Paper, supplement 8.0.2. A signature is up to three (attribute, value) pairs. Its *coverage* is the
share of the cluster's products that hold all of them, its *precision* the share of the catalog's
holders that lie in the cluster, its *exclusivity* its coverage minus the largest coverage in a
sibling. Discriminating: coverage >= 10%, precision >= 90%, the top 8 by exclusivity, precision,
coverage. Coverage signatures: >= 5% and >= 50%, the top 20 by coverage, precision, exclusivity.

Counts are exact: each combination of axes is counted once at (leaf, values), then rolled up.
Memory is that of one combination of axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fashion_rq_bench.builders.context.incidence import Axis, Ints

__all__ = ["Level", "Signature", "SignatureRule", "signatures"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """The clusters of one level.

    Attributes:
        parents: (leaves,) number of the cluster of this level that holds each leaf.
        sizes: (clusters,) products.
        wanted: (clusters,) whether signatures are asked for.
        siblings: (clusters, S) numbers of the siblings compared with, -1 where there is none.
    """

    parents: Ints
    sizes: Ints
    wanted: npt.NDArray[np.bool_]
    siblings: Ints


@dataclass(frozen=True)
class SignatureRule:
    """Thresholds in [0, 1], the number kept, and what they are ranked by."""

    coverage: float
    precision: float
    top: int
    order: tuple[str, str, str]


@dataclass(frozen=True)
class Signature:
    """A combination of (attribute, value) pairs, in the order of the axes; shares in [0, 1]."""

    pairs: tuple[tuple[str, str], ...]
    coverage: float
    precision: float
    exclusivity: float


@dataclass(frozen=True)
class _Rows:
    """Frequent combinations of one set of axes: row i is values ``keys[i]`` in ``clusters[i]``."""

    clusters: Ints
    keys: Ints
    coverage: Floats
    precision: Floats
    exclusivity: Floats


def signatures(
    axes: Sequence[Axis],
    leaf_of: Ints,
    levels: Sequence[Level],
    rules: Sequence[SignatureRule],
    max_axes: int = 3,
) -> list[list[dict[int, list[Signature]]]]:
    """Signatures of every wanted cluster.

    Args:
        axes: the attributes.
        leaf_of: (N,) leaf number of each product.
        levels: one entry per level.
        rules: thresholds, e.g. discriminating and coverage.
        max_axes: longest combination.

    Returns:
        ``result[level][rule][cluster]``: the signatures, best first; clusters without are absent.
    """
    found: list[list[dict[int, list[Signature]]]] = [[{} for _ in rules] for _ in levels]
    floor = (min(rule.coverage for rule in rules), min(rule.precision for rule in rules))
    for chosen in _axis_sets(axes, max_axes):
        products, keys, radix = _join(chosen)
        unique, keys = np.unique(keys, return_inverse=True)
        counted = _count(leaf_of[products], keys, np.ones(len(keys), np.int64), len(unique))
        totals = np.bincount(counted[1], counted[2], len(unique)).astype(np.int64)
        for level, results in zip(levels, found, strict=True):
            rows = _frequent(level, counted, totals, floor)
            for rule, per_cluster in zip(rules, results, strict=True):
                _keep(rule, rows, chosen, unique, radix, per_cluster)
    return found


def _axis_sets(axes: Sequence[Axis], max_axes: int) -> Iterator[tuple[Axis, ...]]:
    for size in range(1, max_axes + 1):
        yield from combinations(axes, size)


def _join(axes: Sequence[Axis]) -> tuple[Ints, Ints, list[int]]:
    """Products with a value on every axis, their values as one mixed-radix key, and the radices."""
    products, keys = axes[0].products, axes[0].codes
    for axis in axes[1:]:
        products, left, right = _match(products, axis.products)
        keys = keys[left] * len(axis.values) + axis.codes[right]
    return products, keys, [len(axis.values) for axis in axes]


def _match(left: Ints, right: Ints) -> tuple[Ints, Ints, Ints]:
    """Inner join of two sorted columns of product numbers, as (products, rows left, rows right)."""
    first = np.searchsorted(right, left, side="left")
    repeats = np.searchsorted(right, left, side="right") - first
    rows = np.repeat(np.arange(len(left)), repeats)
    ends = np.cumsum(repeats)
    within = np.arange(len(rows)) - np.repeat(ends - repeats, repeats)
    return left[rows], rows, np.repeat(first, repeats) + within


def _count(groups: Ints, keys: Ints, weights: Ints, n_keys: int) -> tuple[Ints, Ints, Ints]:
    """Sum ``weights`` per (group, key): groups, keys and sums, sorted by group, then key."""
    pairs, inverse = np.unique(groups * n_keys + keys, return_inverse=True)
    sums = np.bincount(inverse, weights, len(pairs)).astype(np.int64)
    return pairs // max(n_keys, 1), pairs % max(n_keys, 1), sums


def _frequent(
    level: Level, leaves: tuple[Ints, Ints, Ints], totals: Ints, floor: tuple[float, float]
) -> _Rows:
    n_keys = len(totals)
    clusters, keys, counts = _count(level.parents[leaves[0]], leaves[1], leaves[2], n_keys)
    coverage, precision = counts / level.sizes[clusters], counts / totals[keys]
    kept = level.wanted[clusters] & (coverage >= floor[0]) & (precision >= floor[1])
    pairs = clusters * n_keys + keys
    rivals = np.zeros(int(kept.sum()))
    for siblings in level.siblings[clusters[kept]].T:
        wanted = np.where(siblings >= 0, siblings * n_keys + keys[kept], -1)
        at = np.minimum(np.searchsorted(pairs, wanted), max(len(pairs) - 1, 0))
        there = pairs[at] == wanted
        rivals = np.maximum(rivals, np.where(there, coverage[at], 0.0))
    return _Rows(
        clusters[kept], keys[kept], coverage[kept], precision[kept], coverage[kept] - rivals
    )


def _keep(
    rule: SignatureRule,
    rows: _Rows,
    axes: Sequence[Axis],
    unique: Ints,
    radix: list[int],
    into: dict[int, list[Signature]],
) -> None:
    """Add the rows that pass ``rule`` to each cluster's list and cut the list to the rule's top."""
    passed = np.flatnonzero((rows.coverage >= rule.coverage) & (rows.precision >= rule.precision))
    touched = set()
    for row in passed:
        cluster = int(rows.clusters[row])
        signature = Signature(
            _pairs(int(unique[rows.keys[row]]), axes, radix),
            float(rows.coverage[row]),
            float(rows.precision[row]),
            float(rows.exclusivity[row]),
        )
        into.setdefault(cluster, []).append(signature)
        touched.add(cluster)
    for cluster in touched:
        into[cluster] = sorted(into[cluster], key=lambda s: _rank(s, rule))[: rule.top]


def _rank(signature: Signature, rule: SignatureRule) -> tuple[object, ...]:
    """Best first; among equals the shorter combination, then the text, so that order is fixed."""
    figures = [-round(float(getattr(signature, name)), 12) for name in rule.order]
    return (*figures, len(signature.pairs), signature.pairs)


def _pairs(key: int, axes: Sequence[Axis], radix: list[int]) -> tuple[tuple[str, str], ...]:
    codes = []
    for base in reversed(radix):
        key, code = divmod(key, base)
        codes.append(code)
    return tuple(
        (axis.name, axis.values[code]) for axis, code in zip(axes, reversed(codes), strict=True)
    )
