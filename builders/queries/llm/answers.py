"""Queries from whatever a language model answered.

In:  the text of an answer, and whether its end is missing.
Out: an :class:`Answer`: every query that stands complete in it, and what was lost.

Paper, section 3 (structured JSON extraction with a free-text fallback that keeps valid queries from
partly malformed output). Three readings are tried: strict JSON, then repair of every list of
queries in the text, then lines of plain text. A query counts as complete only if something closes
it: what the end of the answer cuts off is lost and recorded, never completed by guessing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fashion_rq_bench.builders.queries.llm.prompt_text import ANSWER_SCHEMA
from fashion_rq_bench.support.optional import require

__all__ = ["Answer", "parse_answer"]

_MOST_CHARACTERS = 200_000
_LONGEST_QUERY = 400
_SHOWN = 80

_NAMES = r"(?:user[_ ]?queries|queries|search(?:es|_queries)|user[_ ]?query)"
_LIST = re.compile(rf"(?i)[\"'“”`]?\b{_NAMES}\b[\"'“”`]?\s*(?::|=>|=)\s*(?=[\[\{{\"'“])")
_QUERY_KEY = re.compile(rf"(?i)^(?:{_NAMES}|query|text|search|q)$")
_OTHER_KEYS = frozenset(ANSWER_SCHEMA["properties"]) - {"user_queries"}
_NEXT_KEY = re.compile(
    r"[\]\"'”,]\s*[\"'“]?(?:insights|delta_vs_\w+|validation_checks|coverage_map)[\"'”]?\s*:"
)
_FENCE = re.compile(r"^\s*```[\w-]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)
_ITEM = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,3}[.):]|Q\d*[:.])\s*(.+?)\s*$", re.IGNORECASE)
_DOUBLE_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SINGLE_QUOTED = re.compile(r"(?<=[\[{,:\s])'((?:[^'\n]|'(?!\s*[,\]}:]))*)'(?=\s*[,\]}:])")
"""A text in single quotes; an apostrophe inside is one that nothing structural follows."""
_QUOTES = "\"'“”‘’`"


@dataclass(frozen=True)
class Answer:
    """What an answer holds.

    Attributes:
        queries: complete queries in order, each once.
        coverage: the model's own map from product type to query; empty if it gave none.
        reading: "json", "repaired", "text", or "none" where nothing was found.
        lost: what could not be used, as "reason: beginning of the text".
    """

    queries: tuple[str, ...] = ()
    coverage: Mapping[str, str] = field(default_factory=dict)
    reading: Literal["json", "repaired", "text", "none"] = "none"
    lost: tuple[str, ...] = ()


def parse_answer(text: str, *, cut: bool = False) -> Answer:
    """Every complete query of an answer.

    Args:
        text: the answer, or the part of it that arrived.
        cut: its end is missing: the connection broke, or the length limit was reached.

    Returns:
        The answer; it never fails, whatever the text.
    """
    lost = []
    if len(text) > _MOST_CHARACTERS:
        lost.append(_loss("beyond the longest answer", text[_MOST_CHARACTERS:]))
        text, cut = text[:_MOST_CHARACTERS], True
    strict = _strict(text)
    if strict is not None:
        found = _tidy(_queries(strict), lost)
        if found:
            return Answer(found, _coverage(strict), "json", tuple(lost))
    repaired = list(_repaired(text, lost))
    if found := _tidy(repaired, lost):
        return Answer(found, _repaired_coverage(text, cut), "repaired", tuple(lost))
    if strict is None and (found := _tidy(_lines(text, cut, lost), lost)):
        return Answer(found, {}, "text", tuple(lost))
    if not lost:
        lost.append(_loss("no query found", text) if text.strip() else "empty answer")
    return Answer(lost=tuple(lost))


# ---------------------------------------------------------------- strict


def _strict(text: str) -> Any:
    """The JSON value that the text is, a fence around it aside; None if it is none."""
    fenced = _FENCE.match(text)
    try:
        return json.loads(fenced[1] if fenced else text, object_pairs_hook=_joined)
    except (ValueError, RecursionError):
        return None


def _joined(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; lists and objects under a repeated key are joined, not replaced."""
    result: dict[str, Any] = {}
    for key, value in pairs:
        before = result.get(key)
        if isinstance(before, list) and isinstance(value, list):
            value = before + value
        elif isinstance(before, dict) and isinstance(value, dict):
            value = before | value
        result[key] = value
    return result


