"""Enrichment by a language model: query texts to intents.

In:  query texts, the phrasebook of the edition, a caller.
Out: per query a list of intents in the offline parser's form, or none where no answer is usable;
     what was wrong with the answers, counted.

Paper, section 3 (query attribute enrichment). The model sees the texts and the shop's vocabulary,
never the cluster. Its values are brought to the catalog's spelling; a brand counts only if its
words stand in the query, a value unknown to the catalog only if the query says it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fashion_rq_bench.builders.queries.check.phrasebook import Phrasebook
from fashion_rq_bench.builders.queries.llm.cache import Completion
from fashion_rq_bench.builders.queries.llm.calls import Caller, together
from fashion_rq_bench.builders.queries.llm.client import TransientError
from fashion_rq_bench.builders.queries.llm.reading_request import reading_messages, reading_schema
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.support.optional import require
from fashion_rq_bench.words.vocabulary import contains, tokens

__all__ = ["Reader", "read_readings"]

Intent = dict[str, Any]


# ---------------------------------------------------------------- reading an answer


def read_readings(
    text: str, queries: Sequence[str], book: Phrasebook
) -> tuple[dict[int, list[Intent]], Counter[str]]:
    """Usable intents of an answer.

    Args:
        text: the answer, or the part of it that arrived; never fails.
        queries: the texts that were asked for, in order.
        book: phrases of the edition.

    Returns:
        Position of a query to its intents, and what was left out, by reason.
    """
    problems: Counter[str] = Counter()
    found: dict[int, list[Intent]] = {}
    for reading in _readings(text, problems):
        number = str(reading.get("number")).strip()
        place = int(number) - 1 if number.isdecimal() and len(number) < 10 else -1
        if not 0 <= place < len(queries) or place in found:
            problems["no such search"] += 1
            continue
        intents = list(_intents(reading.get("intents"), queries[place], book, problems))
        if intents:
            found[place] = intents
    return found, problems


def _readings(text: str, problems: Counter[str]) -> Iterator[Mapping[str, Any]]:
    """The readings of an answer, whatever stands around them."""
    value = _json(text)
    listed = value.get("readings") if isinstance(value, dict) else value
    entries = listed if isinstance(listed, list) else []
    if not entries:
        problems["no readings in the answer"] += 1
    for entry in entries:
        if isinstance(entry, dict):
            yield entry
        else:
            problems["a reading of another form"] += 1


def _json(text: str) -> Any:
    """The JSON value in a text: as it is, or repaired from its first bracket on."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        starts = [place for place in (text.find("{"), text.find("[")) if place >= 0]
    try:
        return require("json_repair", "build").loads(text[min(starts) :]) if starts else None
    except (ValueError, RecursionError):
        return None


def _intents(given: Any, query: str, book: Phrasebook, problems: Counter[str]) -> Iterator[Intent]:
    """Intents that say something, in the parser's form."""
    for one in [given] if isinstance(given, dict) else given if isinstance(given, list) else []:
        if not isinstance(one, dict):
            problems["an intent of another form"] += 1
            continue
        intent = {
            name: _attribute(name, one.get(name), query, book, problems) for name in domain().names
        }
        if any(intent.values()):
            yield intent


def _attribute(
    name: str, given: Any, query: str, book: Phrasebook, problems: Counter[str]
) -> str | list[str] | None:
    values = given if isinstance(given, list) else [given]
    texts = [value for value in values if isinstance(value, str) and value.strip()]
    if len(texts) < sum(value is not None and value != "" for value in values):
        problems["a value that is no text"] += 1
    said = [_value(name, text, query, book, problems) for text in texts]
    known = list(dict.fromkeys(value for value in said if value is not None))
    if name not in domain().many:
        return known[0] if known else None
    return known or None


def _value(
    name: str, text: str, query: str, book: Phrasebook, problems: Counter[str]
) -> str | None:
    """A value as the catalog spells it; None if it must not be used."""
    if name == domain().name_of("brand"):
        brand, stands = _brand(text, query, book)
        if not stands:
            problems["a brand that the search does not name"] += 1
        return brand if stands else None
    known = next((v for n, v in book.meanings.get(tokens(text), ()) if n == name), None)
    if known is not None:
        return known
    if name in domain().many and contains(query, text):
        return " ".join(text.split()).casefold()
    problems["a value that is neither known nor said"] += 1
    return None


def _brand(text: str, query: str, book: Phrasebook) -> tuple[str, bool]:
    """The catalog's spelling of a brand, and whether its words stand in the query.

    Where they read like plain words ("Only"), they must be written as the brand is.
    """
    words = tokens(text)
    if words in book.cased:
        brand = book.cased[words][0]
        return brand, f" {brand} " in f" {query} "
    known = next(
        (v for n, v in book.meanings.get(words, ()) if n == domain().name_of("brand")), None
    )
    return known or " ".join(text.split()), contains(query, text)


# ---------------------------------------------------------------- asking


@dataclass
class _Read:
    """What came of one conversation: position to intents, answers, what was left out of them."""

    found: dict[int, list[Intent]] = field(default_factory=dict)
    completions: list[Completion] = field(default_factory=list)
    problems: Counter[str] = field(default_factory=Counter)


@dataclass
class Reader:
    """Reads queries with a language model and remembers how.

    Attributes:
        caller, book: who is asked, about which edition.
        intents: text to intents, for the queries that an answer gave any.
        unread: queries without a usable reading.
        completions: all answers.
        problems: what was left out of them, by reason.
    """

    caller: Caller
    book: Phrasebook
    intents: dict[str, list[Intent]] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    completions: list[Completion] = field(default_factory=list)
    problems: Counter[str] = field(default_factory=Counter)

    async def read(self, groups: Sequence[Sequence[str]]) -> None:
        """Read the queries of some clusters, one conversation per cluster.

        Raises:
            LLMError: if the budget is spent or the endpoint refuses for good.
        """
        seen = self.intents.keys() | self.unread
        asked = [[text for text in dict.fromkeys(group) if text not in seen] for group in groups]
        asked = [queries for queries in asked if queries]
        for queries, one in zip(asked, await together(map(self._ask, asked)), strict=True):
            self.completions += one.completions
            self.problems += one.problems
            for place, text in enumerate(queries):
                if place in one.found:
                    self.intents.setdefault(text, one.found[place])
                else:
                    self.unread.add(text)

    async def _ask(self, queries: Sequence[str]) -> _Read:
        """Ask until every query is read, a few times at most; the first reading of each counts."""
        messages = reading_messages(queries, self.book)
        read = _Read()
        for number in range(self.caller.tries):
            try:
                completion = await self.caller.answer(messages, number, reading_schema())
            except TransientError:
                read.problems["a call that failed"] += 1
                break
            found, problems = read_readings(completion.text, queries, self.book)
            read.found = found | read.found
            read.completions.append(completion)
            read.problems += problems
            if len(read.found) == len(queries):
                break
        return read

    @property
    def report(self) -> dict[str, Any]:
        """JSON-able counts."""
        return {
            "answers": len(self.completions),
            "read": len(self.intents),
            "left_to_the_parser": len(self.unread - self.intents.keys()),
            "problems": dict(sorted(self.problems.items())),
        }
