"""How catalog values are said.

In:  the domain's lexicon (``domains/fashion/lexicon.toml``) and a catalog value.
Out: the words a shopper would use for it, with number and place in the phrase.

A value that the lexicon does not hold is said as it stands, with rules for its number and its
place, so that any catalog can be verbalised (paper, query prompt, rules 6 and 7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fashion_rq_bench.builders.queries.say.habits import table
from fashion_rq_bench.schema.attributes import Attribute
from fashion_rq_bench.schema.domain import domain, per_domain
from fashion_rq_bench.words.vocabulary import fold, plural, singular, token_key, tokens

__all__ = [
    "Forms",
    "OccasionForms",
    "PersonForms",
    "TypeForms",
    "brand_name",
    "common_words",
    "group_forms",
    "grown",
    "occasion_forms",
    "occasion_names",
    "person_forms",
    "reading",
    "said",
    "says_itself",
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
    kind: str = ""
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Forms:
    """Words before the noun (``pre``) and phrases after it (``post``)."""

    pre: tuple[str, ...] = ()
    post: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class PersonForms:
    """For whom: before and after the noun, as a person to buy for, and that person's age.

    ``tells_age``: the words say the age as well: boys are kids, "men and women" are adults.
    """

    pre: tuple[str, ...]
    post: tuple[str, ...]
    gift: tuple[str, ...]
    age: str
    tells_age: bool


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


def _listed(section: str) -> Mapping[str, Any]:
    """A section of the lexicon; empty where the domain has none."""
    found: Mapping[str, Any] = table("lexicon").get(section, {})
    return found


@per_domain
def _section(name: str) -> Mapping[str, Any]:
    """A section of the lexicon, keyed by token keys so that spellings of one value meet."""
    return {token_key(key): value for key, value in _listed(name).items()}


@per_domain
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
    return TypeForms((one,), (many,), pair=one == many, kind=table("phrase")["class"])


@per_domain
def group_forms(category: str) -> TypeForms:
    """Names of a broad category (a sub or master category), always as a plural or mass noun."""
    entry = _section("groups").get(token_key(category))
    kind = table("phrase")["class"]
    if entry is None:
        found = type_forms(category)
        return TypeForms(found.many, found.many, False, found.mass, kind, found.also)
    names = (entry["many"],)
    also = tuple(entry.get("also", ()))
    return TypeForms(names, names, False, entry.get("mass", False), kind, also)


@per_domain
def person_forms(person: str) -> PersonForms:
    """How a value of the attribute that says for whom is said."""
    entry = _listed(domain().name_of("person")).get(fold(person))
    if entry is None:
        return PersonForms((), (f"for {person.casefold()}",), (), "", False)
    pre, post, gift = (tuple(entry[name]) for name in ("pre", "post", "gift"))
    return PersonForms(pre, post, gift, entry["age"], not gift or entry["age"] != grown())


def grown() -> str:
    """The last of the ages; "" where the domain has none."""
    age = domain().role("age")
    return str(age.settings["values"][-1]) if age else ""


@per_domain
def occasion_forms(occasion: str) -> OccasionForms:
    """How an occasion is said."""
    entry = _listed(domain().name_of("occasion")).get(fold(occasion))
    if entry is None:
        word = occasion.casefold()
        return OccasionForms((word,), {"any": (f"for {word}",)}, clash=frozenset(tokens(word)))
    post = {key: tuple(entry[key]) for key in ("any", *_listed("classes")) if key in entry}
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
    return tuple(_listed(domain().name_of("occasion")))


def reading(section: str) -> Any:
    """Words that a reader understands: a list, or a mapping by person, age or phrase.

    Args:
        section: "persons", "relatives", "kin", "ages", "meanings", or a list of ``[reading]``.
    """
    lexicon = table("lexicon")
    return lexicon[section] if section in lexicon else lexicon["reading"].get(section, {})


@per_domain
def value_forms(attribute: str, value: str) -> Forms:
    """How a value is said of an attribute that is neither a person nor an occasion."""
    one = domain().by_name[attribute]
    entry = _section(attribute).get(token_key(value), {})
    if one.role == "color":
        post = entry.get("post", value.casefold())
        before = tuple(entry.get("pre", (value.casefold(),)))
        return Forms(before, (f"in {post}",), tuple(entry.get("also", ())))
    default = _default_forms(one, _spoken(one, value.casefold()))
    return Forms(
        tuple(entry.get("pre", default.pre)),
        tuple(entry.get("post", () if entry else default.post)),
        tuple(entry.get("also", ())),
    )


def says_itself(one: Attribute) -> bool:
    """Whether a value says alone what it is: "striped" does, "high" on a scale does not."""
    return one.role != "words" or one.comparator != "scale"


def _spoken(one: Attribute, value: str) -> str:
    """A value, or the first spelling of it in the domain's terms where it says nothing alone."""
    if says_itself(one) or one.terms is None:
        return value
    spellings = domain().table(one.terms).get(value, ())
    return str(spellings[0]) if spellings else value


def _default_forms(one: Attribute, value: str) -> Forms:
    phrase = table("phrase")
    if one.name in phrase["after"]:
        return Forms((value,), tuple(text.format(value) for text in phrase["after"][one.name]))
    if one.role != "words" or " " not in value:
        return Forms((value,))
    *rest, last = value.split()
    hyphened = "-".join((*rest, last))
    if last in phrase["many_parts"]:
        return Forms((f"{'-'.join(rest)}-{phrase['many_parts'][last]}",), (f"with {value}",))
    if last in phrase["parts"]:
        article = "an" if value[0] in "aeio" else "a"
        return Forms((hyphened,), (f"with {article} {value}",))
    return Forms((hyphened,))


@per_domain
def said(attribute: str, value: str, kind: str = "") -> bool:
    """Whether shoppers say this value at all, and this attribute of this class of things."""
    entry = _listed("classes").get(kind, {})
    if not entry.get(attribute, True):
        return False
    return fold(value) not in {fold(word) for word in _listed("unsaid").get(attribute, ())}


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


@per_domain
def common_words() -> frozenset[str]:
    """Words that the lexicon uses for anything but a brand: a brand made of them is ambiguous."""
    own = domain().table("lexicon") or {**domain().words, **table("lexicon")}
    return frozenset(word for text in _texts(own) for word in fold(text).split())


def _texts(node: object) -> list[str]:
    if isinstance(node, str):
        return [node]
    if isinstance(node, Mapping):
        return [text for key, value in node.items() for text in (key, *_texts(value))]
    return [text for item in node for text in _texts(item)] if isinstance(node, list) else []
