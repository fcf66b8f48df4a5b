"""The words of the synthetic catalog, from ``domains/fashion/synthetic.toml``.

In:  nothing.
Out: :class:`Words`: article types, brands, colours and sentence templates as flat lists that arrays
     of positions point into.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from fashion_rq_bench.schema.domain import DEFAULT, load_domain

__all__ = ["MATERIAL_KEYS", "ArticleType", "Words", "words"]

MATERIAL_KEYS = frozenset(
    {
        "Fabric",
        "Saree Fabric",
        "Upper Material",
        "Material",
        "Strap Material",
        "Frame Material",
        "Base Metal",
    }
)
"""Attribute keys whose value is what a product is made of."""


@dataclass(frozen=True)
class ArticleType:
    """One kind of product; ``traits`` maps an attribute key to its values, the commonest first."""

    name: str
    group: str
    master: str
    sub: str
    noun: str
    this: str
    kind: str
    weight: float
    price: float
    palette: str
    who: Mapping[str, float]
    brands: tuple[str, ...]
    occasions: tuple[str, ...]
    seasons: Mapping[str, float]
    traits: Mapping[str, tuple[str, ...]]
    details: tuple[str, ...]
    pairs: tuple[str, ...]


@dataclass(frozen=True)
class Words:
    """Everything the generator draws from.

    ``brands`` maps a domain to (name, tier) with tiers 1 to 3, ``brand_people`` a domain to the
    genders it serves where it does not serve all; ``text`` maps a kind to its templates per slot.
    """

    types: tuple[ArticleType, ...]
    families: Mapping[str, tuple[str, ...]]
    palettes: Mapping[str, tuple[str, ...]]
    people: Mapping[str, tuple[str, str, str]]
    occasions: Mapping[str, Mapping[str, Any]]
    fabrics: Mapping[str, tuple[str, ...]]
    brands: Mapping[str, tuple[tuple[str, int], ...]]
    brand_people: Mapping[str, tuple[str, ...]]
    lines: tuple[str, ...]
    colours: Mapping[str, str]
    text: Mapping[str, Any]
    faults: Mapping[str, tuple[str, ...]]
    _looks: Mapping[str, Any]

    def domains(self, kind: ArticleType, who: str) -> tuple[str, ...]:
        """Brand domains that make a kind of product for somebody."""
        fitting = [name for name in kind.brands if who in self.brand_people.get(name, (who,))]
        if who in ("Boys", "Girls"):
            fitting.append("kids")
        return tuple(fitting or kind.brands)

    def look(self, key: str, value: str) -> str:
        """How a sentence puts a trait: ("Collar", "spread collar") gives "a spread collar"."""
        instead: str | None = self._looks["instead"].get(value)
        if instead is not None:
            return instead
        phrase = str(self._looks[key]).format(value)
        starts_with_vowel = value[0].casefold() in "aeiou" or value.startswith("A-")
        return f"an{phrase[1:]}" if phrase.startswith("a ") and starts_with_vowel else phrase

    def templates(self, kind: str, slot: str) -> tuple[str, ...]:
        """Templates of a slot: the kind's own, else the general ones."""
        own = self.text[kind]
        return tuple(own[slot] if slot in own else self.text[slot])


def _article_type(item: Mapping[str, Any]) -> ArticleType:
    lists = ("brands", "occasions", "details", "pairs")
    traits = {key: tuple(values) for key, values in item["traits"].items()}
    return ArticleType(**{**item, **{key: tuple(item[key]) for key in lists}, "traits": traits})


def _tuples(table: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {key: tuple(values) for key, values in table.items()}


def _brand(text: str) -> tuple[str, int]:
    name, _, tier = text.rpartition(":")
    return name, int(tier)


@cache
def words() -> Words:
    """The data file, parsed once."""
    path = load_domain(DEFAULT).folder / "synthetic.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return Words(
        types=tuple(map(_article_type, data["types"])),
        families=_tuples(data["families"]),
        palettes=_tuples(data["palettes"]),
        people={name: (forms[0], forms[1], forms[2]) for name, forms in data["people"].items()},
        occasions=data["occasions"],
        fabrics=_tuples(data["fabrics"]),
        brands={name: tuple(map(_brand, items)) for name, items in data["brands"].items()},
        brand_people=_tuples(data["brand_people"]),
        lines=tuple(data["lines"]["names"]),
        colours=data["colours"],
        text=data["text"],
        faults=_tuples(data["faults"]),
        _looks=data["looks"],
    )
