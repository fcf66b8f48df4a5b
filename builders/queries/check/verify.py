"""Mechanical verifier, the same for every generator of queries.

In:  queries with intents, clusters with evidence, catalog, semantic IDs, a similarity.
Out: per query the reasons against it, and a quality report of the edition's queries.

Checks the demands of the paper's section 3 and its query prompt: coverage (each product type of at
least 5% has a query that matches it, the minor ones a catch-all), exclusivity (do the siblings'
products satisfy the intents as the target's do? measured with the comparators), grounding (no value
that the cluster lacks, no single value that most of it lacks), form, duplicates. Failures are
reported and never repaired here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fashion_rq_bench.builders.context.incidence import Incidence
from fashion_rq_bench.builders.hierarchy.clusters import code_matrix
from fashion_rq_bench.builders.queries.check.grounding import Grounding
from fashion_rq_bench.builders.queries.check.pairs import Pairs, representatives, shares, spread
from fashion_rq_bench.builders.queries.check.quality import quality
from fashion_rq_bench.builders.queries.say.candidate_wishes import wish_incidence
from fashion_rq_bench.builders.queries.say.evidence import Evidence, read_evidence
from fashion_rq_bench.builders.queries.say.planning import FITS_SIBLINGS
from fashion_rq_bench.builders.queries.say.wish_sets import PrefixIndex
from fashion_rq_bench.relevance.pair_relevance import match_pairs
from fashion_rq_bench.relevance.satisfaction import wishes_satisfied
from fashion_rq_bench.relevance.similarity import LexicalSimilarity, Similarity
from fashion_rq_bench.schema.domain import domain, per_domain
from fashion_rq_bench.words.vocabulary import fold

__all__ = ["Verdict", "Verifier", "VerifyConfig", "form_faults", "verify"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_TEXTS = pa.list_(pa.string())
_FOR_TYPES = 2
"""The tier of pairs that only tell whether a query finds a product type."""


@dataclass(frozen=True)
class VerifyConfig:
    """What counts as a failure.

    Attributes:
        min_words, max_words: length of a query.
        products: products looked at per query and tier, evenly spread.
        least_share: share of the cluster's products of the asked type that must hold a value said.
        required: share of a cluster that makes a product type one to be covered.
        margin: how much larger the target's share of satisfying products must be than the
            siblings'.
        alike: Jaccard overlap of words above which two queries of a cluster are near-duplicates.
    """

    min_words: int = 3
    max_words: int = 26
    products: int = 32
    least_share: float = 0.7
    required: float = 0.05
    margin: float = 0.05
    alike: float = 0.9


@dataclass(frozen=True)
class Verdict:
    """What the verifier found.

    Attributes:
        queries: query_id, reasons (list of text, empty if none), exact and sibling: shares of
            products that satisfy every wish, NaN without such products; types: product types of
            the cluster that the query finds.
        report: JSON-able counts and shares, see :func:`~.quality.quality`.
    """

    queries: pa.Table
    report: dict[str, Any]


@per_domain
def _internal() -> re.Pattern[str]:
    """Our own terms, and columns whose names are not those of an attribute."""
    ours = ["semantic id", "sid", "cluster", "prefix", "null", "none", "nan"]
    for one in domain().attributes:
        ours += [name for name in one.columns if name != one.name and "_" in name]
    words = "|".join(ours).replace("_", " ?").replace("color", "colou?r")
    return re.compile(rf"(?i)[={{}}<>|_]|\b(?:{words})\b")


def form_faults(query: str, config: VerifyConfig | None = None) -> list[str]:
    """What is wrong with the form of a query: length, lists of attributes, internal names."""
    config = config or VerifyConfig()
    faults = []
    if not config.min_words <= len(query.split()) <= config.max_words:
        faults.append("length")
    if _internal().search(query):
        faults.append("internal names")
    if query.count(",") > 4 or re.search(r"\b(?:AND|OR)\b", query):
        faults.append("attribute list")
    return faults


def verify(
    queries: pa.Table,
    clusters: pa.Table,
    catalog: pa.Table,
    semantic_ids: pa.Table,
    similarity: Similarity | None = None,
    config: VerifyConfig | None = None,
) -> Verdict:
    """Check all queries.

    Args:
        queries: schema QUERIES, of any generator.
        clusters: schema CLUSTERS.
        catalog, semantic_ids: of those clusters.
        similarity: of the soft comparisons; trigram overlap by default, which needs no model.
        config: thresholds.
    """
    return Verifier(
        list(read_evidence(clusters)),
        catalog,
        PrefixIndex(code_matrix(semantic_ids, catalog)),
        wish_incidence(catalog),
        similarity,
        config,
    ).check(queries)


class Verifier:
    """:func:`verify` for several tables of queries of the same edition.

    Args:
        found: evidence of all clusters.
        catalog: schema CATALOG.
        index: the prefix tree over its products.
        values: from :func:`~.candidates.wish_incidence`.
        similarity, config: as for :func:`verify`.
    """

    def __init__(
        self,
        found: Sequence[Evidence],
        catalog: pa.Table,
        index: PrefixIndex,
        values: Incidence,
        similarity: Similarity | None = None,
        config: VerifyConfig | None = None,
    ) -> None:
        self.config = config or VerifyConfig()
        self._found = found
        self._catalog = catalog
        self._index = index
        self._grounding = Grounding(values, self.config.least_share)
        self._similarity = similarity or LexicalSimilarity()

    def check(self, queries: pa.Table) -> Verdict:
        """Check queries of all clusters, or of some: those without queries are not looked at."""
        config = self.config
        rows = _rows_by_prefix(queries)
        found = [evidence for evidence in self._found if evidence.prefix in rows]
        reasons = [form_faults(text, config) for text in queries["query"].to_pylist()]
        _add_duplicates(queries, rows, reasons, config)
        self._add_ungrounded(queries, rows, found, reasons)
        measured = self._measure(queries, rows, found)
        for number in np.flatnonzero(measured.sibling > measured.exact - config.margin).tolist():
            reasons[number].append(FITS_SIBLINGS)
        table = pa.table(
            {
                "query_id": queries["query_id"],
                "reasons": pa.array(reasons, _TEXTS),
                "exact": measured.exact,
                "sibling": measured.sibling,
                "types": pa.array(measured.types, _TEXTS),
            }
        )
        return Verdict(table, self.report(queries, table))

    def report(self, queries: pa.Table, checked: pa.Table) -> dict[str, Any]:
        """The quality report of queries, given the rows that :meth:`check` made of them."""
        return quality(queries, checked, self._found, self.config.required)

    def _add_ungrounded(
        self,
        queries: pa.Table,
        rows: dict[tuple[int, ...], list[int]],
        found: Sequence[Evidence],
        reasons: list[list[str]],
    ) -> None:
        intents = queries["intents"].to_pylist()
        for evidence in found:
            held = self._grounding.held(self._index.members(evidence.prefix))
            for number in rows[evidence.prefix]:
                if any(next(self._grounding.faults(one, held), "") for one in intents[number]):
                    reasons[number].append("ungrounded")

    def _measure(
        self, queries: pa.Table, rows: dict[tuple[int, ...], list[int]], found: Sequence[Evidence]
    ) -> _Measured:
        """Match every query with products of its cluster, of siblings, and of each type."""
        article_types = self._catalog["article_type"].combine_chunks()
        pairs = Pairs()
        wanted: list[tuple[str, slice]] = []
        for evidence in found:
            members = rows[evidence.prefix]
            around = self._index.around(evidence.prefix)
            for tier, products in enumerate((around.exact, around.sibling)):
                pairs.add(members, spread(products, self.config.products), tier)
            for value, product in representatives(evidence, around.exact, article_types):
                wanted.append((value, pairs.add(members, np.array([product]), _FOR_TYPES)))
        query, products, tiers = pairs.arrays()
        matches = match_pairs(queries["intents"], self._catalog, query, products, self._similarity)
        satisfied = wishes_satisfied(matches).satisfied
        kind = domain().type
        finds = matches.match[:, domain().names.index(kind.name)] >= kind.threshold
        types: list[list[str]] = [[] for _ in range(len(queries))]
        for value, part in wanted:
            for number in query[part][finds[part]].tolist():
                types[number].append(value)
        exact, sibling = (shares(query, tiers == t, satisfied, len(queries)) for t in (0, 1))
        return _Measured(exact, sibling, types)


def _rows_by_prefix(queries: pa.Table) -> dict[tuple[int, ...], list[int]]:
    rows: dict[tuple[int, ...], list[int]] = {}
    for number, prefix in enumerate(queries["prefix"].to_pylist()):
        rows.setdefault(tuple(prefix), []).append(number)
    return rows


# ---------------------------------------------------------------- duplicates


def _add_duplicates(
    queries: pa.Table,
    rows: dict[tuple[int, ...], list[int]],
    reasons: list[list[str]],
    config: VerifyConfig,
) -> None:
    folded = [fold(text) for text in queries["query"].to_pylist()]
    seen: set[str] = set()
    for number, text in enumerate(folded):
        if text in seen:
            reasons[number].append("duplicate")
        seen.add(text)
    for members in rows.values():
        words = [frozenset(folded[number].split()) for number in members]
        for place, number in enumerate(members):
            if any(_overlap(words[place], other) > config.alike for other in words[:place]):
                reasons[number].append("near-duplicate")


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


# ---------------------------------------------------------------- measured


class _Measured(NamedTuple):
    exact: Floats
    sibling: Floats
    types: list[list[str]]
