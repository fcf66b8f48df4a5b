"""R(q, p) once more, pair by pair and value by value, as the paper's 8.0.4 reads.

Written apart from the package's vectorised code: it shares the vocabulary's folding and the colour
swatches, and nothing else. Tests compare with it; the benchmark measures against it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fashion_rq_bench.relevance.comparators import ComparatorConfig, color, comparators
from fashion_rq_bench.relevance.comparators import tier as tiers
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.words.folding import fold
from fashion_rq_bench.words.number import plural
from fashion_rq_bench.words.terms import choice_of
from fashion_rq_bench.words.tokens import token_key

Sim = Callable[[str, str], float]
Row = Mapping[str, Any]
AGE_GROUPS = ("baby", "toddler", "kids", "adult")
SOFT = {
    "pattern": "pattern",
    "material": "material",
    "occasion": "occasion",
    "style_tags": "style",
}
NEUTRAL = (0.5, True)


def gender(text: str) -> str | None:
    return choice_of(domain().by_name["gender"], text)


def age_group(text: str) -> str | None:
    return choice_of(domain().by_name["age_group"], text)


def lower(text: str) -> str:
    return " ".join(text.casefold().split())


def levels(product: Row) -> list[str]:
    names = ("master_category", "sub_category", "article_type")
    return [lower(product.get(name) or "") for name in names]


def path(product: Row) -> str:
    return " > ".join(level for level in levels(product) if level)


def match_product_type(query: str, product: Row, sim: Sim) -> tuple[float, bool]:
    steps = levels(product)
    if not any(steps):
        return NEUTRAL
    query = lower(query)
    keys = [key for key in (token_key(query), token_key(plural(query))) if key]
    if any(key in token_key(level) for key in keys for level in steps):
        return max(0.85, sim(query, steps[2]) if steps[2] else 0.0), False
    return max(sim(query, place) for place in [*filter(None, steps), path(product)]), False


def match_gender(query: str, product: Row, sim: Sim) -> tuple[float, bool]:
    if not fold(product.get("gender") or ""):
        return NEUTRAL
    one = gender(query) or fold(query)
    two = gender(product["gender"]) or fold(product["gender"])
    return (1.0 if one == two else 0.7 if "unisex" in (one, two) else 0.1), False


def match_age_group(query: str, product: Row, sim: Sim) -> tuple[float, bool]:
    if not fold(product.get("age_group") or ""):
        return NEUTRAL
    one = age_group(query) or fold(query)
    two = age_group(product["age_group"]) or fold(product["age_group"])
    if one == two:
        return 1.0, False
    if one not in AGE_GROUPS or two not in AGE_GROUPS:
        return 0.3, False
    return max(0.0, 1 - 0.35 * abs(AGE_GROUPS.index(one) - AGE_GROUPS.index(two))), False


def match_color(query: Sequence[str], product: Row, sim: Sim) -> tuple[float, bool]:
    wanted = [color.color_of(value) or fold(value) for value in query]
    if not (product.get("base_color") or "").strip():
        text = (product.get("description") or "").strip()
        return (max(sim(value, text) for value in wanted), False) if text else NEUTRAL
    own = color.color_of(product["base_color"]) or fold(product["base_color"])
    return max(match_one_color(value, own, sim) for value in wanted), False


def match_one_color(one: str, two: str, sim: Sim) -> float:
    names = color.color_names()
    if one == two:
        return 1.0
    if one in names and two in names:
        return max(0.0, 1 - float(color.delta_e()[names.index(one), names.index(two)]) / 120)
    return sim(one, two)


def match_soft(attribute: str, query: Sequence[str], product: Row, sim: Sim) -> tuple[float, bool]:
    column, comparator = SOFT[attribute], comparators()[attribute]
    wanted = [comparator.query_value(value) for value in query]
    also = [product.get("usage")] if column == "occasion" else []
    values = [*(product.get(column) or []), *also]
    own = [comparator.query_value(value) for value in values if value]
    if not any(own):
        own = [(product.get("description") or "").strip()]
        own += [path(product)] if attribute != "material" else []
    pairs = [sim(one, two) for one in wanted for two in own if two]
    return (max(pairs), False) if pairs else NEUTRAL


def match_brand(query: Sequence[str], product: Row, sim: Sim) -> tuple[float, bool]:
    own = token_key(product.get("brand") or "")
    if not (product.get("brand") or "").strip():
        return NEUTRAL
    wanted = [token_key(value) for value in query]
    return float(any(a and own and (a in own or own in a) for a in wanted)), False


def match_price_hint(query: str, product: Row, sim: Sim) -> tuple[float, bool]:
    tier = product.get("price_tier")
    if tier is None and product.get("price") is None:
        return NEUTRAL
    config = ComparatorConfig()
    own = tier or tiers.tier_of_price(product["price"], config)
    return (1.0 if tiers.tier_of_hint(query, config) == own else 0.3), False


HARD = {
    "product_type": match_product_type,
    "gender": match_gender,
    "age_group": match_age_group,
    "color": match_color,
    "brand": match_brand,
    "price_hint": match_price_hint,
}


def match(attribute: str, value: Any, product: Row, sim: Sim) -> tuple[float, bool]:
    """m_a and whether the product had nothing to compare."""
    if attribute in SOFT:
        return match_soft(attribute, value, product, sim)
    return HARD[attribute](value, product, sim)


def relevance(
    intents: Sequence[Row], product: Row, sim: Sim, weights: Mapping[str, float]
) -> tuple[float, dict[str, float]]:
    """R of the best intent, and every attribute's match by the rule of AttrScore."""
    scored = []
    for intent in intents:
        found = {name: match(name, v, product, sim)[0] for name, v in intent.items() if v}
        total = sum(weights.get(name, 0.0) for name in found)
        if found:
            rel = sum(weights.get(n, 0.0) * m for n, m in found.items()) / total if total else -1.0
            scored.append((rel, found))
    if not scored:
        return float("nan"), {}
    ranked = sorted(scored, key=lambda one: -one[0])
    attributes: dict[str, float] = {}
    for _, found in ranked:
        attributes = found | attributes
    best = ranked[0][0]
    return (best if best >= 0 else float("nan")), attributes
