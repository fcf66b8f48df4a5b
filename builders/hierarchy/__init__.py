"""Semantic IDs to clusters: prefixes, purity, which qualify, the tree for drawing.

Lives here: everything about prefixes. May import: ``schema``, ``support``.
Must not import: context, queries, tasks.
"""

from __future__ import annotations

from fashion_rq_bench.builders.hierarchy.clusters import (
    HIERARCHY,
    Hierarchy,
    HierarchyConfig,
    code_matrix,
    hierarchy,
    majority,
    perplexity,
    prefix_groups,
)

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
