"""Offline verbalizer: a plan becomes a query as shoppers write them.

In:  a plan and a random generator.
Out: wordings, each of which says every wish of the plan and nothing else.

Implements the verbalisation of the paper's section 3 without a language model. A sentence shape
(``frames.py``) is filled with a noun phrase (``nouns.py``) in the words of ``lexicon.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from fashion_rq_bench.builders.queries.grammar.frames import (
    Frame,
    fitting,
    occasion_phrases,
    outings,
)
from fashion_rq_bench.builders.queries.grammar.nouns import noun_phrase
from fashion_rq_bench.builders.queries.say.draw import either, pick, weighted
from fashion_rq_bench.builders.queries.say.lexicon import (
    brand_name,
    common_words,
    person_forms,
    value_forms,
)
from fashion_rq_bench.builders.queries.say.plan import Plan
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.words.vocabulary import tokens

__all__ = ["verbalize"]

_MISSES = 12
_LOWER_CASE = 0.5


def verbalize(plan: Plan, rng: np.random.Generator) -> Iterator[str]:
    """Endless wordings of a plan, some of them repeated; none where it cannot be said.

    Args:
        plan: what to say.
        rng: source of all choices.

    Yields:
        Query texts; sentences are capitalised and punctuated, fragments often in lower case.
    """
    frames = fitting(plan)
    weights = [frame.weight for frame in frames]
    misses = 0
    while frames and misses < _MISSES:
        text = _realise(frames[weighted(weights, rng)], plan, rng)
        misses = misses + 1 if text is None else 0
        if text is not None:
            yield text


def _realise(frame: Frame, plan: Plan, rng: np.random.Generator) -> str | None:
    rest = {name: values for name, values in plan.wishes.items() if name not in frame.lifted}
    noun = noun_phrase(plan, rest, frame, rng)
    if noun is None:
        return None
    words = {frame.number: noun, **_slots(frame, plan, rng)}
    text = re.sub(r"{(\w+)}", lambda match: words[match[1]], frame.text)
    return _finish(text.replace("..", "."), frame, plan, rng)


def _slots(frame: Frame, plan: Plan, rng: np.random.Generator) -> dict[str, str]:
    words: dict[str, str] = {}
    name = domain().name_of
    if "brand" in frame.slots:
        words["brand"] = either([brand_name(brand) for brand in plan.wishes[name("brand")]])
    if "colour" in frame.slots:
        color = name("color")
        forms = [value_forms(color, value) for value in plan.wishes[color]]
        words["colour"] = either([form.post[0].removeprefix("in ") for form in forms])
    if "occasion" in frame.slots:
        words["occasion"] = pick(occasion_phrases(plan), rng)
    if "outing" in frame.slots:
        words["outing"] = pick(outings(plan), rng)
    if "person" in frame.slots:
        words["person"] = pick(person_forms(plan.wishes[name("person")][0]).gift, rng)
    return words


def _finish(text: str, frame: Frame, plan: Plan, rng: np.random.Generator) -> str:
    lower = frame.fragment and rng.random() < _LOWER_CASE
    brands = plan.wishes.get(domain().name_of("brand"), ())
    if lower and not any(map(_ambiguous, brands)):
        return text.lower()
    return text[0].upper() + text[1:]


def _ambiguous(brand: str) -> bool:
    """Whether a brand in lower case reads like plain words ("Only", "W", "Basics")."""
    return len(brand) < 3 or all(word in common_words() for word in tokens(brand))
