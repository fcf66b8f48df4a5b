"""What a language model is told about a cluster.

In:  a row of the CLUSTERS table, the wanted counts and lengths, a budget in tokens.
Out: a :class:`Prompt`: messages, their estimated length, and what was left out of them.

Paper, section 3 (query generation) and the parts of its query prompt, in our own words. Catalog
text reaches the model only as JSON strings inside one delimited block, with the characters that
could close the block, open markup or fence code written as escapes; so it stays data.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fashion_rq_bench.builders.queries.check.steering import steering
from fashion_rq_bench.builders.queries.llm.prompt_text import CORRECTION, REASONS, REQUEST, SYSTEM
from fashion_rq_bench.builders.queries.say.evidence import Evidence, Measure, Signature, evidence_of
from fashion_rq_bench.builders.queries.say.habits import table
from fashion_rq_bench.schema.domain import domain

__all__ = ["Message", "Prompt", "correction", "estimate_tokens", "quoted", "render"]

Message = dict[str, str]

_SAID = {
    "master_category": "department",
    "sub_category": "category",
    "article_type": "product type",
    "price_tier": "price level",
    "title": "title phrase",
}
_TYPE_AXES = ("master_category", "sub_category", "article_type")  # the most specific last
_LONGEST = 80
_BYTES_PER_TOKEN = 3.5
_HEADINGS = 60


@dataclass(frozen=True)
class Prompt:
    """A request to a language model.

    Attributes:
        messages: system and user message.
        tokens: their estimated length.
        dropped: section to number of facts that the budget left no room for.
        steering: texts of the evidence that look like instructions, markup or answers.
    """

    messages: tuple[Message, ...]
    tokens: int
    dropped: Mapping[str, int]
    steering: tuple[str, ...]


@dataclass(frozen=True)
class _Fact:
    """A piece of evidence; ``worth`` orders what is dropped first, infinite for never."""

    section: str
    content: Mapping[str, Any]
    worth: float

    @property
    def tokens(self) -> int:
        return estimate_tokens(quoted(self.content))


def estimate_tokens(text: str) -> int:
    """Tokens of a text, on the high side: a token of English is about 4 bytes, of names fewer."""
    return int(len(text.encode("utf-8")) / _BYTES_PER_TOKEN) + 1


def quoted(value: object) -> str:
    """JSON without a character that could end the evidence, open markup or fence code.

    Invisible characters are removed, long texts cut, ``<``, ``>``, `````` and ``&`` escaped.
    """
    text = json.dumps(_cleaned(value), ensure_ascii=False)
    for character in "<>`&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def render(
    cluster: Mapping[str, Any],
    *,
    counts: tuple[int, int] = (6, 12),
    words: tuple[int, int] = (3, 26),
    budget: int = 3000,
) -> Prompt:
    """The prompt of one cluster.

    Args:
        cluster: a row of schema CLUSTERS, as a dict.
        counts: fewest and most searches asked for.
        words: shortest and longest search, in words.
        budget: most tokens (estimated). The least informative evidence is dropped first; major
            product types always stay, so a budget below the bare instructions is exceeded.

    Returns:
        The prompt, with what was dropped.
    """
    facts = list(_facts(evidence_of(cluster)))
    request = {"low": counts[0], "high": counts[1], "short": words[0], "long": words[1]}
    system = SYSTEM.format(shop=domain().name, need=table("phrase")["need"])
    bare = estimate_tokens(system) + estimate_tokens(REQUEST) + _HEADINGS
    kept = _within(facts, budget - bare)
    sections: dict[str, list[Mapping[str, Any]]] = {}
    for fact in kept:
        sections.setdefault(fact.section, []).append(fact.content)
    lines = "\n".join(quoted({name: contents}) for name, contents in sections.items())
    user = REQUEST.format(evidence=lines, **request)
    return Prompt(
        ({"role": "system", "content": system}, {"role": "user", "content": user}),
        estimate_tokens(system) + estimate_tokens(user),
        dict(
            sorted((Counter(f.section for f in facts) - Counter(f.section for f in kept)).items())
        ),
        tuple(sorted({text for fact in facts for text in _texts(fact.content) if steering(text)})),
    )


def correction(
    prompt: Prompt,
    answer: Sequence[str],
    faults: Sequence[tuple[str, Sequence[str]]],
    missing: Sequence[str] = (),
) -> tuple[Message, ...]:
    """Messages that send failing searches back once, with the reasons.

    Args:
        prompt: the first request.
        answer: all searches that the model gave.
        faults: search and the verifier's reasons, for the failing ones.
        missing: product types that no usable search covers.
    """
    lines = [
        f"- {quoted(query)}: {'; '.join(REASONS.get(reason, reason) for reason in reasons)}."
        for query, reasons in faults
    ]
    lines += [f"- No search covers the product type {quoted(one)}." for one in missing]
    given = json.dumps({"user_queries": list(answer)}, ensure_ascii=False)
    return (
        *prompt.messages,
        {"role": "assistant", "content": given},
        {"role": "user", "content": CORRECTION.format(faults="\n".join(lines))},
    )


# ---------------------------------------------------------------- evidence as facts


def _facts(evidence: Evidence) -> Iterator[_Fact]:
    """Every fact, section by section."""
    yield from _size_facts(evidence)
    yield from _type_facts(evidence)
    yield from _value_facts(evidence)
    for signature in evidence.discriminating:
        worth = 0.5 + 0.5 * max(signature.exclusivity, 0.0)
        yield _signature_fact("sets it apart", signature, worth)
    for attribute, value, against, delta in evidence.exclusivity:
        if attribute not in table("phrase")["silent"]:
            section = "more than neighbours" if delta > 0 else "less than neighbours"
            points = {"points": round(delta), "than": _neighbour(against)}
            content = {_said(attribute): value, **points}
            yield _Fact(section, content, 0.9 * abs(delta) / 100)
    for phrase, share in evidence.phrases.items():
        content = {"phrase": phrase, "percent": _percent(share)}
        yield _Fact("words of titles", content, 0.8 * share)
    for signature in evidence.coverage:
        worth = 0.4 * signature.coverage * signature.precision
        yield _signature_fact("typical combination", signature, worth)
    yield from _price_facts(evidence)


def _type_facts(evidence: Evidence) -> Iterator[_Fact]:
    major = set(evidence.required_types())
    held = [one for axis in _TYPE_AXES for one in evidence.distribution if one.attribute == axis]
    points = {one.value: {"points": round(one.delta_parent)} for one in held}
    for share in evidence.product_types:
        needed = share.value in major
        content = {
            "product type": share.value,
            "percent": _percent(share.share),
            **points.get(share.value, {}),
            "products": share.count,
            "needs": "own search" if needed else "together",
        }
        yield _Fact("product types", content, float("inf") if needed else 1.0 + share.share)


def _size_facts(evidence: Evidence) -> Iterator[_Fact]:
    """How large the group is, the one around it, and its neighbours."""
    yield _Fact("sizes", {"the group": evidence.size}, 0.5)
    yield _Fact("sizes", {_neighbour("parent"): evidence.parent_size}, 0.2)
    for number, size in enumerate(evidence.sibling_sizes, start=1):
        yield _Fact("sizes", {_neighbour(f"sibling {number}"): size}, 0.15)


def _value_facts(evidence: Evidence) -> Iterator[_Fact]:
    for one in evidence.distribution:
        if one.attribute in table("phrase")["silent"] or one.attribute == "article_type":
            continue
        content = {
            _said(one.attribute): one.value,
            "percent": _percent(one.share),
            "points": round(one.delta_parent),
        }
        worth = 0.4 * one.share + 0.4 * abs(one.delta_parent) / 100
        yield _Fact("what the products are", content, worth)


def _price_facts(evidence: Evidence) -> Iterator[_Fact]:
    """The group's prices, then how they differ from each other group's."""
    groups: dict[str, list[Measure]] = {}
    for one in evidence.numeric:
        if one.attribute not in table("phrase")["silent"]:
            groups.setdefault(one.against, []).append(one)
    for place, (against, measures) in enumerate(groups.items()):
        if not place:
            yield _Fact("prices", {m.statistic: round(m.value) for m in measures}, 0.25)
        differences = {m.statistic: round(m.delta) for m in measures}
        yield _Fact("prices", {"difference": differences, "to": _neighbour(against)}, 0.1)


def _signature_fact(section: str, signature: Signature, worth: float) -> _Fact:
    content = {
        "all of": {_said(attribute): value for attribute, value in signature.pairs},
        "covers": _percent(signature.coverage),
        "here": _percent(signature.precision),
    }
    return _Fact(section, content, worth)


def _within(facts: Sequence[_Fact], budget: int) -> list[_Fact]:
    """Facts, in order, less those of least worth that do not fit the budget."""
    costs = [fact.tokens for fact in facts]
    total = sum(costs)
    kept = set(range(len(facts)))
    for number in sorted(kept, key=lambda i: (facts[i].worth, -i)):
        if total <= budget or facts[number].worth == float("inf"):
            break
        kept.remove(number)
        total -= costs[number]
    return [facts[number] for number in sorted(kept)]


def _said(attribute: str) -> str:
    headings = {one.name: one.heading for one in domain().columns if one.heading}
    return _SAID.get(attribute, headings.get(attribute, attribute.replace("_", " ")))


def _neighbour(against: str) -> str:
    return "the group around" if against == "parent" else against.replace("sibling", "neighbour")


def _percent(share: float) -> int | str:
    """Whole percent; 100 only if it is all of them, for rule 7 depends on it."""
    rounded = round(100 * share)
    return "all" if share >= 1 - 1e-9 else min(rounded, 99)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        visible = "".join(
            " " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c
            for c in value
            if unicodedata.category(c) not in ("Cf", "Cs", "Co")
        )
        text = " ".join(visible.split())
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    if isinstance(value, Mapping):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    return [_cleaned(item) for item in value] if isinstance(value, list) else value
