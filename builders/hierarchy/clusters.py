"""Prefix clusters, their purity and the statistics per level (paper, section 3, equation 5).

In:  semantic IDs and the catalog, row by row the same products.
Out: every prefix as a cluster with size, purity and whether it qualifies; statistics per level of
     the kind of the paper's Table 6, over all clusters and over qualifying ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.errors import BuildError, ConfigError

__all__ = [
    "HIERARCHY",
    "Hierarchy",
    "HierarchyConfig",
    "code_matrix",
    "hierarchy",
    "majority",
    "perplexity",
    "prefix_groups",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

HIERARCHY = pa.schema(
    [
        ("prefix", pa.list_(pa.uint16())),
        ("level", pa.int8()),
        ("size", pa.int64()),
        ("labelled", pa.int64()),
        ("purity", pa.float64()),
        ("article_type", pa.string()),
        ("qualifying", pa.bool_()),
    ]
)
"""All clusters, by (level, prefix); purity is NaN and article_type null if none is labelled."""


@dataclass(frozen=True)
class HierarchyConfig:
    """Which clusters qualify.

    Attributes:
        min_size: fewest products of a qualifying cluster (5 in the paper's text).
        min_purity: lowest purity, in [0, 1] (0.80 in the paper).
        attribute: the catalog column that purity is about.
    """

    min_size: int = 5
    min_purity: float = 0.80
    attribute: str = "article_type"

    def __post_init__(self) -> None:
        if self.min_size < 1:
            raise ConfigError("min_size counts products and starts at 1.", given=self.min_size)
        if not 0 <= self.min_purity <= 1:
            raise ConfigError("min_purity is a share in [0, 1].", given=self.min_purity)


@dataclass(frozen=True)
class Hierarchy:
    """Clusters (schema ``HIERARCHY``) and one dictionary of statistics per level."""

    clusters: pa.Table
    statistics: list[dict[str, Any]]


def hierarchy(
    semantic_ids: pa.Table, catalog: pa.Table, config: HierarchyConfig | None = None
) -> Hierarchy:
    """Clusters of every prefix length and their statistics.

    Args:
        semantic_ids: N rows of ``SEMANTIC_IDS``, in the catalog's order.
        catalog: N products.
        config: what qualifies.

    Returns:
        Clusters by (level, prefix); per level: ``clusters``, ``qualifying`` (counts), ``mean_size``
        and ``range`` over all and over qualifying ones, ``purity`` (weighted by labelled items) and
        ``mean_purity`` likewise, ``coverage`` (share of the catalog in qualifying clusters),
        ``code_use`` (share of the level's codes that occur), ``perplexity`` of the level's codes.

    Raises:
        BuildError: if the two tables do not hold the same products in the same order.
        ConfigError: if the catalog lacks the attribute.
    """
    config = config or HierarchyConfig()
    codes = code_matrix(semantic_ids, catalog)
    labels, names = _labels(catalog, config.attribute)
    tables, statistics = [], []
    for level in range(1, codes.shape[1] + 1):
        prefixes, group = prefix_groups(codes, level)
        table = _clusters(prefixes, group, labels, names, config)
        tables.append(table)
        statistics.append(_statistics(table, codes[:, level - 1], len(catalog), level))
    return Hierarchy(pa.concat_tables(tables).combine_chunks(), statistics)


def code_matrix(semantic_ids: pa.Table, catalog: pa.Table) -> Ints:
    """(N, L) codes of the catalog's products.

    Raises:
        BuildError: if rows and products do not match.
    """
    ours, theirs = semantic_ids["product_id"], catalog["product_id"]
    if len(ours) != len(theirs) or not pc.all(pc.equal(ours, theirs)).as_py():
        raise BuildError(
            "Semantic IDs and catalog do not hold the same products in the same order.",
            given=f"{len(ours)} semantic IDs, {len(theirs)} products",
            fix="Build both from the same catalog.",
        )
    column = semantic_ids["semantic_id"].combine_chunks()
    lengths = pc.list_value_length(column)
    if len(column) == 0 or pc.min(lengths).as_py() != pc.max(lengths).as_py():
        raise BuildError("Semantic IDs must all have the same, positive number of codes.")
    flat = np.asarray(column.flatten(), dtype=np.int64)
    return flat.reshape(len(column), -1)


def prefix_groups(codes: Ints, level: int) -> tuple[Ints, Ints]:
    """Prefixes (P, level) in lexicographic order, and per product (N,) the index of its prefix."""
    group = np.zeros(len(codes), dtype=np.int64)
    for column in codes[:, :level].T:
        group = np.unique(group * (column.max() + 1) + column, return_inverse=True)[1]
    first = np.unique(group, return_index=True)[1]
    return codes[first, :level], group


def majority(group: Ints, labels: Ints, n_groups: int) -> tuple[Ints, Ints, Ints]:
    """Most frequent label per group.

    Args:
        group: (N,) index of each item's group.
        labels: (N,) label, -1 for null.
        n_groups: P.

    Returns:
        (P,) labelled items, (P,) items with the most frequent label, (P,) that label (the smallest
        of equally frequent ones; -1 where no item is labelled).
    """
    known = labels >= 0
    labelled = np.bincount(group[known], minlength=n_groups)
    n_labels = int(labels.max(initial=-1)) + 1
    cells, counts = np.unique(group[known] * n_labels + labels[known], return_counts=True)
    order = np.argsort(counts[::-1], kind="stable")  # last: most frequent, then smallest label
    top = np.full(n_groups, -1, dtype=np.int64)
    best = np.zeros(n_groups, dtype=np.int64)
    cells, counts = cells[::-1][order], counts[::-1][order]
    top[cells // max(n_labels, 1)] = cells % max(n_labels, 1)
    best[cells // max(n_labels, 1)] = counts
    return labelled, best, top


def perplexity(code: Ints) -> float:
    """exp of the entropy of a level's codes: how many are in use, evenly counted. In [1, K]."""
    share = np.bincount(code) / len(code)
    share = share[share > 0]
    return float(np.exp(-(share * np.log(share)).sum()))


def _labels(catalog: pa.Table, attribute: str) -> tuple[Ints, pa.Array]:
    if attribute not in catalog.column_names:
        raise ConfigError(
            "Purity needs a column of the catalog.", given=attribute, allowed=catalog.column_names
        )
    values = catalog[attribute].combine_chunks()
    names = pc.unique(values.drop_null()).sort()
    codes = pc.fill_null(pc.index_in(values, names), -1)
    return np.asarray(codes, dtype=np.int64), names


def _clusters(
    prefixes: Ints, group: Ints, labels: Ints, names: pa.Array, config: HierarchyConfig
) -> pa.Table:
    size = np.bincount(group, minlength=len(prefixes))
    labelled, best, top = majority(group, labels, len(prefixes))
    purity = np.where(labelled > 0, best / np.maximum(labelled, 1), np.nan)
    qualifying = (size >= config.min_size) & (purity >= config.min_purity)
    level = prefixes.shape[1]
    offsets = np.arange(len(prefixes) + 1, dtype=np.int32) * level
    return pa.table(
        {
            "prefix": pa.ListArray.from_arrays(offsets, prefixes.ravel().astype(np.uint16)),
            "level": np.full(len(prefixes), level, dtype=np.int8),
            "size": size,
            "labelled": labelled,
            "purity": purity,
            "article_type": names.take(pa.array(top, mask=top < 0)).cast(pa.string()),
            "qualifying": qualifying,
        },
        schema=HIERARCHY,
    )


def _statistics(table: pa.Table, code: Ints, n_products: int, level: int) -> dict[str, Any]:
    size, labelled = table["size"].to_numpy(), table["labelled"].to_numpy()
    purity, keep = table["purity"].to_numpy(), table["qualifying"].to_numpy()
    return {
        "level": level,
        "all": _summary(size, labelled, purity),
        "qualifying": _summary(size[keep], labelled[keep], purity[keep]),
        "unlabelled_clusters": int((labelled == 0).sum()),
        "coverage": float(size[keep].sum() / n_products),
        "codes_used": len(np.unique(code)),
        "perplexity": perplexity(code),
    }


def _summary(size: Ints, labelled: Ints, purity: Floats) -> dict[str, Any]:
    """Count, mean size, range, purity weighted by labelled items and averaged over clusters."""
    known = labelled > 0
    if not known.any():
        weighted = mean = math.nan
    else:
        weighted = float(np.average(purity[known], weights=labelled[known]))
        mean = float(purity[known].mean())
    return {
        "clusters": len(size),
        "items": int(size.sum()),
        "mean_size": float(size.mean()) if len(size) else math.nan,
        "smallest": int(size.min(initial=0 if not len(size) else size[0])),
        "largest": int(size.max(initial=0)),
        "purity": weighted,
        "mean_purity": mean,
    }
