"""Queries of every qualifying cluster, by the offline grammar.

In:  clusters with evidence, the catalog, semantic IDs.
Out: the QUERIES table with intents, and a report.

Implements the paper's section 3 (automatic query generation) without a language model. Every
choice of a cluster comes from a generator seeded by (seed, prefix); a text already taken by an
earlier cluster is drawn again, so texts are unique in the whole edition after folding case and
punctuation.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from fashion_rq_bench._progress import track
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.schema import QUERIES
from fashion_rq_bench.vocabulary import fold

from .evidence import Evidence, read_evidence
from .grammar import verbalize
from .noise import typed_in_haste
from .plan import intents_of
from .planning import Planned, Planner
from .verify import verify
from .wishes import PrefixIndex

__all__ = ["QueryConfig", "QueryResult", "generate"]

_WORDINGS = 10
_SPARE_PLANS = 12
_ALIKE = 0.85


@dataclass(frozen=True)
class QueryConfig:
    """Knobs of the queries stage.

    Attributes:
        generator: "grammar", offline and deterministic, or "llm" (docs/language-models.md).
        seed: seed of every choice.
        min_queries, max_queries: queries per cluster; leaves get ``min_queries`` to
            ``min_queries + 2``, higher clusters as many as their product types need.
        min_words, max_words: length of a query.
        noise: share of the queries typed in haste (see ``noise.py``), labelled in ``source``.
        check: run the verifier and put its report beside the counts.
    """

    generator: Literal["grammar", "llm"] = "grammar"
    seed: int = 0
    min_queries: int = 6
    max_queries: int = 12
    min_words: int = 3
    max_words: int = 26
    noise: float = 0.0
    check: bool = True

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ConfigError("queries.seed must not be negative.", given=self.seed)
        if not 1 <= self.min_queries <= self.max_queries:
            raise ConfigError(
                "queries.min_queries and max_queries must be a rising pair from 1.",
                given=(self.min_queries, self.max_queries),
            )
        if not 0 <= self.noise <= 1:
            raise ConfigError("queries.noise is a share.", given=self.noise, allowed=["0 to 1"])
        if not 1 <= self.min_words <= self.max_words:
            raise ConfigError(
                "queries.min_words and max_words must be a rising pair from 1.",
                given=(self.min_words, self.max_words),
            )


@dataclass(frozen=True)
class QueryResult:
    """Queries and what happened on the way."""

    table: pa.Table
    report: dict[str, Any]


@dataclass
class _Tally:
    """What was drawn and not used, by reason, and how the used ones separate."""

    dropped: Counter[str] = field(default_factory=Counter)
    shares: dict[str, list[float]] = field(default_factory=dict)

    def note(self, planned: Planned) -> None:
        for name in ("exact", "sibling", "related", "other"):
            self.shares.setdefault(name, []).append(getattr(planned.wishes, name))


def generate(
    clusters: pa.Table,
    catalog: pa.Table,
    semantic_ids: pa.Table,
    config: QueryConfig | None = None,
) -> QueryResult:
    """Write queries for every cluster.

    Args:
        clusters: schema CLUSTERS.
        catalog: schema CATALOG.
        semantic_ids: schema SEMANTIC_IDS, in the catalog's order.
        config: counts, lengths and the seed.

    Returns:
        The QUERIES table, ordered by (level, prefix, position), and the report.

    Raises:
        InputError: if the semantic IDs are not the catalog's.
    """
    config = config or QueryConfig()
    if not semantic_ids["product_id"].equals(catalog["product_id"]):
        raise InputError(
            "semantic_ids must have the catalog's products in the catalog's order.",
            given=f"{len(semantic_ids)} rows for {len(catalog)} products",
        )
    codes = np.array(semantic_ids["semantic_id"].to_pylist(), dtype=np.int64)
    planner = Planner(catalog, PrefixIndex(codes))
    taken: set[str] = set()
    tally = _Tally()
    rows: list[dict[str, Any]] = []
    for evidence in track(read_evidence(clusters), "writing queries", total=len(clusters)):
        rows.extend(_cluster_queries(evidence, planner, config, taken, tally))
    table = pa.Table.from_pylist(rows, schema=QUERIES)
    report = _report(table, tally)
    if config.check:
        report["checks"] = verify(table, clusters, catalog, semantic_ids).report
    return QueryResult(table, report)


def _cluster_queries(
    evidence: Evidence, planner: Planner, config: QueryConfig, taken: set[str], tally: _Tally
) -> list[dict[str, Any]]:
    seeds = np.random.SeedSequence(config.seed, spawn_key=evidence.prefix)
    rng = np.random.default_rng(seeds)
    count = _count(evidence, config, rng)
    rows: list[dict[str, Any]] = []
    words: list[frozenset[str]] = []
    for tried, planned in enumerate(planner.plans(evidence, count, rng)):
        if len(rows) == count or tried == count + _SPARE_PLANS:
            break
        noisy = config.noise > 0 and rng.random() < config.noise
        text = _wording(planned, noisy, words, taken, config, tally, rng)
        if text is None:
            tally.dropped["plans without a new wording"] += 1
            continue
        tally.note(planned)
        rows.append(
            {
                "query_id": f"q{evidence.key}.{len(rows)}",
                "query": text,
                "prefix": list(evidence.prefix),
                "level": evidence.level,
                "intents": intents_of(planned.plan),
                "source": "grammar-noisy" if noisy else "grammar",
            }
        )
    return rows


def _count(evidence: Evidence, config: QueryConfig, rng: np.random.Generator) -> int:
    needed = len(evidence.required_types()) + -(-len(evidence.minor_types()) // 3)
    drawn = config.min_queries + int(rng.random() * 3)
    return min(max(drawn, needed), config.max_queries)


def _wording(
    planned: Planned,
    noisy: bool,
    words: list[frozenset[str]],
    taken: set[str],
    config: QueryConfig,
    tally: _Tally,
    rng: np.random.Generator,
) -> str | None:
    """The first wording that is new, of a good length and unlike the cluster's others."""
    brands = " ".join(planned.plan.wishes.get("brand", ())).lower().split()
    for _, clean in zip(range(_WORDINGS), verbalize(planned.plan, rng), strict=False):
        text = typed_in_haste(clean, rng, brands) if noisy else clean
        folded = fold(text)
        own = frozenset(folded.split())
        if not config.min_words <= len(text.split()) <= config.max_words:
            tally.dropped["wordings too short or too long"] += 1
        elif folded in taken:
            tally.dropped["wordings already taken"] += 1
        elif any(len(own & other) > _ALIKE * len(own | other) for other in words):
            tally.dropped["wordings alike within a cluster"] += 1
        else:
            taken.add(folded)
            words.append(own)
            return text
    return None


def _report(table: pa.Table, tally: _Tally) -> dict[str, Any]:
    lengths = [len(text.split()) for text in table["query"].to_pylist()]
    return {
        "queries": len(table),
        "unique": len({fold(text) for text in table["query"].to_pylist()}),
        "words_mean": float(np.mean(lengths)) if lengths else float("nan"),
        "words_range": [min(lengths, default=0), max(lengths, default=0)],
        "dropped": dict(sorted(tally.dropped.items())),
        "satisfied": {name: _mean(shares) for name, shares in sorted(tally.shares.items())},
    }


def _mean(shares: list[float]) -> float:
    """Mean of the shares that are defined; NaN if none is."""
    known = [share for share in shares if share == share]
    return float(np.mean(known)) if known else float("nan")
