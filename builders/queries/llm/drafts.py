"""Queries of a language model between answer and edition: judged, sent back, chosen.

In:  what the model answered for each cluster.
Out: the queries that stay, and the dropped ones by reason.

Paper, section 3: queries that fail verification are dropped, coverage gaps are recorded. The
verifier is the one that every generator's queries pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from fashion_rq_bench.builders.queries.check.parser import parse_intent
from fashion_rq_bench.builders.queries.check.phrasebook import Phrasebook
from fashion_rq_bench.builders.queries.check.steering import steering
from fashion_rq_bench.builders.queries.check.verify import Verdict, VerifyConfig, verify
from fashion_rq_bench.builders.queries.llm.calls import Asked
from fashion_rq_bench.builders.queries.llm.config import LLMConfig
from fashion_rq_bench.builders.queries.llm.prompt import Prompt, render
from fashion_rq_bench.builders.queries.say.evidence import Evidence, read_evidence
from fashion_rq_bench.builders.queries.say.planning import FITS_SIBLINGS
from fashion_rq_bench.builders.queries.say.query_config import QueryConfig
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import queries_schema

__all__ = [
    "LEAST",
    "Draft",
    "Judged",
    "Shop",
    "cluster_prompts",
    "judge",
    "missing_types",
    "settle",
]

LEAST = 2
"""Queries that a cluster should have."""


def cluster_prompts(
    clusters: pa.Table, config: LLMConfig, queries: QueryConfig
) -> Iterator[tuple[Evidence, Prompt]]:
    """Evidence and prompt of each cluster, in order.

    Args:
        clusters: schema CLUSTERS.
        config: the limit of a prompt in tokens.
        queries: the counts and lengths that are asked for.
    """
    rows = (row for batch in clusters.to_batches(max_chunksize=256) for row in batch.to_pylist())
    for evidence, row in zip(read_evidence(clusters), rows, strict=True):
        yield (
            evidence,
            render(
                row,
                counts=(queries.min_queries, queries.max_queries),
                words=(queries.min_words, queries.max_words),
                budget=config.prompt_tokens,
            ),
        )


@dataclass
class Draft:
    """A cluster on its way: what was asked, what came, what is still in use.

    Attributes:
        evidence, prompt: of the cluster.
        first, second: what came of the prompt, and of sending failing queries back.
        sent_back, missing: queries sent back, and required product types that none covered.
        kept, broad: the queries in use, and how many of them fit the siblings as well.
    """

    evidence: Evidence
    prompt: Prompt
    first: Asked
    second: Asked | None = None
    sent_back: int = 0
    missing: int = 0
    kept: tuple[str, ...] = ()
    broad: int = 0

    @property
    def asked(self) -> list[Asked]:
        """What was asked for it, in order."""
        return [self.first] if self.second is None else [self.first, self.second]


@dataclass(frozen=True)
class Shop:
    """What queries are judged against.

    Attributes:
        clusters, catalog, semantic_ids: the edition's.
        queries: counts and lengths.
        book: phrases that the offline parser reads with.
        readings: intents that a language model read, by text; the parser reads the others.
    """

    clusters: pa.Table
    catalog: pa.Table
    semantic_ids: pa.Table
    queries: QueryConfig
    book: Phrasebook
    readings: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def table(self, drafts: Sequence[Draft], texts: Sequence[Sequence[str]]) -> pa.Table:
        """Rows of queries_schema(), in order, with intents."""
        rows = [
            {
                "query_id": f"q{draft.evidence.key}.{number}",
                "query": query,
                "prefix": list(draft.evidence.prefix),
                "level": draft.evidence.level,
                "source": "llm",
            }
            for draft, queries in zip(drafts, texts, strict=True)
            for number, query in enumerate(queries)
        ]
        whole = [{**row, "intents": self._intents(str(row["query"]))} for row in rows]
        return pa.Table.from_pylist(whole, schema=queries_schema())

    def _intents(self, query: str) -> list[dict[str, Any]]:
        return self.readings.get(query) or parse_intent(query, self.book)

    def verdict(self, table: pa.Table) -> Verdict:
        """The verifier's judgement of such rows."""
        config = VerifyConfig(min_words=self.queries.min_words, max_words=self.queries.max_words)
        return verify(table, self.clusters, self.catalog, self.semantic_ids, None, config)


