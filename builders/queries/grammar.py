"""Offline verbalizer: a set of wishes becomes a query as shoppers write them.

In:  wishes, the cluster's title phrases, a random generator.
Out: text and its intents, which are known because every wish is said and nothing else is.

Implements the verbalisation of the paper's section 3 without a language model. A sentence shape
(``data/frames.toml``) holds a noun phrase; each wish takes a place in it, before or after the noun,
or a slot of the shape (``data/lexicon.toml`` has the words).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np

from fashion_rq_bench.schema import ATTRIBUTES, LIST_ATTRIBUTES
from fashion_rq_bench.vocabulary import tokens

from .lexicon import (
    TypeForms,
    brand_name,
    common_words,
    gender_forms,
    group_forms,
    occasion_forms,
    type_forms,
    value_forms,
)

__all__ = ["Plan", "can_name_person", "intents_of", "verbalize"]

Item = TypeVar("Item")

_TRIES = 12
_MAX_PRE = 4
_MAX_POST = 2
_FRAGMENTS = 0.32
_LOWER_CASE = 0.5
_PERSONLESS = frozenset({"inner", "gear"})


@dataclass(frozen=True)
class Plan:
    """What a query has to say.

    Attributes:
        types: article types asked for; two are joined by "or".
        wishes: attribute to values, for the nine others; several values are joined by "or".
        person: say gender and age by naming a person ("my wife").
        group: ``types`` holds one broad category instead of article types.
        phrases: title phrases of the cluster; a name for the type that stands there is preferred.
    """

    types: tuple[str, ...]
    wishes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    person: bool = False
    group: bool = False
    phrases: frozenset[str] = frozenset()

    @property
    def forms(self) -> tuple[TypeForms, ...]:
        """Names of the types."""
        return tuple(group_forms(t) if self.group else type_forms(t) for t in self.types)


def can_name_person(plan: Plan) -> bool:
    """Whether the plan's gender can be said by naming a person to buy for."""
    gender = plan.wishes.get("gender")
    kinds = {forms.kind for forms in plan.forms}
    return bool(gender and gender_forms(gender[0]).gift) and not kinds & _PERSONLESS


def intents_of(plan: Plan) -> list[dict[str, Any]]:
    """φ(q) of a query made from ``plan``: one intent per product type, values as in the catalog.

    Everything but brands is in lower case; an attribute that is not said is None.
    """
    said: dict[str, Any] = dict.fromkeys(ATTRIBUTES)
    for attribute, values in plan.wishes.items():
        texts = [value if attribute == "brand" else value.casefold() for value in values]
        said[attribute] = texts if attribute in LIST_ATTRIBUTES else texts[0]
    if plan.person:
        said["age_group"] = gender_forms(plan.wishes["gender"][0]).age
    return [{**said, "product_type": one.casefold()} for one in plan.types]


def verbalize(plan: Plan, rng: np.random.Generator) -> Iterator[str]:
    """Endless different wordings of a plan (some repeat); nothing where it cannot be said.

    Args:
        plan: what to say.
        rng: source of all choices.

    Yields:
        Query texts, capitalised and punctuated as drawn.
    """
    frames = _fitting(plan)
    weights = [frame.weight for frame in frames]
    misses = 0
    while frames and misses < _TRIES:
        text = _realise(frames[_draw(weights, rng)], plan, rng)
        misses = misses + 1 if text is None else 0
        if text is not None:
            yield text


# ---------------------------------------------------------------- frames


@dataclass(frozen=True)
class _Frame:
    text: str
    weight: float
    fragment: bool
    plural: bool
    single: bool
    slots: frozenset[str]

    @property
    def lifted(self) -> frozenset[str]:
        """Attributes that the frame says itself."""
        names = {"brand": "brand", "colour": "color", "occasion": "occasion", "person": "gender"}
        return frozenset(names[slot] for slot in self.slots if slot in names)


