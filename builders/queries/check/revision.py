"""The verifier's loop: what fails goes back once with the reasons, then it is dropped and counted.

In:  first drafts of all clusters, a writer, a verifier.
Out: the drafts that stay with the verifier's rows, and what happened on the way.

Paper, section 3: queries that fail verification are dropped. A failing query stays only where a
product type has no other, or where a cluster would keep too few; then the best stay: those
that hold for most more of the target's products than of the siblings'.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa

from fashion_rq_bench.builders.queries.check.verify import Verifier
from fashion_rq_bench.builders.queries.grammar.drafts import Draft, Writer, queries_table
from fashion_rq_bench.builders.queries.say.planning import FITS_SIBLINGS

__all__ = ["Settled", "settle"]


@dataclass(frozen=True)
class Settled:
    """The queries that stay.

    Attributes:
        drafts, table: the queries, and as schema QUERIES.
        checked: what the verifier found of each.
        report: JSON-able; ``first_draft`` (its quality report), ``sent_back`` and ``dropped``
            (reason to count), ``replaced``, ``kept_though_failing``, ``clusters_at_minimum``.
    """

    drafts: list[Draft]
    table: pa.Table
    checked: pa.Table
    report: dict[str, Any]


@dataclass(frozen=True)
class _Judged:
    """A draft and its row of the verifier's table."""

    draft: Draft
    row: Mapping[str, Any]

    @property
    def reasons(self) -> list[str]:
        """What the verifier says against it."""
        return list(self.row["reasons"])

    @property
    def rank(self) -> tuple[bool, float]:
        """Sorts failing queries, the best first: true of the cluster, then far from siblings."""
        gap = self.row["exact"] - self.row["sibling"]
        return set(self.reasons) > {FITS_SIBLINGS}, -1.0 if math.isnan(gap) else -gap


def settle(drafts: Sequence[Draft], writer: Writer, verifier: Verifier, least: int) -> Settled:
    """Check first drafts, send failing ones back once, drop what fails again.

    Args:
        drafts: first drafts, cluster by cluster.
        writer: who wrote them.
        verifier: checks both rounds.
        least: queries that a cluster keeps even if they fail.
    """
    table = queries_table(drafts)
    verdict = verifier.check(table)
    first = _judged(drafts, verdict.queries)
    second = _second_round(first, writer, verifier)
    groups = groupby(range(len(first)), key=lambda place: first[place].draft.evidence.key)
    counts = _Counts()
    stay: list[_Judged] = []
    for _, places in groups:
        pairs = [(first[place], second.get(place)) for place in places]
        stay += _chosen(pairs, least, counts)
    kept = [one.draft for one in stay]
    table = queries_table(kept)
    checked = pa.Table.from_pylist([dict(one.row) for one in stay], verdict.queries.schema)
    checked = checked.set_column(0, "query_id", table["query_id"])
    return Settled(kept, table, checked, {"first_draft": verdict.report, **counts.report()})


class _Counts:
    """What became of the failing queries."""

    def __init__(self) -> None:
        self.sent_back: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.others: Counter[str] = Counter()

    def report(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "sent_back": dict(sorted(self.sent_back.items())),
            "replaced": self.others["replaced"],
            "dropped": dict(sorted(self.dropped.items())),
            "kept_though_failing": self.others["kept"],
            "clusters_at_minimum": self.others["at minimum"],
        }


def _judged(drafts: Sequence[Draft], checked: pa.Table) -> list[_Judged]:
    rows = checked.to_pylist()
    return [_Judged(draft, row) for draft, row in zip(drafts, rows, strict=True)]


def _second_round(
    first: Sequence[_Judged], writer: Writer, verifier: Verifier
) -> dict[int, _Judged]:
    """By the place of the failed query: what was written in its stead, checked."""
    written = dict(_second_drafts(first, writer))
    checked = verifier.check(queries_table(list(written.values()))).queries
    return dict(zip(written, _judged(list(written.values()), checked), strict=True))


def _second_drafts(first: Sequence[_Judged], writer: Writer) -> Iterator[tuple[int, Draft]]:
    numbered = enumerate(first)
    for _, group in groupby(numbered, key=lambda item: item[1].draft.evidence.key):
        members = list(group)
        failed = [(place, one) for place, one in members if one.reasons]
        if not failed:
            continue
        kept = [one.draft for _, one in members if not one.reasons]
        drafts = writer.again(kept, [(one.draft, one.reasons) for _, one in failed])
        for (place, _), draft in zip(failed, drafts, strict=True):
            if draft is not None:
                yield place, draft


def _chosen(
    pairs: Sequence[tuple[_Judged, _Judged | None]], least: int, counts: _Counts
) -> list[_Judged]:
    """The queries of one cluster that stay, in order, from (first, second) drafts."""
    stay: dict[int, _Judged] = {}
    failing: dict[int, _Judged] = {}
    for place, (first, second) in enumerate(pairs):
        counts.sent_back.update(first.reasons)
        if not first.reasons:
            stay[place] = first
        elif second is not None and not second.reasons:
            stay[place] = second
            counts.others["replaced"] += 1
        else:
            failing[place] = min((one for one in (first, second) if one), key=lambda one: one.rank)
    missing = {share.value for share in pairs[0][0].draft.evidence.product_types}
    missing -= {value for one in stay.values() for value in one.row["types"]}
    for place in sorted(failing, key=lambda place: failing[place].rank):
        one = failing[place]
        if len(stay) < least or missing & set(one.row["types"]):
            stay[place] = one
            missing -= set(one.row["types"])
            counts.others["kept"] += 1
        else:
            counts.dropped.update(one.reasons)
    counts.others["at minimum"] += any(place in failing for place in stay) and len(stay) <= least
    return [stay[place] for place in sorted(stay)]
