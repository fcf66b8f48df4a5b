"""Drafts of queries: plans of a cluster put into words that no other query has.

In:  a cluster's evidence, a planner.
Out: drafts, each a text with its plan; the QUERIES table of those that stay.

Every choice of a cluster comes from a generator seeded by (seed, prefix); a text already taken by
an earlier cluster is drawn again, so texts are unique in the whole edition after folding case and
punctuation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from fashion_rq_bench.builders.queries.grammar.noise import typed_in_haste
from fashion_rq_bench.builders.queries.grammar.verbalizer import verbalize
from fashion_rq_bench.builders.queries.say.evidence import Evidence
from fashion_rq_bench.builders.queries.say.plan import intents_of
from fashion_rq_bench.builders.queries.say.planning import Planned, Planner
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import queries_schema
from fashion_rq_bench.words.vocabulary import fold

__all__ = ["Draft", "DraftRule", "Writer", "queries_table"]

_WORDINGS = 10
_SPARE_PLANS = 12
_ALIKE = 0.85
_AGAIN = 2**31
"""Added to a cluster's key for the draws of its second round; no code is that large."""


@dataclass(frozen=True)
class DraftRule:
    """How many queries, how long, how many of them typed in haste.

    Attributes:
        seed: seed of every choice.
        counts: fewest and most queries per cluster.
        words: fewest and most words per query.
        noise: share of the queries typed in haste.
    """

    seed: int
    counts: tuple[int, int]
    words: tuple[int, int]
    noise: float


@dataclass(frozen=True)
class Draft:
    """A query of a cluster, what it was to say, and whether it was typed in haste."""

    evidence: Evidence
    text: str
    planned: Planned
    noisy: bool

    @cached_property
    def words(self) -> frozenset[str]:
        """Its folded words."""
        return frozenset(fold(self.text).split())


class Writer:
    """Writes drafts; remembers all texts, so that none comes twice.

    Attributes:
        dropped: what was drawn and not used, by reason.
    """

    def __init__(self, planner: Planner, rule: DraftRule) -> None:
        self._planner = planner
        self._rule = rule
        self._taken: set[str] = set()
        self.dropped: Counter[str] = Counter()

    def first(self, evidence: Evidence) -> list[Draft]:
        """First drafts of a cluster."""
        rng = self._generator(evidence.prefix)
        count = self._count(evidence, rng)
        drafts: list[Draft] = []
        for tried, planned in enumerate(self._planner.plans(evidence, count, rng)):
            if len(drafts) == count or tried == count + _SPARE_PLANS:
                break
            noisy = self._rule.noise > 0 and rng.random() < self._rule.noise
            draft = self._worded(evidence, planned, noisy, drafts, rng)
            drafts += [draft] if draft else []
        return drafts

    def again(
        self, kept: Iterable[Draft], failed: Sequence[tuple[Draft, Sequence[str]]]
    ) -> Iterator[Draft | None]:
        """Second drafts of a cluster's failed queries, one each; None where there is none.

        Args:
            kept: the cluster's queries that passed.
            failed: its queries that did not, with the reasons.
        """
        rng = self._generator((*failed[0][0].evidence.prefix, _AGAIN))
        others = list(kept)
        for draft, reasons in failed:
            planned = self._planner.revise(draft.planned, reasons, rng)
            if planned is None:
                yield None
                continue
            second = self._worded(draft.evidence, planned, draft.noisy, others, rng)
            others += [second] if second else []
            yield second

    def _generator(self, key: Sequence[int]) -> np.random.Generator:
        seeds = np.random.SeedSequence(self._rule.seed, spawn_key=tuple(key))
        return np.random.default_rng(seeds)

    def _count(self, evidence: Evidence, rng: np.random.Generator) -> int:
        needed = len(evidence.required_types()) + -(-len(evidence.minor_types()) // 3)
        fewest, most = self._rule.counts
        return min(max(fewest + int(rng.random() * 3), needed), most)

    def _worded(
        self,
        evidence: Evidence,
        planned: Planned,
        noisy: bool,
        others: Sequence[Draft],
        rng: np.random.Generator,
    ) -> Draft | None:
        """The first wording that is new, of a good length and unlike the cluster's others."""
        named = planned.plan.wishes.get(domain().name_of("brand"), ())
        brands = " ".join(named).lower().split()
        draft = Draft(evidence, "", planned, noisy)
        for _, clean in zip(range(_WORDINGS), verbalize(planned.plan, rng), strict=False):
            text = typed_in_haste(clean, rng, brands) if noisy else clean
            draft = replace(draft, text=text)
            fault = self._fault(draft, others)
            if fault is None:
                self._taken.add(fold(text))
                return draft
            self.dropped[fault] += 1
        self.dropped["plans without a new wording"] += 1
        return None

    def _fault(self, draft: Draft, others: Sequence[Draft]) -> str | None:
        """Why a wording cannot be used."""
        fewest, most = self._rule.words
        own = draft.words
        if not fewest <= len(draft.text.split()) <= most:
            return "wordings too short or too long"
        if fold(draft.text) in self._taken:
            return "wordings already taken"
        if any(len(own & one.words) > _ALIKE * len(own | one.words) for one in others):
            return "wordings alike within a cluster"
        return None


def queries_table(drafts: Sequence[Draft]) -> pa.Table:
    """Rows of schema queries_schema(), in order; ids count the queries of each cluster."""
    numbers: Counter[str] = Counter()
    rows = []
    for draft in drafts:
        key = draft.evidence.key
        rows.append(
            {
                "query_id": f"q{key}.{numbers[key]}",
                "query": draft.text,
                "prefix": list(draft.evidence.prefix),
                "level": draft.evidence.level,
                "intents": intents_of(draft.planned.plan),
                "source": "grammar-noisy" if draft.noisy else "grammar",
            }
        )
        numbers[key] += 1
    return pa.Table.from_pylist(rows, schema=queries_schema())
