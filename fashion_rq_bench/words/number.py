"""Singular and plural of English nouns, with a domain's own exceptions.

In:  words; the domain's table "number" (words without singular, irregular ones), if it has one.
Out: the phrase with its last word in the singular or the plural.

Serves "found in the category path" of the paper's section 8.0.4. The rules are English, the words
that break them stand in the domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from fashion_rq_bench.schema.attributes import Domain
from fashion_rq_bench.schema.domain import domain, per_domain
from fashion_rq_bench.words.folding import fold

__all__ = ["plural", "singular", "singular_of"]

_VOWELS_OR_S = frozenset("aeious")


@dataclass(frozen=True, slots=True)
class _Number:
    """Lists that the rules of number consult, from the domain."""

    fixed: frozenset[str]
    ie_words: frozenset[str]
    f_words: Mapping[str, str]
    irregular: Mapping[str, str]
    irregular_plurals: Mapping[str, str]
    pairs: Mapping[str, str]


@per_domain
def _number() -> _Number:
    data = domain().table("number")
    irregular: dict[str, str] = data.get("irregular", {})
    f_words = {
        f"{word.removesuffix('e').removesuffix('f')}ves": word for word in data.get("f_words", ())
    }
    plurals = {word: many for many, word in f_words.items()}
    # The first plural listed for a word is the one to write.
    plurals |= {word: many for many, word in reversed(irregular.items())}
    fixed = ("plural_only", "uncountable", "unchanged")
    return _Number(
        fixed=frozenset(word for name in fixed for word in data.get(name, ())),
        ie_words=frozenset(data.get("ie_words", ())),
        f_words=f_words,
        irregular=irregular,
        irregular_plurals=plurals,
        pairs=data.get("pairs", {}),
    )


def singular_of(word: str) -> str:
    """Singular of one folded word; words that have none come back as they are."""
    return _one(domain(), word)


@lru_cache(maxsize=65_536)
def _one(_: Domain, word: str) -> str:
    number = _number()
    for known in (number.pairs, number.irregular, number.f_words):
        if word in known:
            return known[word]
    if word in number.fixed or len(word) < 4 or not word.endswith("s"):
        return word
    return _regular_singular(word, number.ie_words)


def _regular_singular(word: str, ie_words: frozenset[str]) -> str:
    if word.endswith(("ss", "us")):
        return word
    if word.endswith("ies"):
        return word[:-1] if word[:-1] in ie_words else f"{word[:-3]}y"
    if word.endswith(("sses", "ches", "shes", "xes", "zzes")):
        return word[:-2]
    return word[:-1]


def _many(word: str) -> str:
    """Plural of one folded word."""
    number = _number()
    word = singular_of(word)
    if word in number.irregular_plurals:
        return number.irregular_plurals[word]
    if word in number.fixed:
        return word
    if word.endswith("y") and len(word) > 1 and word[-2] not in _VOWELS_OR_S:
        return f"{word[:-1]}ies"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    return f"{word}s"


def singular(phrase: str) -> str:
    """Phrase, folded, with its last word in the singular: "Casual Shoes" gives "casual shoe".

    Words written only in the plural ("jeans", "sunglasses") and words without number ("swimwear")
    stay as they are.
    """
    words = fold(phrase).split()
    return " ".join([*words[:-1], singular_of(words[-1])]) if words else ""


def plural(phrase: str) -> str:
    """Phrase, folded, with its last word in the plural: "night dress" gives "night dresses"."""
    words = fold(phrase).split()
    return " ".join([*words[:-1], _many(words[-1])]) if words else ""