@cache
def _frames() -> tuple[_Frame, ...]:
    text = files("fashion_rq_bench").joinpath("data", "frames.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    share = {"fragment": _FRAGMENTS, "sentence": 1 - _FRAGMENTS}
    return tuple(
        _Frame(
            entry["text"],
            share[kind] * entry.get("weight", 1.0),
            kind == "fragment",
            entry.get("plural", False),
            entry.get("single", False),
            frozenset(re.findall(r"{(\w+)}", entry["text"])),
        )
        for kind in share
        for entry in data[kind]
    )


def _fitting(plan: Plan) -> list[_Frame]:
    """Frames whose slots the plan fills; if fragments and sentences fit, in their set shares."""
    fitting = []
    mass = any(forms.mass for forms in plan.forms)
    for frame in _frames():
        if ("person" in frame.slots) != plan.person or not frame.lifted <= plan.wishes.keys():
            continue
        if (frame.plural and mass) or (len(plan.types) > 1 and not frame.slots & {"many"}):
            continue
        if frame.single and any(len(plan.wishes[name]) > 1 for name in frame.lifted):
            continue
        fitting.append(frame)
    totals = {kind: sum(f.weight for f in fitting if f.fragment == kind) for kind in (True, False)}
    share = {True: _FRAGMENTS, False: 1 - _FRAGMENTS}
    return [replace(f, weight=f.weight / totals[f.fragment] * share[f.fragment]) for f in fitting]


def _realise(frame: _Frame, plan: Plan, rng: np.random.Generator) -> str | None:
    rest = {name: v for name, v in plan.wishes.items() if name not in frame.lifted}
    after = frame.text.partition("}")[2] if frame.slots & {"many", "one", "bare"} else ""
    busy = {word for word in ("for", "in", "from", "by") if re.search(rf"\b{word}\b", after)}
    if "occasion" in frame.lifted or "person" in frame.slots:
        busy.add("for")
    number = next(slot for slot in ("many", "one", "bare") if slot in frame.slots)
    noun = _noun_phrase(plan, rest, number, frozenset(busy), rng)
    if noun is None:
        return None
    fill = {number: noun, **_slots(frame, plan, rng)}
    text = re.sub(r"{(\w+)}", lambda match: fill[match[1]], frame.text)
    return _finish(text, frame, plan, rng)


def _slots(frame: _Frame, plan: Plan, rng: np.random.Generator) -> dict[str, str]:
    filled = {}
    kind = plan.forms[0].kind
    if "brand" in frame.slots:
        filled["brand"] = _either([brand_name(b) for b in plan.wishes["brand"]])
    if "colour" in frame.slots:
        forms = [value_forms("color", color) for color in plan.wishes["color"]]
        filled["colour"] = _either([form.post[0].removeprefix("in ") for form in forms])
    if "occasion" in frame.slots:
        post = occasion_forms(plan.wishes["occasion"][0]).post
        filled["occasion"] = _pick(post.get(kind, post["any"]), rng)
    if "person" in frame.slots:
        filled["person"] = _pick(gender_forms(plan.wishes["gender"][0]).gift, rng)
    if "verb" in frame.slots:
        filled["verb"] = {"bag": "carry", "gear": "use", "care": "use"}.get(kind, "wear")
    return filled


def _finish(text: str, frame: _Frame, plan: Plan, rng: np.random.Generator) -> str:
    if not frame.fragment:
        return text[0].upper() + text[1:]
    brands = plan.wishes.get("brand", ())
    if rng.random() < _LOWER_CASE and not any(_ambiguous(brand) for brand in brands):
        return text.lower()
    return text[0].upper() + text[1:]


def _ambiguous(brand: str) -> bool:
    """Whether a brand in lower case reads like plain words ("Only", "W", "Basics")."""
    words = tokens(brand)
    return len(brand) < 3 or all(word in common_words() for word in words)


# ---------------------------------------------------------------- noun phrases


@dataclass(frozen=True)
class _Placed:
    """A wish with its words and place; ``range`` if they join several values by "or"."""

    attribute: str
    text: str
    range: bool


_ORDERS = tuple(
    tuple(order.split())
    for order in (
        "price_hint gender age_group brand occasion color pattern style_tags material",
        "price_hint gender age_group occasion color brand pattern style_tags material",
        "price_hint gender age_group brand style_tags occasion color pattern material",
        "price_hint brand gender age_group occasion pattern color style_tags material",
        "price_hint occasion brand color pattern style_tags material gender age_group",
    )
)
_POST_ORDER = (
    "style_tags",
    "pattern",
    "material",
    "color",
    "brand",
    "gender",
    "age_group",
    "occasion",
    "price_hint",
)
_PRE_SHARE = {
    "gender": 0.4,
    "age_group": 0.5,
    "brand": 0.62,
    "color": 0.75,
    "occasion": 0.4,
    "pattern": 0.85,
    "material": 0.85,
    "style_tags": 0.75,
    "price_hint": 0.75,
}


def _noun_phrase(
    plan: Plan,
    wishes: Mapping[str, Sequence[str]],
    number: str,
    busy: frozenset[str],
    rng: np.random.Generator,
) -> str | None:
    """A phrase that says all ``wishes``, or None if no drawn arrangement reads well.

    ``busy`` holds prepositions that the sentence uses right after the phrase.
    """
    heads = [_head(forms, plan.phrases, rng) for forms in plan.forms]
    for _ in range(_TRIES):
        pre, post = _arrange(plan, wishes, rng)
        order = _ORDERS[int(rng.random() * len(_ORDERS))]
        pre.sort(key=lambda placed: order.index(placed.attribute))
        post.sort(key=lambda placed: _POST_ORDER.index(placed.attribute))
        if _reads_well(pre, post, heads, busy):
            return _assemble(pre, post, heads, plan.forms, number, rng)
    return None


def _head(forms: TypeForms, phrases: frozenset[str], rng: np.random.Generator) -> tuple[str, str]:
    weights = [
        (2.0 if i == 0 else 0.7) + 2.0 * (one in phrases or many in phrases)
        for i, (one, many) in enumerate(zip(forms.one, forms.many, strict=True))
    ]
    i = _draw(weights, rng)
    return forms.one[i], forms.many[i]


def _arrange(
    plan: Plan, wishes: Mapping[str, Sequence[str]], rng: np.random.Generator
) -> tuple[list[_Placed], list[_Placed]]:
    pre: list[_Placed] = []
    post: list[_Placed] = []
    for attribute, values in wishes.items():
        before, after = _wordings(attribute, values, plan, rng)
        first = rng.random() < _PRE_SHARE[attribute]
        text = before if before and (first or not after) else after
        placed = _Placed(attribute, text, len(values) > 1)
        (pre if text is before else post).append(placed)
    return pre, post


def _wordings(
    attribute: str, values: Sequence[str], plan: Plan, rng: np.random.Generator
) -> tuple[str, str]:
    """Words for before and for after the noun; "" where there are none."""
    if attribute == "brand":
        names = _either([brand_name(value) for value in values])
        return names, f"{_pick(('by', 'from', 'from'), rng)} {names}"
    if attribute == "gender":
        gender = gender_forms(values[0])
        return _pick(gender.pre, rng), _pick(gender.post, rng)
    if attribute == "occasion":
        return _occasion_wordings(values[0], plan, rng)
    forms = [value_forms(attribute, value) for value in values]
    before = _either([_pick(form.pre, rng) for form in forms])
    if attribute == "color":
        return before, "in " + _either([form.post[0].removeprefix("in ") for form in forms])
    after = _pick(forms[0].post, rng) if len(forms) == 1 else ""
    return before, after


def _occasion_wordings(occasion: str, plan: Plan, rng: np.random.Generator) -> tuple[str, str]:
    forms, kind = occasion_forms(occasion), plan.forms[0].kind
    named = {word for one in plan.forms for name in one.many for word in tokens(name)}
    plain = kind not in forms.no_pre and not forms.clash & named
    return (
        _pick(forms.pre, rng) if plain else "",
        _pick(forms.post.get(_WORN.get(kind, kind), forms.post["any"]), rng),
    )


_WORN = dict.fromkeys(("wear", "inner", "foot", "accessory", "watch", "jewel", "makeup"), "wear")


def _reads_well(
    pre: list[_Placed], post: list[_Placed], heads: list[tuple[str, str]], busy: frozenset[str]
) -> bool:
    if len(pre) > _MAX_PRE or len(post) > _MAX_POST or any(not p.text for p in (*pre, *post)):
        return False
    openings = [placed.text.split()[0] for placed in post]
    if len(set(openings)) < len(openings) or busy & set(openings):
        return False
    if {"by", "from"} <= set(openings) | busy:
        return False
    ranges = [i for i, placed in enumerate(pre) if placed.range]
    if len(ranges) > 1 or (ranges and (ranges[0] > 1 or len(pre) > 3)):
        return False
    if ranges and pre[ranges[0]].attribute == "brand" and len(pre) > 2:
        return False
    words = [word for p in pre for word in tokens(p.text) if word != "or"]
    words += [word for word in tokens(heads[0][1]) if word not in ("and", "set")]
    return len(set(words)) == len(words)


def _assemble(
    pre: list[_Placed],
    post: list[_Placed],
    heads: list[tuple[str, str]],
    forms: Sequence[TypeForms],
    number: str,
    rng: np.random.Generator,
) -> str:
    several, pair, mass = len(heads) > 1, forms[0].pair, any(form.mass for form in forms)
    head = _either([many if several or number == "many" else one for one, many in heads])
    words = " ".join([*(p.text for p in pre), head, *(p.text for p in post)])
    if number != "one" or mass or several:
        return words
    if pair:
        return f"a pair of {words}" if rng.random() < 0.45 else words
    return f"{_article(words)} {words}"


def _article(words: str) -> str:
    """ "a" or "an" by the sound of the first word, as far as spelling tells."""
    first = words.split()[0]
    if first.isupper() and first.isalpha() and len(first) <= 4 and not first.istitle():
        return "an" if first[0] in "AEFHILMNORSX" else "a"
    if re.match(r"(?i)(uni|use|euro|one\b|u\.)", first):
        return "a"
    return "an" if first[0].lower() in "aeiou" else "a"


# ---------------------------------------------------------------- small things


def _either(words: Sequence[str]) -> str:
    """ "black", "black or brown", "black, brown or tan"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _draw(weights: Sequence[float], rng: np.random.Generator) -> int:
    ends = np.cumsum(weights)
    return min(int(np.searchsorted(ends, rng.random() * ends[-1], "right")), len(ends) - 1)


def _pick(options: Sequence[str], rng: np.random.Generator) -> str:
    return options[min(int(rng.random() * len(options)), len(options) - 1)] if options else ""
