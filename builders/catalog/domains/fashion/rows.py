"""Products of the synthetic catalog: from uniform numbers to words.

In:  a plan, each product's leaf and one row of uniform numbers per product.
Out: a table in the shape of the Kaggle archive, without faults.

Every value is a function of the product's leaf and its numbers, so that copying the numbers copies
the product (that is how near-duplicates are made).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.catalog.domains.fashion.draw import Draw, lists
from fashion_rq_bench.builders.catalog.domains.fashion.plan import FAVOURITES, MAX_TRAITS
from fashion_rq_bench.builders.catalog.domains.fashion.slots import each, nullable, slots_of
from fashion_rq_bench.builders.catalog.domains.fashion.text import Ragged, capitalised, pick, render
from fashion_rq_bench.builders.catalog.domains.fashion.words import words
from fashion_rq_bench.builders.catalog.values.cleaning import join_present

__all__ = ["product_rows"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_FAVOUR = (0.6, 0.85, 1.0)  # how the usual brands of a leaf share its products
_TIER_PRICE = np.array([np.nan, 0.62, 1.0, 1.9])
_PRICE_SPREAD = 0.22  # of the logarithm
_KIDS_PRICE = 0.7
_YEARS = (2011, 2012, 2012, 2012, 2013, 2014, 2015, 2016, 2017)
_AGES = {"Men": "Adults-Men", "Women": "Adults-Women", "Unisex": "Adults-Unisex"}


def product_rows(draw: Draw) -> dict[str, pa.Array]:
    """Columns of the Kaggle archive except ``id`` and ``image``, (N,) each, none missing."""
    found, plan = words(), draw.plan
    types = found.types
    traits = _traits(draw)
    brand = _brands(draw)
    occasion = _occasions(draw)
    who = pa.array(plan.who).take(pa.array(draw.leaf))
    slots = slots_of(draw, traits, brand, occasion)

    def by_type(value: Callable[[int], str]) -> pa.Array:
        return pa.array([value(i) for i in range(len(types))], pa.string()).take(draw.type)

    keys = list(found.occasions)
    usages = pa.array([found.occasions[key]["usage"] for key in keys])
    ages = {person: _AGES.get(person, f"Kids-{person}") for person in found.people}
    return {
        "gender": who,
        "masterCategory": by_type(lambda i: types[i].master),
        "subCategory": by_type(lambda i: types[i].sub),
        "articleType": by_type(lambda i: types[i].name),
        "baseColour": slots["colour"],
        "season": lists().seasons.pick(draw.type, draw.of("season")),
        "year": pick(np.array(_YEARS), draw.of("year")).cast(pa.string()),
        "usage": usages.take(pa.array(occasion)),
        "productDisplayName": _titles(draw, slots),
        "price": pa.array(_prices(draw, brand)),
        "brandName": pa.array(plan.brand_names).take(pa.array(brand)),
        "ageGroup": pa.array([ages[person] for person in plan.who]).take(pa.array(draw.leaf)),
        "fashionType": pick(np.array(["Fashion"] * 4 + ["Core"]), draw.of("fashion")),
        "articleAttributes": _attributes(draw, traits, occasion),
        "description": _descriptions(draw, slots),
    }


def _traits(draw: Draw) -> Ints:
    """(N, MAX_TRAITS) position of each trait's value in the flat lists, -1 for none."""
    flat = lists().values
    found = np.full((len(draw.leaf), MAX_TRAITS), -1, dtype=np.int64)
    for slot in range(MAX_TRAITS):
        cell = draw.type * MAX_TRAITS + slot
        usual = draw.of(f"usual_{slot}") < draw.consistency
        # Squeezed towards 0: the first values of a list are the commonest.
        other = flat.position(cell, draw.of(f"trait_{slot}") ** 1.5)
        mine = flat.start[cell] + draw.plan.traits[draw.leaf, slot]
        there = flat.size[cell] > 0
        found[there, slot] = np.where(usual, mine, other)[there]
    return found


