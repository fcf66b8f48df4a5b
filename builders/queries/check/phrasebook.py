"""What the words of queries mean in an edition.

In:  a catalog.
Out: a :class:`Phrasebook`: phrases, as tuples of folded words, and the attribute values they name.

Made from the catalog's own values, the domain's lexicon, the spellings
of its terms and the dictionary of colours. Where one phrase could mean several things,
the order of the sources decides: product types, brands, colours, then the softer attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from fashion_rq_bench.builders.queries.say.lexicon import (
    common_words,
    group_forms,
    occasion_forms,
    occasion_names,
    person_forms,
    reading,
    says_itself,
    type_forms,
    value_forms,
)
from fashion_rq_bench.relevance.comparators.color import color_names
from fashion_rq_bench.schema.attributes import PRICE_TIERS, Attribute
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.words.vocabulary import fold, tokens

__all__ = ["Meaning", "Phrase", "Phrasebook", "phrasebook"]

Phrase = tuple[str, ...]
Meaning = tuple[tuple[str, str], ...]
"""(attribute, value) pairs that a phrase names; empty for a phrase that names nothing."""


@dataclass(frozen=True)
class Phrasebook:
    """Phrases and their meanings.

    Attributes:
        meanings: folded words to meaning.
        cased: brands that read like plain words, which must be capitalised to count; folded words
            to the words as written.
        price_thresholds: lower ends of the tiers mid-range and premium, in the catalog's currency.
    """

    meanings: Mapping[Phrase, Meaning]
    cased: Mapping[Phrase, tuple[str, str]]
    price_thresholds: tuple[float, float] = (700.0, 2000.0)

    @cached_property
    def longest(self) -> Mapping[str, int]:
        """Words in the longest phrase that begins with a word."""
        longest: dict[str, int] = {}
        for phrase in (*self.meanings, *self.cased):
            longest[phrase[0]] = max(longest.get(phrase[0], 0), len(phrase))
        return longest


def phrasebook(
    catalog: pa.Table, price_thresholds: tuple[float, float] = (700.0, 2000.0)
) -> Phrasebook:
    """Build the phrasebook of a catalog.

    Args:
        catalog: a table with the columns of CATALOG.
        price_thresholds: lower ends of the price tiers mid-range and premium.
    """
    meanings: dict[Phrase, Meaning] = {}
    soft = {one.name for one in domain().attributes if one.role == "words"}
    types = {tokens(text): meaning for text, meaning in reversed(list(_types(catalog)))}
    for text, meaning in _entries(catalog):
        words = tokens(text)
        if meaning and meaning[0][0] in soft and words[-1:] != words:
            meaning += types.get(words[-1:], ())  # "wedge heels" names a style and a type
        meanings.setdefault(words, meaning)
    cased: dict[Phrase, tuple[str, str]] = {}
    for brand, (pair,) in _brands(catalog):
        words = tokens(brand)
        if words in meanings or len(brand) < 3 or all(word in common_words() for word in words):
            cased.setdefault(words, (brand, fold(brand)))
        else:
            meanings[words] = (pair,)
    meanings.pop((), None)
    cased.pop((), None)
    return Phrasebook(meanings, cased, price_thresholds)


def _values(catalog: pa.Table, column: str) -> list[str]:
    """Distinct values of a column of texts or of lists of texts, sorted."""
    found = catalog[column].combine_chunks()
    if pa.types.is_list(found.type):
        found = found.flatten()
    return sorted(value for value in found.unique().to_pylist() if value)


Entry = tuple[str, Meaning]


def _entries(catalog: pa.Table) -> Iterator[Entry]:
    """All phrases but brands, the binding ones first."""
    yield from ((text, ()) for text in reading("ignored"))
    yield from ((text, tuple(said.items())) for text, said in reading("meanings").items())
    yield from _types(catalog)
    for role in ("person", "age", "color", "occasion", "price", "words"):
        for one in domain().attributes:
            if one.role == role:
                yield from _ENTRIES[role](catalog, one)
    if color := domain().name_of("color"):
        yield from ((name, ((color, name),)) for name in color_names())


def _brands(catalog: pa.Table) -> Iterator[Entry]:
    """The brands; the caller decides which of them must be capitalised."""
    if brand := domain().role("brand"):
        yield from ((value, ((brand.name, value),)) for value in _values(catalog, brand.column))


def _types(catalog: pa.Table) -> Iterator[Entry]:
    own, *broad = domain().type.columns
    named = {value: type_forms(value) for value in _values(catalog, own)}
    groups = {value: group_forms(value) for column in broad for value in _values(catalog, column)}
    for also in (False, True):
        for forms in (named, groups):
            for value, names in forms.items():
                texts = names.also if also else (*names.one, *names.many, value)
                yield from _each(texts, domain().type.name, value.casefold())


def _ages() -> dict[str, str]:
    return {text: age for age, texts in reading("ages").items() for text in texts}


def _persons(catalog: pa.Table, person: Attribute) -> Iterator[Entry]:
    """Persons by the lexicon, and the age that some of them tell."""
    age, ages = domain().name_of("age"), _ages()
    for value, texts in reading("relatives").items():
        for text in texts:
            yield text, _known((person.name, value), (age, person_forms(value).age))
    for section in ("persons", "kin"):
        for value, texts in reading(section).items():
            for text in texts:
                yield text, _known((person.name, value), (age, ages.get(text, "")))
    if not reading("persons"):
        yield from _soft(catalog, person)


def _known(*pairs: tuple[str, str]) -> Meaning:
    return tuple((attribute, value) for attribute, value in pairs if attribute and value)


def _age_words(catalog: pa.Table, age: Attribute) -> Iterator[Entry]:
    for text, value in _ages().items():
        yield text, ((age.name, value),)
    if not reading("ages"):
        yield from _soft(catalog, age)


def _colors(catalog: pa.Table, color: Attribute) -> Iterator[Entry]:
    for value in _values(catalog, color.column):
        forms = value_forms(color.name, value)
        texts = (value, *forms.pre, *(post.removeprefix("in ") for post in forms.post), *forms.also)
        yield from _each(texts, color.name, value.casefold())


def _occasions(catalog: pa.Table, occasion: Attribute) -> Iterator[Entry]:
    named: set[Phrase] = set()
    for value in occasion_names():
        forms = occasion_forms(value)
        texts = (value, *forms.pre, *forms.also, *forms.outing)
        yield from _each(texts, occasion.name, value)
        named.update(map(tokens, texts))
        for text in (text for phrases in forms.post.values() for text in phrases):
            if tokens(text.removeprefix("for ")) not in named:  # else "for" is no part of it
                yield text, ((occasion.name, value),)
    for column in reversed(occasion.columns):
        for value in _values(catalog, column):
            yield value, ((occasion.name, value.casefold()),)
    yield from _terms(occasion)


def _prices(catalog: pa.Table, price: Attribute) -> Iterator[Entry]:
    for tier in PRICE_TIERS:
        forms = value_forms(price.name, tier)
        yield from _each((tier, *forms.pre, *forms.post, *forms.also), price.name, tier)


def _soft(catalog: pa.Table, one: Attribute) -> Iterator[Entry]:
    for value in _values(catalog, one.column):
        forms = value_forms(one.name, value)
        own = (value,) if says_itself(one) else ()
        yield from _each((*own, *forms.pre, *forms.post, *forms.also), one.name, value.casefold())
    yield from _terms(one)


def _terms(one: Attribute) -> Iterator[Entry]:
    """Spellings of the domain's terms of an attribute."""
    for term, spellings in domain().table(one.terms or "").items():
        own = (term,) if says_itself(one) else ()
        yield from _each((*own, *spellings), one.name, term)


_ENTRIES: Mapping[str, Callable[[pa.Table, Attribute], Iterator[Entry]]] = {
    "person": _persons,
    "age": _age_words,
    "color": _colors,
    "occasion": _occasions,
    "price": _prices,
    "words": _soft,
}


def _each(texts: Iterable[str], attribute: str, value: str) -> Iterator[Entry]:
    for text in texts:
        yield text, ((attribute, value),)
