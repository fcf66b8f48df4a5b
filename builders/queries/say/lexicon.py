"""How catalog values are said.

In:  ``domains/fashion/lexicon.toml`` and a catalog value.
Out: the words a shopper would use for it, with number and place in the phrase.

A value that the lexicon does not hold is said as it stands, with rules for its number and its
place, so that any catalog can be verbalised (paper, query prompt, rules 6 and 7).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from fashion_rq_bench.words.vocabulary import fold, plural, singular, token_key, tokens

__all__ = [
    "Forms",
    "GenderForms",
    "OccasionForms",
    "TypeForms",
    "brand_name",
    "common_words",
    "gender_forms",
    "group_forms",
    "group_names",
    "occasion_forms",
    "occasion_names",
    "reading",
    "said",
    "type_forms",
    "value_forms",
]

_SHORT_BRAND = 4


@dataclass(frozen=True)
class TypeForms:
    """Names of a product type; ``one[i]`` and ``many[i]`` are the same name.

    Attributes:
        pair: "a pair of" goes before it.
        mass: it has no plural and takes no article.
        kind: class of things it belongs to, e.g. "wear" or "scent".
        also: names that a reader should understand, but a writer does not use.
    """

    one: tuple[str, ...]
    many: tuple[str, ...]
    pair: bool = False
    mass: bool = False
    kind: str = "wear"
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Forms:
    """Words before the noun (``pre``) and phrases after it (``post``)."""

    pre: tuple[str, ...] = ()
    post: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class GenderForms:
    """A gender before and after the noun, as a person to buy for, and that person's age."""

    pre: tuple[str, ...]
    post: tuple[str, ...]
    gift: tuple[str, ...]
    age: str


@dataclass(frozen=True)
class OccasionForms:
    """How an occasion is said.

    Attributes:
        pre: words before the noun, and ``no_pre`` the classes of things they do not suit.
        post: phrases after it by class of thing ("any" for the rest).
        outing: what follows "that I can wear".
        clash: words of product types beside which ``pre`` repeats itself, and with ``once`` the
            occasion as a whole.
        also: words that a reader should understand.
        close: ``pre`` stands next to the noun ("black formal shirt").
    """

    pre: tuple[str, ...]
    post: Mapping[str, tuple[str, ...]]
    outing: tuple[str, ...] = ()
    clash: frozenset[str] = frozenset()
    once: bool = False
    no_pre: frozenset[str] = frozenset()
    also: tuple[str, ...] = ()
    close: bool = True


@cache
def _data() -> dict[str, Any]:
    text = (
        files("fashion_rq_bench")
        .joinpath("schema", "domains", "fashion", "lexicon.toml")
        .read_text(encoding="utf-8")
    )
    return tomllib.loads(text)


@cache
def _section(name: str) -> Mapping[str, Any]:
    """A section of the lexicon, keyed by token keys so that spellings of one value meet."""
    return MappingProxyType({token_key(key): value for key, value in _data()[name].items()})


@lru_cache(maxsize=4096)
def type_forms(article_type: str) -> TypeForms:
    """Names of an article type; by rule where the lexicon has none."""
    entry = _section("types").get(token_key(article_type))
    if entry is None:
        return _regular(article_type)
    return TypeForms(
        tuple(entry["one"]),
        tuple(entry["many"]),
        entry.get("pair", False),
        entry.get("mass", False),
        entry["class"],
        tuple(entry.get("also", ())),
    )


def _regular(article_type: str) -> TypeForms:
    one, many = singular(article_type), plural(article_type)
    return TypeForms((one,), (many,), pair=one == many, kind="gear")


@lru_cache(maxsize=4096)
def group_forms(category: str) -> TypeForms:
    """Names of a broad category (a sub or master category), always as a plural or mass noun."""
    entry = _section("groups").get(token_key(category))
    if entry is None:
        found = type_forms(category)
        return TypeForms(found.many, found.many, False, found.mass, "gear", found.also)
    names = (entry["many"],)
    return TypeForms(
        names, names, False, entry.get("mass", False), "gear", tuple(entry.get("also", ()))
    )


def group_names() -> tuple[str, ...]:
    """Broad categories that have names of their own."""
    return tuple(_data()["groups"])


