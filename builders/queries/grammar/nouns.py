"""Noun phrases: a product type with its wishes before and after it.

In:  a plan, the wishes to say, what the sentence says afterwards, a random generator.
Out: "men's black or brown leather belts by Levis", "a pair of running shoes for women".

Each wish takes a place before or after the noun; arrangements that read badly are drawn again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fashion_rq_bench.builders.queries.grammar.frames import Frame, occasion_phrases
from fashion_rq_bench.builders.queries.say.draw import either, pick, weighted
from fashion_rq_bench.builders.queries.say.habits import habit, table
from fashion_rq_bench.builders.queries.say.lexicon import (
    TypeForms,
    brand_name,
    occasion_forms,
    person_forms,
    value_forms,
)
from fashion_rq_bench.builders.queries.say.plan import Plan
from fashion_rq_bench.schema.domain import domain, per_domain
from fashion_rq_bench.words.vocabulary import tokens

__all__ = ["noun_phrase"]

_TRIES = 12
_MAX_PRE = 4
_MAX_POST = 2
_PAIR = 0.45

_SMALL_WORDS = frozenset(("or", "and", "a", "an", "the", "for", "in", "by", "from", "with", "to"))


@dataclass(frozen=True)
class _Placed:
    """A wish with its words.

    ``range``: they join several values by "or"; ``close``: they stand next to the noun.
    """

    attribute: str
    text: str
    range: bool
    close: bool

    @property
    def opening(self) -> str:
        return self.text.split()[0]


def noun_phrase(
    plan: Plan, wishes: Mapping[str, Sequence[str]], frame: Frame, rng: np.random.Generator
) -> str | None:
    """A phrase that says all ``wishes``, or None if no drawn arrangement reads well.

    Args:
        plan: its types are the noun.
        wishes: those of the plan's wishes that the sentence does not say elsewhere.
        frame: the sentence around the phrase; gives its number.
        rng: source of all choices.
    """
    heads = [_head(forms, plan.phrases, rng) for forms in plan.forms]
    for _ in range(_TRIES):
        pre, post = _arrange(plan, wishes, rng)
        orders = _orders()
        order = orders[int(rng.random() * len(orders))]
        pre.sort(key=lambda placed: (placed.close, order[placed.attribute]))
        post.sort(key=lambda placed: _order_after()[placed.attribute])
        if _starts_well(pre) and _ends_well(post, frame) and not _repeats(pre, post, heads):
            return _assemble(pre, post, heads, plan.forms, frame.number, rng)
    return None


@per_domain
def _orders() -> tuple[dict[str, int], ...]:
    """Places of the attributes before the noun, in each of several orders."""
    return tuple(_places(order) for order in table("phrase")["orders"])


@per_domain
def _order_after() -> dict[str, int]:
    return _places(table("phrase")["order_after"])


def _places(order: str) -> dict[str, int]:
    """Attribute to place, by its name or else its role; what an order does not name comes last."""
    place = {name: number for number, name in enumerate(order.split())}
    return {
        one.name: place.get(one.name, place.get(one.role, len(place)))
        for one in domain().attributes
    }


def _head(forms: TypeForms, phrases: frozenset[str], rng: np.random.Generator) -> tuple[str, str]:
    """A name of the type, singular and plural; one that the titles use is preferred."""
    weights = [
        (2.0 if place == 0 else 0.7) + 2.0 * (one in phrases or many in phrases)
        for place, (one, many) in enumerate(zip(forms.one, forms.many, strict=True))
    ]
    place = weighted(weights, rng)
    return forms.one[place], forms.many[place]


def _arrange(
    plan: Plan, wishes: Mapping[str, Sequence[str]], rng: np.random.Generator
) -> tuple[list[_Placed], list[_Placed]]:
    pre: list[_Placed] = []
    post: list[_Placed] = []
    for attribute, values in wishes.items():
        before, after = _wordings(attribute, values, plan, rng)
        first = bool(before) and (rng.random() < habit(attribute, "before") or not after)
        role = domain().by_name[attribute].role
        close = role == "occasion" and occasion_forms(values[0]).close
        placed = _Placed(attribute, before if first else after, len(values) > 1, close)
        (pre if first else post).append(placed)
    return pre, post


def _wordings(
    attribute: str, values: Sequence[str], plan: Plan, rng: np.random.Generator
) -> tuple[str, str]:
    """Words for before and for after the noun; "" where there are none."""
    role = domain().by_name[attribute].role
    if role == "brand":
        names = either([brand_name(value) for value in values])
        return names, f"{pick(('by', 'from', 'from'), rng)} {names}"
    if role == "person":
        person = person_forms(values[0])
        return pick(person.pre, rng), pick(person.post, rng)
    if role == "occasion":
        return _occasion(values[0], plan, rng)
    forms = [value_forms(attribute, value) for value in values]
    before = either([pick(form.pre, rng) for form in forms])
    if role == "color":
        return before, "in " + either([form.post[0].removeprefix("in ") for form in forms])
    return before, pick(forms[0].post, rng) if len(forms) == 1 else ""


def _occasion(occasion: str, plan: Plan, rng: np.random.Generator) -> tuple[str, str]:
    forms = occasion_forms(occasion)
    plain = plan.kind not in forms.no_pre and not forms.clash & plan.named
    return pick(forms.pre, rng) if plain else "", pick(occasion_phrases(plan), rng)


def _starts_well(pre: Sequence[_Placed]) -> bool:
    """Not too much before the noun, and a range at the front of it."""
    if len(pre) > _MAX_PRE:
        return False
    ranges = [place for place, placed in enumerate(pre) if placed.range]
    if len(ranges) > 1 or (ranges and (ranges[0] > 1 or len(pre) > 3)):
        return False
    brand = domain().name_of("brand")
    return not (ranges and pre[ranges[0]].attribute == brand and (len(pre) > 2 or ranges[0]))


def _repeats(
    pre: Sequence[_Placed], post: Sequence[_Placed], heads: Sequence[tuple[str, str]]
) -> bool:
    """Whether a word that carries meaning stands twice ("red Red Tape shoes")."""
    groups = [set(tokens(placed.text)) for placed in (*pre, *post)]
    groups += [set(tokens(heads[0][1]))]
    words = [word for group in groups for word in group - _SMALL_WORDS]
    return len(set(words)) < len(words)


def _ends_well(post: Sequence[_Placed], frame: Frame) -> bool:
    """Few phrases after the noun, no preposition twice, nothing long before the verb."""
    openings = [placed.opening for placed in post if placed.text]
    if len(openings) < len(post) or len(post) > _MAX_POST or len(set(openings)) < len(openings):
        return False
    used = frame.prepositions | set(openings)
    if frame.prepositions & set(openings) or {"by", "from"} <= used:
        return False
    late = {placed.attribute for placed in post}
    if frame.goes_on:
        return late <= {domain().name_of("person")}
    return not (frame.tail and (len(post) > 1 or domain().name_of("occasion") in late))


def _assemble(
    pre: Sequence[_Placed],
    post: Sequence[_Placed],
    heads: Sequence[tuple[str, str]],
    forms: Sequence[TypeForms],
    number: str,
    rng: np.random.Generator,
) -> str:
    several = len(heads) > 1
    head = either([many if several or number == "many" else one for one, many in heads])
    words = " ".join([*(p.text for p in pre), head, *(p.text for p in post)])
    if number != "one" or several or any(form.mass for form in forms):
        return words
    if forms[0].pair:
        return f"a pair of {words}" if rng.random() < _PAIR else words
    return f"{_article(words)} {words}"


def _article(words: str) -> str:
    """Indefinite article by the sound of the first word, as far as spelling tells."""
    first = words.split()[0]
    if first.isupper() and first.isalpha() and not set(first[1:]) & set("AEIOU"):
        return "an" if first[0] in "AEFHILMNORSX" else "a"  # spelt out: "an FNF saree"
    if re.match(r"(?i)(uni|use|euro|one\b|u\.)", first):
        return "a"
    return "an" if first[0].lower() in "aeiou" else "a"
