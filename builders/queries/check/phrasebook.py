"""What the words of queries mean in an edition.

In:  a catalog.
Out: a :class:`Phrasebook`: phrases, as tuples of folded words, and the attribute values they name.

Made from the catalog's own values, the lexicon (``domains/fashion/lexicon.toml``), the shared
vocabulary's synonyms and the dictionary of colours. Where one phrase could mean several things,
the order of the sources decides: product types, brands, colours, then the softer attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from fashion_rq_bench.builders.queries.say.lexicon import (
    common_words,
    group_forms,
    occasion_forms,
    occasion_names,
    reading,
    type_forms,
    value_forms,
)
from fashion_rq_bench.relevance.comparators.color import color_names
from fashion_rq_bench.schema.attributes import PRICE_TIERS
from fashion_rq_bench.words.vocabulary import fold, synonyms, tokens

__all__ = ["Meaning", "Phrase", "Phrasebook", "phrasebook"]

Phrase = tuple[str, ...]
Meaning = tuple[tuple[str, str], ...]
"""(attribute, value) pairs that a phrase names; empty for a phrase that names nothing."""

_SOFT = ("pattern", "material", "style_tags")
_COLUMN = {"style_tags": "style"}


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
    types = {tokens(text): meaning for text, meaning in reversed(list(_types(catalog)))}
    for text, meaning in _entries(catalog):
        words = tokens(text)
        if meaning and meaning[0][0] in _SOFT and words[-1:] != words:
            meaning += types.get(words[-1:], ())  # "wedge heels" names a style and a type
        meanings.setdefault(words, meaning)
    cased: dict[Phrase, tuple[str, str]] = {}
    for brand in _values(catalog, "brand"):
        words = tokens(brand)
        if words in meanings or len(brand) < 3 or all(word in common_words() for word in words):
            cased.setdefault(words, (brand, fold(brand)))
        else:
            meanings[words] = (("brand", brand),)
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
    yield from _persons()
    yield from _colors(catalog)
    yield from _occasions(catalog)
    yield from _prices()
    for attribute in _SOFT:
        yield from _soft(catalog, attribute)
    for name in color_names():
        yield name, (("color", name),)


def _types(catalog: pa.Table) -> Iterator[Entry]:
    named = {value: type_forms(value) for value in _values(catalog, "article_type")}
    groups = {
        value: group_forms(value)
        for column in ("sub_category", "master_category")
        for value in _values(catalog, column)
    }
    for also in (False, True):
        for forms in (named, groups):
            for value, names in forms.items():
                texts = names.also if also else (*names.one, *names.many, value)
                yield from _each(texts, "product_type", value.casefold())


def _persons() -> Iterator[Entry]:
    adult = {"men": "adult", "women": "adult", "boys": "kids", "girls": "kids"}
    ages = {text: age for age, texts in reading("ages").items() for text in texts}
    for gender, texts in reading("relatives").items():
        for text in texts:
            yield text, (("gender", gender), ("age_group", adult[gender]))
    for section in ("persons", "kin"):
        for gender, texts in reading(section).items():
            for text in texts:
                said = (("age_group", ages[text]),) if text in ages else ()
                yield text, (("gender", gender), *said)
    for text, age in ages.items():
        yield text, (("age_group", age),)


def _colors(catalog: pa.Table) -> Iterator[Entry]:
    for value in _values(catalog, "base_color"):
        forms = value_forms("color", value)
        texts = (value, *forms.pre, *(post.removeprefix("in ") for post in forms.post), *forms.also)
        yield from _each(texts, "color", value.casefold())


def _occasions(catalog: pa.Table) -> Iterator[Entry]:
    named: set[Phrase] = set()
    for value in occasion_names():
        forms = occasion_forms(value)
        texts = (value, *forms.pre, *forms.also, *forms.outing)
        yield from _each(texts, "occasion", value)
        named.update(map(tokens, texts))
        for text in (text for phrases in forms.post.values() for text in phrases):
            if tokens(text.removeprefix("for ")) not in named:  # else "for" is no part of it
                yield text, (("occasion", value),)
    for value in (*_values(catalog, "usage"), *_values(catalog, "occasion")):
        yield value, (("occasion", value.casefold()),)
    yield from _synonyms("occasion", "occasion")


def _prices() -> Iterator[Entry]:
    for tier in PRICE_TIERS:
        forms = value_forms("price_hint", tier)
        yield from _each((tier, *forms.pre, *forms.post, *forms.also), "price_hint", tier)


def _soft(catalog: pa.Table, attribute: str) -> Iterator[Entry]:
    column = _COLUMN.get(attribute, attribute)
    for value in _values(catalog, column):
        forms = value_forms(attribute, value)
        yield from _each((value, *forms.pre, *forms.post, *forms.also), attribute, value.casefold())
    yield from _synonyms(column, attribute)


def _synonyms(column: str, attribute: str) -> Iterator[Entry]:
    for term, spellings in synonyms(column).items():
        yield from _each((term, *spellings), attribute, term)


def _each(texts: Iterable[str], attribute: str, value: str) -> Iterator[Entry]:
    for text in texts:
        yield text, ((attribute, value),)