@dataclass(frozen=True)
class Judged:
    """A query and what the verifier says.

    Attributes:
        reasons: what is against it; empty if nothing is.
        gap: by how much more of the target's products than of the siblings' satisfy it; NaN
            without siblings.
        types: product types it asks for, folded.
    """

    query: str
    reasons: list[str]
    gap: float
    types: frozenset[str]


def judge(
    drafts: Sequence[Draft], texts: Sequence[Sequence[str]], shop: Shop
) -> list[list[Judged]]:
    """Judge the queries ``texts`` of each draft, all at once."""
    table = shop.table(drafts, texts)
    verdicts = shop.verdict(table).queries.to_pylist()
    rows = iter(zip(table.to_pylist(), verdicts, strict=True))
    return [[_judged(*next(rows)) for _ in queries] for queries in texts]


def _judged(row: dict[str, Any], verdict: dict[str, Any]) -> Judged:
    found = {intent[domain().type.name] for intent in row["intents"]} - {None}
    reasons = list(verdict["reasons"])
    reasons += ["unsafe"] if steering(row["query"]) else []
    reasons += ["no product"] if not found else []
    types = frozenset(value.casefold() for value in found)
    return Judged(row["query"], reasons, verdict["exact"] - verdict["sibling"], types)


def missing_types(draft: Draft, judged: Sequence[Judged]) -> list[str]:
    """Required product types that none of these queries names."""
    named = frozenset().union(*(one.types for one in judged))
    return [one for one in draft.evidence.required_types() if one.casefold() not in named]


def settle(drafts: Sequence[Draft], shop: Shop) -> dict[str, int]:
    """Choose each cluster's queries; returns the dropped ones by reason.

    A query whose only fault is to fit the siblings too comes back where a required product type has
    no other, or a cluster fewer than two: of some leaves the catalog knows nothing that sets them
    apart.
    """
    texts = [list(dict.fromkeys(q for one in d.asked for q in one.queries)) for d in drafts]
    dropped: Counter[str] = Counter()
    for draft, found in zip(drafts, judge(drafts, texts, shop), strict=True):
        good = [one for one in found if not one.reasons]
        back = _readmitted(draft, good, [one for one in found if one.reasons == [FITS_SIBLINGS]])
        kept = _chosen([*good, *back], shop.queries.max_queries)
        draft.broad = sum(one in back for one in kept)
        draft.kept = tuple(one.query for one in kept)
        dropped.update(r for one in found if one not in back for r in one.reasons)
        dropped["more than asked for"] += len(good) + len(back) - len(kept)
    return {reason: count for reason, count in sorted(dropped.items()) if count}


def _readmitted(draft: Draft, good: Sequence[Judged], broad: Sequence[Judged]) -> list[Judged]:
    """Broad queries that are needed after all, the most telling first."""
    ranked = sorted(broad, key=lambda one: (-one.gap if one.gap == one.gap else 0.0, one.query))
    back: list[Judged] = []
    for one in ranked:
        missing = {value.casefold() for value in missing_types(draft, [*good, *back])}
        if one.types & missing or len(good) + len(back) < LEAST:
            back.append(one)
    return back


def _chosen(queries: Sequence[Judged], most: int) -> list[Judged]:
    """As many as are wanted, in order: first one of each set of product types, then the others."""
    types = [one.types for one in queries]
    firsts = [number for number, one in enumerate(types) if one not in types[:number]]
    others = [number for number in range(len(queries)) if number not in firsts]
    return [queries[number] for number in sorted([*firsts, *others][:most])]