def _brands(draw: Draw) -> Ints:
    """(N,) positions in ``plan.brand_names``."""
    plan = draw.plan
    chance = draw.of("brand")
    rank = np.searchsorted(_FAVOUR, chance, side="right").clip(max=FAVOURITES - 1)
    usual = plan.brands[draw.leaf, rank]
    sizes = np.array([len(brands) for brands in plan.leaf_brands])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    flat = np.concatenate(plan.leaf_brands)
    other = flat[starts[draw.leaf] + (chance * sizes[draw.leaf]).astype(np.int64)]
    found: Ints = np.where(draw.of("usual_brand") < draw.consistency, usual, other)
    return found


def _occasions(draw: Draw) -> Ints:
    """(N,) positions in ``words().occasions``."""
    flat, keys = lists().occasions, list(words().occasions)
    usual = flat.start[draw.type] + draw.plan.occasion[draw.leaf]
    other = flat.position(draw.type, draw.of("occasion"))
    chosen = np.where(draw.of("usual_occasion") < draw.consistency, usual, other)
    number = np.array([keys.index(name) for name in flat.values.to_pylist()])
    found: Ints = number[chosen]
    return found


def _prices(draw: Draw, brand: Ints) -> Floats:
    """Log-normal around the type's median, scaled by the brand's tier; ending in 49 or 99."""
    medians = np.array([kind.price for kind in words().types])
    kids = np.array([person in ("Boys", "Girls") for person in draw.plan.who])[draw.leaf]
    # A bell from two uniforms would cost another number; the logistic curve is close enough.
    chance = draw.of("price").clip(1e-6, 1 - 1e-6)
    deviation = _PRICE_SPREAD * np.log(chance / (1 - chance)) * np.sqrt(3) / np.pi
    price = medians[draw.type] * _TIER_PRICE[draw.plan.brand_tiers[brand]] * np.exp(deviation)
    price = np.where(kids, price * _KIDS_PRICE, price)
    rounded: Floats = np.maximum(np.round(price / 50) * 50, 100) - 1
    return rounded


def _attributes(draw: Draw, traits: Ints, occasion: Ints) -> pa.Array:
    """The articleAttributes of each product as a JSON object."""
    fragments = lists().fragments.values
    values = [item["value"] for item in words().occasions.values()]
    said = pa.array([f'"Occasion": "{value}"' if value else None for value in values])
    columns = [fragments.take(nullable(traits[:, slot])) for slot in range(MAX_TRAITS)]
    columns.append(said.take(pa.array(occasion)))
    return pc.binary_join_element_wise("{", join_present(columns, ", "), "}", "")


def _titles(draw: Draw, slots: dict[str, pa.Array]) -> pa.Array:
    found, flat = words(), lists()
    weights = found.text["titles_weights"]
    general = [
        text
        for text, weight in zip(found.text["titles"], weights, strict=True)
        for _ in range(weight)
    ]
    own = [found.text[kind].get("titles", general) for kind in flat.kinds]
    return _written(own, draw, "title", slots)


def _written(
    templates: list[list[str]], draw: Draw, chance: str, slots: dict[str, pa.Array]
) -> pa.Array:
    """Render one of each kind's templates."""
    ragged = Ragged.of(templates)
    chosen = ragged.position(lists().kind_of[draw.type], draw.of(chance))
    texts = ragged.values.to_pylist()
    distinct = list(dict.fromkeys(texts))
    number = np.array([distinct.index(text) for text in texts])
    return render(distinct, number[chosen], slots)


def _descriptions(draw: Draw, slots: dict[str, pa.Array]) -> pa.Array:
    """HTML in one of several layouts; sentences first, then the layout around them."""
    found, kinds = words(), lists().kinds
    escaped = {**slots, "brand": pc.replace_substring(slots["brand"], "&", "&amp;")}
    for name in ("color", "pattern"):
        escaped[name.capitalize()] = each(slots[name], capitalised)
    heads = [found.text[kind]["heads"] for kind in kinds]
    for place, name in enumerate(("head", "upkeep", "material_head")):
        titles = pa.array([texts[place] for texts in heads], pa.string())
        escaped[name] = titles.take(lists().kind_of[draw.type])
    parts = {
        slot: _written([list(found.templates(kind, slot)) for kind in kinds], draw, slot, escaped)
        for slot in ("open", "story", "advice", "care")
    }
    layouts = [
        text
        for text, weight in zip(found.text["layouts"], found.text["layouts_weights"], strict=True)
        for _ in range(weight)
    ]
    return _written([layouts] * len(kinds), draw, "layout", escaped | parts)