def _queries(value: Any) -> Iterator[Any]:
    """Candidates for queries in a JSON value: below a known key, or a bare list of strings."""
    if isinstance(value, list):
        yield from _items(value)
    elif isinstance(value, dict):
        named = [item for key, item in value.items() if _QUERY_KEY.match(str(key))]
        for item in named:
            yield from _items(item)
        if not named:  # wrapped one deeper, or under a name of the model's own
            for key, item in value.items():
                if str(key) not in _OTHER_KEYS and isinstance(item, dict | list):
                    yield from _queries(item)


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        yield from value.splitlines()
    elif isinstance(value, list):
        for item in value:
            yield from _queries(item) if isinstance(item, dict) else [item]
    elif isinstance(value, dict):
        texts = [item for key, item in value.items() if _QUERY_KEY.match(str(key))]
        yield from texts or value.values()


def _coverage(value: Any) -> dict[str, str]:
    """The coverage map, given as pairs or as an object."""
    found = value.get("coverage_map") if isinstance(value, dict) else None
    if isinstance(found, list):
        pairs = [one for one in found if isinstance(one, dict)]
        found = {str(one.get("product_type")): one.get("query") for one in pairs}
    if not isinstance(found, dict):
        return {}
    return {key: item for key, item in found.items() if isinstance(item, str)}


# ---------------------------------------------------------------- repaired


def _repaired(text: str, lost: list[str]) -> Iterator[Any]:
    """Queries of every list in the text that has a known name, or else of the whole text."""
    starts = [match.end() for match in _LIST.finditer(text)]
    named = bool(starts)
    if not named and (opened := re.search(r"[\[{]", text)):
        starts = [opened.start()]
    for start, stop in zip(starts, [*starts, len(text)][1:], strict=False):
        part, closed = _list_part(text[start:stop])
        value = _repair(part)
        if not named and part.startswith("{") and not isinstance(value, dict):
            return  # a beginning that repair could make nothing of
        values = [item for item in (_items if named else _queries)(value) if item is not None]
        if values and not closed and stop == len(text) and _is_cut(part, values[-1]):
            lost.append(_loss("cut off", str(values.pop())))
        yield from values


def _list_part(text: str) -> tuple[str, bool]:
    """The list that a text begins with, and whether its end was found."""
    if end := _NEXT_KEY.search(text):
        return text[: end.start() + 1], True
    return text, False


def _repair(text: str) -> Any:
    if re.match(r"[\[{\s]*'", text):
        text = _SINGLE_QUOTED.sub(lambda match: json.dumps(match[1], ensure_ascii=False), text)
    try:
        return require("json_repair", "build").loads(text)
    except (ValueError, RecursionError):
        return None


def _is_cut(text: str, last: Any) -> bool:
    """Whether the text ends inside its last string, so that nothing closes it."""
    first = re.search(r"[\"']", text)
    if first is not None and first[0] == '"':
        _, opened, rest = _DOUBLE_QUOTED.sub("", text).partition('"')
        begun = " ".join(rest.split("\\")[0].split())
        return bool(opened) and bool(rest.strip()) and str(last).strip().startswith(begun)
    words = re.findall(r"\w+", str(last))
    return bool(words) and re.search(rf"{re.escape(words[-1])}[\s.,!?\\]*$", text) is not None


def _repaired_coverage(text: str, cut: bool) -> dict[str, str]:
    """The coverage map, if its end is there."""
    opened = re.search(r"coverage_map\W*?([\[{])", text)
    if opened is None or (cut and not re.search(r"[\]}]", text[opened.end() :])):
        return {}
    return _coverage({"coverage_map": _repair(text[opened.start(1) :])})


# ---------------------------------------------------------------- plain text


def _lines(text: str, cut: bool, lost: list[str]) -> Iterator[str]:
    """Items of a numbered or bulleted list, else whole texts in quotation marks."""
    lines = text.splitlines()
    items = [
        (number, match[1]) for number, line in enumerate(lines) if (match := _ITEM.match(line))
    ]
    for number, item in items:
        if cut and number == len(lines) - 1 and not text.endswith("\n"):
            lost.append(_loss("cut off", item))
        else:
            yield item
    if not items and "{" not in text:
        yield from re.findall(r"[\"“]([^\"“”\n]{8,200})[\"”]", text)


# ---------------------------------------------------------------- what a query may be


def _tidy(found: Iterable[Any], lost: list[str]) -> tuple[str, ...]:
    """Queries with plain spaces and without quotes around, each once; others are lost."""
    queries: dict[str, None] = {}
    for item in found:
        if not isinstance(item, str):
            lost.append(_loss("not a text", json.dumps(item, default=str)))
            continue
        query = " ".join(item.split()).strip(_QUOTES + ", ")
        if len(query) > _LONGEST_QUERY:
            lost.append(_loss("too long", query))
        elif query:
            queries[query] = None
    return tuple(queries)


def _loss(reason: str, text: str) -> str:
    return f"{reason}: {' '.join(text.split())[:_SHOWN]}"
