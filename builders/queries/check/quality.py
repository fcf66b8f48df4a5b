"""Quality report of an edition's queries.

In:  queries, what the verifier found of each, the clusters' evidence.
Out: JSON-able counts and shares.

Paper, section 3: product types that no query covers are recorded as coverage gaps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from fashion_rq_bench.builders.queries.say.evidence import Evidence
from fashion_rq_bench.builders.queries.say.planning import FITS_SIBLINGS
from fashion_rq_bench.measures.ranking import mean
from fashion_rq_bench.words.vocabulary import fold

__all__ = ["quality", "share_that_fits_siblings"]

_LISTED = 50


def quality(
    queries: pa.Table, checked: pa.Table, clusters: Iterable[Evidence], required: float
) -> dict[str, Any]:
    """Counts and shares over all queries and clusters.

    Args:
        queries: schema QUERIES.
        checked: one row per query, see :class:`~.verify.Verdict`.
        clusters: all of them; one without queries leaves its product types uncovered.
        required: share of a cluster that makes a product type one to be covered.

    Returns:
        ``queries``, ``unique``, ``words``, ``failures`` (reason to count), ``coverage`` (types to
        be covered, gaps, the first of them), ``satisfied`` (mean share of the target's and of the
        siblings' products) and ``fits_siblings_as_well`` (share of the queries).
    """
    texts = queries["query"].to_pylist()
    lengths = [len(text.split()) for text in texts]
    reasons = checked["reasons"].to_pylist()
    return {
        "queries": len(texts),
        "unique": len({fold(text) for text in texts}),
        "words": {
            "mean": float(np.mean(lengths)) if lengths else float("nan"),
            "min": min(lengths, default=0),
            "max": max(lengths, default=0),
        },
        "failures": dict(sorted(Counter(reason for one in reasons for reason in one).items())),
        "coverage": _coverage(queries, checked, clusters, required),
        "satisfied": {name: mean(checked[name].to_numpy()).value for name in ("exact", "sibling")},
        "fits_siblings_as_well": share_that_fits_siblings(checked),
    }


def share_that_fits_siblings(checked: pa.Table) -> float:
    """Share of the queries that the siblings' products satisfy as well; NaN without queries."""
    reasons = checked["reasons"].to_pylist()
    return float(np.mean([FITS_SIBLINGS in one for one in reasons])) if reasons else float("nan")


def _coverage(
    queries: pa.Table, checked: pa.Table, clusters: Iterable[Evidence], required: float
) -> dict[str, Any]:
    covered: dict[tuple[int, ...], set[str]] = {}
    for prefix, types in zip(
        queries["prefix"].to_pylist(), checked["types"].to_pylist(), strict=True
    ):
        covered.setdefault(tuple(prefix), set()).update(types)
    gaps: list[str] = []
    counts: Counter[str] = Counter()
    for evidence in clusters:
        found = covered.get(evidence.prefix, set())
        major, minor = evidence.required_types(required), evidence.minor_types(required)
        counts["required"] += len(major)
        counts["minor"] += len(minor)
        counts["minor gaps"] += len(set(minor) - found)
        gaps += [f"{evidence.key}: {value}" for value in major if value not in found]
    return {
        "required_types": counts["required"],
        "gaps": len(gaps),
        "minor_types": counts["minor"],
        "minor_gaps": counts["minor gaps"],
        "uncovered": gaps[:_LISTED],
        "uncovered_not_listed": max(len(gaps) - _LISTED, 0),
    }
