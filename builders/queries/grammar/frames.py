"""Sentence shapes, and which of them suit a plan.

In:  the domain's frames (``domains/fashion/frames.toml``) and a plan.
Out: the shapes whose slots the plan can fill, with weights.

A shape holds one noun phrase; every other slot says a wish itself ("Does {brand} make …").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fashion_rq_bench.builders.queries.say.habits import table
from fashion_rq_bench.builders.queries.say.lexicon import occasion_forms
from fashion_rq_bench.builders.queries.say.plan import Plan
from fashion_rq_bench.schema.domain import domain, per_domain
from fashion_rq_bench.words.vocabulary import tokens

__all__ = ["Frame", "fitting", "occasion_phrases", "outings"]

FRAGMENTS = 0.3
"""Share of search fragments among the queries, where both fragments and sentences fit."""

_NUMBERS = ("many", "one", "bare")
_PREPOSITIONS = frozenset({"for", "in", "from", "by"})
_SLOTS = {
    "brand": "brand",
    "colour": "color",
    "occasion": "occasion",
    "outing": "occasion",
    "person": "person",
}
"""Slot to the role of the attribute that it says."""


@dataclass(frozen=True)
class Frame:
    """A sentence shape.

    Attributes:
        text: words and slots.
        weight: how often it is drawn.
        fragment: typed into a search box rather than said.
        plural: not for mass nouns.
        single: each wish it says must be a single value.
    """

    text: str
    weight: float
    fragment: bool
    plural: bool
    single: bool

    @cached_property
    def slots(self) -> frozenset[str]:
        """Names of the slots."""
        return frozenset(re.findall(r"{(\w+)}", self.text))

    @cached_property
    def number(self) -> str:
        """Number of the noun phrase: "many", "one" or "bare"."""
        return next(slot for slot in _NUMBERS if slot in self.slots)

    @cached_property
    def lifted(self) -> frozenset[str]:
        """Attributes that the frame says itself."""
        return frozenset(domain().name_of(_SLOTS[slot]) for slot in self.slots if slot in _SLOTS)

    @cached_property
    def tail(self) -> tuple[str, ...]:
        """Words after the noun phrase; a slot that opens with "for" counts as that word."""
        after = self.text.partition(f"{{{self.number}}}")[2].strip(".?")
        return tuple(re.sub(r"^\s*{occasion}", "for", after).split())

    @cached_property
    def prepositions(self) -> frozenset[str]:
        """Prepositions used after the noun phrase."""
        return _PREPOSITIONS & set(self.tail)

    @property
    def goes_on(self) -> bool:
        """The sentence goes on after the noun phrase with more than a preposition."""
        return bool(self.tail) and self.tail[0] not in _PREPOSITIONS


@per_domain
def _frames() -> tuple[Frame, ...]:
    return tuple(
        Frame(
            entry["text"],
            entry.get("weight", 1.0),
            kind == "fragment",
            entry.get("plural", False),
            entry.get("single", False),
        )
        for kind in ("fragment", "sentence")
        for entry in table("frames")[kind]
    )


def occasion_phrases(plan: Plan) -> tuple[str, ...]:
    """Phrases after the noun for the plan's occasion, those that repeat the noun left out."""
    forms = occasion_forms(plan.wishes[domain().name_of("occasion")][0])
    kinds = (plan.kind, table("phrase")["class_of_occasions"].get(plan.kind, "any"), "any")
    phrases = next(forms.post[kind] for kind in kinds if kind in forms.post)
    return tuple(phrase for phrase in phrases if not plan.named & set(tokens(phrase)))


def outings(plan: Plan) -> tuple[str, ...]:
    """What may follow "that I can wear" in this plan."""
    occasion = plan.wishes.get(domain().name_of("occasion"))
    worn = plan.kind in table("phrase")["class_of_occasions"]
    return occasion_forms(occasion[0]).outing if occasion and worn else ()


def fitting(plan: Plan) -> tuple[Frame, ...]:
    """Frames whose slots the plan fills, their weights scaled to the set share of fragments."""
    return _fitting(
        frozenset(plan.wishes),
        frozenset(name for name, values in plan.wishes.items() if len(values) > 1),
        plan.person,
        any(forms.mass for forms in plan.forms),
        len(plan.types) > 1 or plan.group,
        bool(outings(plan)),
        domain().name_of("occasion") in plan.wishes and bool(occasion_phrases(plan)),
    )


@per_domain
def _fitting(
    said: frozenset[str],
    ranges: frozenset[str],
    person: bool,
    mass: bool,
    several: bool,
    outing: bool,
    phrase: bool,
) -> tuple[Frame, ...]:
    def fits(frame: Frame) -> bool:
        return (
            ("person" in frame.slots) == person
            and frame.lifted <= said
            and not (frame.plural and mass)
            and not (several and frame.number != "many")
            and not (frame.single and frame.lifted & ranges)
            and (outing or "outing" not in frame.slots)
            and (phrase or "occasion" not in frame.slots)
        )

    return _scaled([frame for frame in _frames() if fits(frame)])


def _scaled(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    share = {True: FRAGMENTS, False: 1 - FRAGMENTS}
    total = {kind: sum(f.weight for f in frames if f.fragment == kind) for kind in share}
    return tuple(
        replace(frame, weight=frame.weight / total[frame.fragment] * share[frame.fragment])
        for frame in frames
    )