@lru_cache(maxsize=4096)
def gender_forms(gender: str) -> GenderForms:
    """How a gender is said."""
    entry = _data()["gender"].get(fold(gender))
    if entry is None:
        return GenderForms((), (f"for {gender.casefold()}",), (), "adult")
    return GenderForms(
        tuple(entry["pre"]), tuple(entry["post"]), tuple(entry["gift"]), entry["age"]
    )


@lru_cache(maxsize=4096)
def occasion_forms(occasion: str) -> OccasionForms:
    """How an occasion is said."""
    entry = _data()["occasion"].get(fold(occasion))
    if entry is None:
        word = occasion.casefold()
        return OccasionForms((word,), {"any": (f"for {word}",)}, clash=frozenset(tokens(word)))
    post = {key: tuple(entry[key]) for key in ("any", *_data()["classes"]) if key in entry}
    return OccasionForms(
        tuple(entry["pre"]),
        post,
        tuple(entry.get("outing", ())),
        frozenset(entry.get("clash", ())),
        entry.get("once", False),
        frozenset(entry.get("no_pre", ())),
        tuple(entry.get("also", ())),
        entry.get("close", True),
    )


def occasion_names() -> tuple[str, ...]:
    """Occasions that have words of their own, the binding ones first."""
    return tuple(_data()["occasion"])


def reading(section: str) -> Any:
    """Words that a reader understands: a list, or a mapping by gender, age or phrase.

    Args:
        section: "persons", "relatives", "kin", "ages", "meanings", or a list of ``[reading]``.
    """
    data = _data()
    return data[section] if section in data else data["reading"][section]


@lru_cache(maxsize=4096)
def value_forms(attribute: str, value: str) -> Forms:
    """How a value of color, pattern, material, style, age_group or price_hint is said."""
    entry = _section(attribute).get(token_key(value), {})
    if attribute == "color":
        post = entry.get("post", value.casefold())
        before = tuple(entry.get("pre", (value.casefold(),)))
        return Forms(before, (f"in {post}",), tuple(entry.get("also", ())))
    default = _default_forms(attribute, value.casefold())
    return Forms(
        tuple(entry.get("pre", default.pre)),
        tuple(entry.get("post", () if entry else default.post)),
        tuple(entry.get("also", ())),
    )


def _default_forms(attribute: str, value: str) -> Forms:
    if attribute == "material":
        return Forms((value,), (f"in {value}", f"made of {value}"))
    if attribute not in ("style_tags", "pattern") or " " not in value:
        return Forms((value,))
    *rest, last = value.split()
    hyphened = "-".join((*rest, last))
    if last == "sleeves":
        return Forms((f"{'-'.join(rest)}-sleeved",), (f"with {value}",))
    if last in ("collar", "neck", "toe", "heel", "strap"):
        article = "an" if value[0] in "aeio" else "a"
        return Forms((hyphened,), (f"with {article} {value}",))
    return Forms((hyphened,))


@lru_cache(maxsize=4096)
def said(attribute: str, value: str, kind: str = "") -> bool:
    """Whether shoppers say this value at all, and this attribute of this class of things."""
    entry = _data()["classes"].get(kind, {})
    if not entry.get(attribute, True):
        return False
    return fold(value) not in {fold(word) for word in _data()["unsaid"].get(attribute, ())}


def brand_name(brand: str) -> str:
    """A brand as one writes it: shouted and lower-case names get plain capitals, "UCB" stays."""
    if brand.islower():
        return brand.title() if brand.isascii() and brand.replace(" ", "").isalpha() else brand
    return " ".join(
        word.capitalize()
        if word.isupper() and word.isalpha() and len(word) > _SHORT_BRAND
        else word
        for word in brand.split()
    )


@cache
def common_words() -> frozenset[str]:
    """Words that the lexicon uses for anything but a brand: a brand made of them is ambiguous."""
    return frozenset(word for text in _texts(_data()) for word in fold(text).split())


def _texts(node: object) -> list[str]:
    if isinstance(node, str):
        return [node]
    if isinstance(node, Mapping):
        return [text for key, value in node.items() for text in (key, *_texts(value))]
    return [text for item in node for text in _texts(item)] if isinstance(node, list) else []
