"""Offline enrichment: query text to intents, over an edition's vocabulary.

In:  query texts and a phrasebook.
Out: φ(q) of each: a list of intents with the domain's attributes, null where unexpressed.

Paper, section 3 (query attribute enrichment), without a language model. The longest known phrases
are read from left to right. A wish after a negation ("not leather") and what the thing is worn with
("to match my blue jeans") are no wishes; several things asked for ("a watch and a wallet") give
several intents. A brand counts only if its words stand in the query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fashion_rq_bench.builders.queries.check.phrasebook import Meaning, Phrase, Phrasebook
from fashion_rq_bench.builders.queries.say.lexicon import reading
from fashion_rq_bench.schema.attributes import PRICE_TIERS
from fashion_rq_bench.schema.domain import domain, per_domain
from fashion_rq_bench.words.vocabulary import fold, tokens

__all__ = ["parse_intent", "parse_intents"]

_CURRENCY = r"(?:rs\.?|inr|₹|rupees)?\s*"
_AMOUNT = rf"{_CURRENCY}(\d[\d,]*(?:\.\d+)?)\s*(k\b)?"
_BELOW = re.compile(
    rf"(?i)\b(?:under|below|less than|upto|up to|within|not more than|max(?:imum)?)\s+{_AMOUNT}"
)
_ABOVE = re.compile(rf"(?i)\b(?:above|over|more than|at least|starting (?:at|from))\s+{_AMOUNT}")
_BETWEEN = re.compile(rf"(?i)\bbetween\s+{_AMOUNT}\s+(?:and|to|-)\s+{_AMOUNT}")
_BREAK = "\x00"
_FILLERS = "a an the any in for by from of too so very"
_BETWEEN_WORDS = frozenset(_FILLERS.split())
_CONTRACTION = re.compile(r"(?i)(i|you|we|they|he|she|it|that)['’](d|m|ve|ll|re|s)")


@dataclass(frozen=True)
class _Found:
    """A phrase at words ``start`` to ``end``."""

    start: int
    end: int
    meaning: Meaning

    @property
    def type(self) -> str | None:
        """The product type it names, if it names one."""
        kind = domain().type.name
        return next((value for name, value in self.meaning if name == kind), None)


def parse_intents(queries: Sequence[str], book: Phrasebook) -> list[list[dict[str, Any]]]:
    """Intents of each query.

    Args:
        queries: texts.
        book: phrases of the edition, see :func:`~.phrasebook.phrasebook`.

    Returns:
        One list of at least one intent per query; values as the catalog spells them, in lower case
        but for brands.
    """
    return [parse_intent(query, book) for query in queries]


def parse_intent(query: str, book: Phrasebook) -> list[dict[str, Any]]:
    """Intents of one query; see :func:`parse_intents`."""
    price, text = _price(query, book)
    words = _words(text)
    found = _without_refused(list(_find(words, book)), words)
    things = _things(found, words)
    intents = [_intent(own, shared) for own, shared in things]
    if price is not None:
        intents = [{**intent, domain().name_of("price"): price} for intent in intents]
    return intents


# ---------------------------------------------------------------- words and phrases


@dataclass(frozen=True)
class _Word:
    folded: str
    written: str


def _words(text: str) -> list[_Word]:
    """Folded words with a break where the sentence breaks; a spelling of two words stays two."""
    words: list[_Word] = []
    for piece in re.split(r"([,;:!?]+(?=\s|$)|\s-\s)", text):
        if re.fullmatch(r"[,;:!?]+|\s-\s", piece):
            words.append(_Word(_BREAK, piece))
            continue
        for written in re.findall(r"[^\s/()\"“”-]+", piece):
            if not _CONTRACTION.fullmatch(written):
                words.extend(_Word(folded, written) for folded in tokens(written))
    return _joined(words)


def _joined(words: list[_Word]) -> list[_Word]:
    """Join words that are spelt apart ("t shirt", "flip flop") as the vocabulary does."""
    joined: list[_Word] = []
    for word in words:
        if joined and _BREAK not in (joined[-1].folded, word.folded):
            pair = tokens(f"{joined[-1].folded} {word.folded}")
            if pair != (joined[-1].folded, word.folded):
                written = f"{joined.pop().written} {word.written}"
                joined.extend(_Word(folded, written) for folded in pair)
                continue
        joined.append(word)
    return joined


def _find(words: Sequence[_Word], book: Phrasebook) -> Iterator[_Found]:
    """Known phrases from left to right, the longest first; unknown words are passed over."""
    start = 0
    while start < len(words):
        longest = book.longest.get(words[start].folded, 0)
        for size in range(min(longest, len(words) - start), 0, -1):
            meaning = _meaning(words[start : start + size], book)
            if meaning is not None:
                yield _Found(start, start + size, meaning)
                start += size
                break
        else:
            start += 1


def _meaning(span: Sequence[_Word], book: Phrasebook) -> Meaning | None:
    phrase: Phrase = tuple(word.folded for word in span)
    if phrase in book.cased:
        brand, spelt = book.cased[phrase]
        written = " ".join(word.written for word in span)
        if fold(written) == spelt and any(c.isupper() for c in written):
            return (("brand", brand),)
    return book.meanings.get(phrase)


# ---------------------------------------------------------------- what is no wish


@per_domain
def _cues(name: str) -> frozenset[Phrase]:
    return frozenset(tokens(text) for text in reading(name))


def _without_refused(found: Sequence[_Found], words: Sequence[_Word]) -> list[_Found]:
    """Drop what follows a negation, and what the thing is to be worn with."""
    kept: list[_Found] = []
    refusing = False
    cues = [cue for cue in _cues("companions") if _holds(words, cue)]
    for place, one in enumerate(found):
        between = words[found[place - 1].end if place else 0 : one.start]
        gap = [word.folded for word in between]
        if _ends_with(gap, _cues("negations")) or _companion(one, cues, words):
            refusing = True
        elif refusing and not (gap in (["or"], ["nor"], ["and"], []) and one.type is None):
            refusing = False
        if not refusing:
            kept.append(one)
    return kept


def _ends_with(gap: Sequence[str], cues: frozenset[Phrase]) -> bool:
    """Whether a cue closes the words before a phrase, an article or "in" aside."""
    rest = [
        word for word in gap if word not in ("a", "an", "the", "any", "in", "for", "by", "from")
    ]
    return any(len(cue) <= len(rest) and tuple(rest[-len(cue) :]) == cue for cue in cues)


def _companion(one: _Found, cues: Sequence[Phrase], words: Sequence[_Word]) -> bool:
    """Whether the phrase stands after a cue like "to match", with no break in between."""
    if not cues:
        return False
    before = [word.folded for word in words[: one.start]]
    last = len(before) - before[::-1].index(_BREAK) if _BREAK in before else 0
    return any(_holds(words[last : one.start], cue) for cue in cues)


def _holds(words: Sequence[_Word], cue: Phrase) -> bool:
    return f" {' '.join(cue)} " in f" {' '.join(word.folded for word in words)} "


# ---------------------------------------------------------------- several things


Wishes = list[tuple[str, str]]


@per_domain
def _own() -> frozenset[str]:
    """Attributes that belong to one thing of several; the others are shared by all."""
    own = ("color", "words", "brand")
    return frozenset(one.name for one in domain().attributes if one.role in own)


def _things(found: Sequence[_Found], words: Sequence[_Word]) -> list[tuple[Wishes, Wishes]]:
    """Own and shared wishes of each thing asked for.

    Two types are one thing if nothing joins them ("belts … leather belts"); words before the first
    of several types describe all of them, unless the next one has its own article or words.
    """
    types = [one for one in found if one.type is not None]
    heads = [one for place, one in enumerate(types) if place == 0 or _joins(types, place, words)]
    if len({one.type for one in heads}) < 2:
        return [([], _pairs(found))]
    kind = domain().type.name
    own = [_between(found, heads, place) for place in range(len(heads))]
    shared = [pair for pair in _pairs(found) if pair[0] not in _own() and pair[0] != kind]
    after = _pairs([one for one in found if one.start >= heads[-1].end])
    shared += [pair for pair in after if pair[0] in _own()]
    for place in range(1, len(heads)):
        if not _article_before(heads[place], words):
            said = {name for name, _ in own[place]}
            own[place] += [pair for pair in own[place - 1] if pair[0] not in {*said, kind}]
    return [([*own[i], (kind, str(head.type))], shared) for i, head in enumerate(heads)]


def _joins(types: Sequence[_Found], place: int, words: Sequence[_Word]) -> bool:
    gap = {word.folded for word in words[types[place - 1].end : types[place].start]}
    joiners = {cue[0] for cue in _cues("joiners") if cue} | {_BREAK}
    return bool(gap & joiners)


def _article_before(head: _Found, words: Sequence[_Word]) -> bool:
    """Whether an article opens the words before a type: "a watch and a wallet"."""
    before = [word.folded for word in words[: head.start]]
    while before and before[-1] not in ("and", "or", "plus", "with", _BREAK):
        if before.pop() in ("a", "an", "some"):
            return True
    return False


def _between(found: Sequence[_Found], heads: Sequence[_Found], place: int) -> Wishes:
    """Own wishes said after the last type and up to this one, or in one phrase with it."""
    low = heads[place - 1].end if place else 0
    inside = [one for one in found if low <= one.start <= heads[place].start]
    return [pair for pair in _pairs(inside) if pair[0] in _own()]


def _pairs(found: Sequence[_Found]) -> Wishes:
    return [pair for one in found for pair in one.meaning]


def _intent(own: Wishes, shared: Wishes) -> dict[str, Any]:
    intent: dict[str, Any] = dict.fromkeys(domain().names)
    for name, value in [*own, *shared]:
        if name in domain().many:
            values = intent[name] or []
            intent[name] = values if value in values else [*values, value]
        elif intent[name] is None:
            intent[name] = value
    return intent


# ---------------------------------------------------------------- price


def _price(query: str, book: Phrasebook) -> tuple[str | None, str]:
    """Tier of an amount in the query, and the query without it."""
    low, high = book.price_thresholds
    if domain().role("price") is None:
        return None, query
    if match := _BETWEEN.search(query):
        middle = (_amount(match, 1) + _amount(match, 3)) / 2
    elif match := _BELOW.search(query):
        top = _amount(match, 1)
        middle = top if top > high else max(top - 1, 0)
    elif match := _ABOVE.search(query):
        middle = _amount(match, 1) + 1
    else:
        return None, query
    tier = PRICE_TIERS[int(middle >= low) + int(middle > high)]
    return tier, f"{query[: match.start()]} {query[match.end() :]}"


def _amount(match: re.Match[str], group: int) -> float:
    number = float(match[group].replace(",", ""))
    return number * 1000 if match[group + 1] else number
