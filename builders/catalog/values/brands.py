"""Brands that a catalog does not state, from its titles.

In:  titles and the brands that are stated.
Out: a brand for every title that opens with a known one.

A brand is known if the catalog states it at least twice, or if enough titles read
"BRAND Men …" / "BRAND Women …", as Myntra's do. Titles of the first kind give their brand with
its usual spelling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set

import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.schema.domain import domain, per_domain
from fashion_rq_bench.words.vocabulary import fold, plural, synonyms

__all__ = ["infer_brands"]

_MIN_STATED = 2
_MIN_OPENINGS = 3
_LONGEST = 5  # words
_LINE_RATIO = 5
_STATED_WEIGHT = 10


def infer_brands(title: pa.Array, brand: pa.Array) -> pa.Array:
    """Brands of the rows that state none, null where the title names no known brand.

    Args:
        title: clean titles.
        brand: clean brands, null where none is stated.

    Returns:
        A string column, null also where a brand is stated.
    """
    unstated = pc.is_null(brand)
    titles = title.to_pylist()
    known = _known(titles, brand)
    found = [
        _match(text, known) if missing and text else None
        for text, missing in zip(titles, unstated.to_pylist(), strict=True)
    ]
    return pa.array(found, pa.string())


def _known(titles: Sequence[str | None], brand: pa.Array) -> dict[str, str]:
    """Known brands: key (see :func:`_key`) -> usual spelling."""
    stated, names = _counted(value for value in brand.to_pylist() if value)
    openings, opening_names = _counted(filter(None, map(_opening, filter(None, titles))))
    usual = opening_names | names
    sure = {key for key, count in stated.items() if count >= _MIN_STATED}
    # A stated brand lends its name to lines of its own ("CASIO Enticer") more readily than one
    # that is only read off titles ("Lee" and "Lee Cooper" are two).
    weight = {
        key: (openings[key] + stated[key]) * (_STATED_WEIGHT if key in sure else 1)
        for key in openings | stated
    }
    likely = {key for key, count in openings.items() if count >= _MIN_OPENINGS}
    lines = {key for key in likely - sure if _is_line(usual[key], weight, sure | likely)}
    return {key: usual[key] for key in (sure | likely) - lines}


def _words(name: str) -> list[str]:
    return fold(name.replace("&", " and ")).split()


def _key(name: str) -> str:
    """Spelling without case, punctuation and spaces: "Red Tape" and "Redtape" are one brand."""
    return "".join(_words(name))


def _counted(spellings: Iterable[str]) -> tuple[Counter[str], dict[str, str]]:
    """How often each key occurs, and its commonest spelling."""
    totals: Counter[str] = Counter()
    usual: dict[str, str] = {}
    for spelling, count in sorted(Counter(spellings).items(), key=lambda item: (-item[1], item[0])):
        totals[_key(spelling)] += count
        usual.setdefault(_key(spelling), spelling)
    del totals[""]
    return totals, usual


def _is_line(name: str, weight: Mapping[str, int], known: Set[str]) -> bool:
    """Whether the name is a far commoner brand with more words ("Turtle Check")."""
    words = _words(name)
    shorter = {"".join(words[:length]) for length in range(1, len(words))} & known
    return any(weight[key] >= _LINE_RATIO * weight["".join(words)] for key in shorter)


@per_domain
def _people() -> frozenset[str]:
    """Single words that name for whom a product is ("men", "girls", "unisex", "kids")."""
    roles = [one for one in map(domain().role, ("person", "age")) if one]
    words = {fold(spelling) for one in roles for spelling in _spellings(one.terms)}
    more = domain().table("titles").get("people", ())
    return frozenset(words | {f"{word}s" for word in words} | set(more))


@per_domain
def _early() -> frozenset[str]:
    """Single words that Myntra's titles put early: patterns ("check", "stripes")."""
    attributes = domain().table("titles").get("early", ())
    words = [word for name in attributes for word in _spellings(domain().by_name[name].terms)]
    return frozenset(form for word in words for form in (fold(word), plural(word)))


def _spellings(terms: str | None) -> list[str]:
    found = synonyms(terms) if terms else {}
    return [spelling for term, more in found.items() for spelling in (term, *more)]


def _opening(title: str) -> str | None:
    """What stands before the first word that says for whom, if that is one to five words."""
    words = title.split()
    for position, word in enumerate(words[: _LONGEST + 1]):
        if fold(word) in _people():
            if position > 1 and fold(words[position - 1]) in _early():
                position -= 1
            return " ".join(words[:position]) or None
    return None


def _match(title: str, known: dict[str, str]) -> str | None:
    """The longest known brand that the title opens with."""
    words = _words(title)
    for length in range(min(_LONGEST, len(words)), 0, -1):
        name = known.get("".join(words[:length]))
        if name is not None:
            return name
    return None
