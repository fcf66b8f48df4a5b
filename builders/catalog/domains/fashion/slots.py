"""What the slots of the synthetic catalog's templates hold.

In:  a draw, its traits, brands and occasions.
Out: one string column per slot.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.catalog.domains.fashion.draw import Draw, lists
from fashion_rq_bench.builders.catalog.domains.fashion.plan import MAX_TRAITS
from fashion_rq_bench.builders.catalog.domains.fashion.text import Ragged, capitalised, pick, titled
from fashion_rq_bench.builders.catalog.domains.fashion.words import words
from fashion_rq_bench.builders.catalog.values.cleaning import join_present

__all__ = ["each", "nullable", "slots_of"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def nullable(positions: Ints) -> pa.Array:
    """Positions with null where there is none (below zero)."""
    return pa.array(positions, mask=positions < 0)


def slots_of(draw: Draw, traits: Ints, brand: Ints, occasion: Ints) -> dict[str, pa.Array]:
    """What the templates' slots hold, (N,) strings each."""
    flat, found = lists(), words()
    rows = np.arange(len(draw.leaf))
    made_of = np.where(flat.made_of[draw.type] < 0, -1, traits[rows, flat.made_of[draw.type]])
    pattern = np.where(flat.pattern_of[draw.type] < 0, -1, traits[rows, flat.pattern_of[draw.type]])
    detail = flat.details.position(draw.type, draw.of("detail"))
    phrases = Ragged.of([item["phrases"] for item in found.occasions.values()])
    phrase = phrases.position(occasion, draw.of("phrase"))
    slots = {
        "brand": pa.array(draw.plan.brand_names).take(pa.array(brand)),
        "detail": flat.details.values.take(detail),
        "detail2": flat.details.values.take(flat.details.following(draw.type, detail)),
        "pair": flat.pairs.pick(draw.type, draw.of("pair")),
        "occasion": phrases.values.take(phrase),
        "time": phrases.values.take(phrases.following(occasion, phrase)),
        "Line": pick(np.array(found.lines), draw.of("line")),
        "number": pick(np.arange(101, 165), draw.of("code")).cast(pa.string()),
    }
    slots["code"] = _codes(brand, draw)
    slots |= _material_slots(made_of, draw.of("fabric"))
    slots |= _cased("pattern", _values(pattern))
    slots |= _looks(draw, traits) | _nouns(draw) | _people(draw) | _colours(draw)
    return slots


def _values(positions: Ints) -> pa.Array:
    """Trait values, empty where there is none."""
    return pc.fill_null(lists().values.values.take(nullable(positions)), "")


def each(column: pa.Array, function: Callable[[str], str]) -> pa.Array:
    """A function of strings applied to every distinct one."""
    encoded = column.dictionary_encode()
    changed = [function(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(changed, pa.string()).take(encoded.indices)


def _cased(name: str, column: pa.Array) -> dict[str, pa.Array]:
    """A slot as it is and, under its capitalised name, as in titles."""
    return {name: column, name.capitalize(): each(column, titled)}


def _codes(brand: Ints, draw: Draw) -> pa.Array:
    """Model codes such as "TN1042", from the brand's initials."""
    initials = [
        "".join(word[0] for word in name.split() if word[0].isalpha()).upper()
        for name in draw.plan.brand_names
    ]
    number = pick(np.arange(1000, 9999, 7), draw.of("code")).cast(pa.string())
    return pc.binary_join_element_wise(pa.array(initials).take(pa.array(brand)), number, "")


def _material_slots(made_of: Ints, chance: Floats) -> dict[str, pa.Array]:
    names = lists().values.values.to_pylist()
    phrases = Ragged.of([words().fabrics.get(name, (name,)) for name in names])
    there = np.maximum(made_of, 0)
    fabric = pc.if_else(pa.array(made_of >= 0), phrases.pick(there, chance), "")
    return {
        **_cased("material", _values(made_of)),
        "fabric": fabric,
        "Fabric": each(fabric, capitalised),
    }


def _looks(draw: Draw, traits: Ints) -> dict[str, pa.Array]:
    """``look``: phrases of the traits joined by commas; ``looks``: with "and" before the last;
    ``Look``: one of them as titles put it; ``Last``: the last of them.
    """
    flat = lists()
    phrases = [flat.looks.values.take(nullable(traits[:, slot])) for slot in range(MAX_TRAITS)]
    said = [pc.if_else(pc.equal(column, ""), None, column) for column in phrases]
    look = pc.fill_null(join_present(said, ", "), "")
    looks = pc.replace_substring_regex(look, r"^(.*), (.*?)$", r"\1 and \2")
    there = np.stack([column.is_valid().to_numpy(zero_copy_only=False) for column in said], axis=1)
    ranks = np.cumsum(there, axis=1)
    count = ranks[:, -1]
    rows = np.arange(len(traits))
    wanted = (draw.of("look") * count).astype(np.int64) + 1
    chosen = np.argmax((ranks == wanted[:, None]) & there, axis=1)
    last = np.argmax((ranks == count[:, None]) & there, axis=1)
    positions = [np.where(count > 0, traits[rows, at], -1) for at in (chosen, last)]
    return {
        "look": look,
        "looks": looks,
        "Look": _cased("look", _values(positions[0]))["Look"],
        "Last": _cased("look", _values(positions[1]))["Look"],
    }


def _nouns(draw: Draw) -> dict[str, pa.Array]:
    types = words().types
    nouns = [kind.noun for kind in types]
    lower = [noun.lower().replace("t-shirt", "T-shirt") for noun in nouns]
    return {
        "noun": pa.array(lower).take(draw.type),
        "Noun": pa.array(nouns).take(draw.type),
        "this": pa.array([kind.this for kind in types]).take(draw.type),
    }


def _people(draw: Draw) -> dict[str, pa.Array]:
    forms = [words().people[person] for person in draw.plan.who]
    leaf = pa.array(draw.leaf)
    return {
        name: pa.array([form[place] for form in forms]).take(leaf)
        for place, name in enumerate(("Who", "Whos", "who"))
    }


def _colours(draw: Draw) -> dict[str, pa.Array]:
    """``colour`` as the catalog states it; ``Color`` and ``color`` as titles and sentences do."""
    found = words()
    families = list(found.families)
    shades = Ragged.of([found.families[name] for name in families])
    number = np.array([families.index(name) for name in draw.plan.family])
    colour = shades.pick(number[draw.leaf], draw.of("colour"))
    shown = each(colour, lambda name: found.colours.get(name, name))
    return {"colour": colour, "Color": shown, "color": pc.utf8_lower(shown)}
