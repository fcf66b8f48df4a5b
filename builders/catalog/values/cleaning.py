"""Source columns as clean text.

In:  an Arrow column of any type, with HTML, entities, stray space and strings like "NA".
Out: a string column with null for no value, and counts of both kinds of absence.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Cleaned", "clean", "join_present", "plain_text", "to_strings"]

# No pattern here can run over a "<" or look back, so hostile text costs linear time.
_HIDDEN = re.compile(r"<(script|style)\b[^<>]*>[^<]*</\1\s*>", re.IGNORECASE)
_BLOCK = re.compile(r"</?(?:p|br|li|ul|ol|div|tr|td|table|h[1-6]|dd|dt)\b[^<>]*>", re.IGNORECASE)
_BREAK = "\x1e"  # a record separator, which no text holds; a newline is but a space in HTML
_TAG = re.compile(r"<[/!?a-zA-Z][^<>]*>")
# Entities that lost their semicolon or gained a space ("& rsquo") on their way into catalogs.
_BROKEN = re.compile(
    r"&\s{0,3}(amp|rsquo|lsquo|rdquo|ldquo|ndash|mdash|nbsp|hellip|bull|reg|trade|deg|quot|apos)\b;?"
)


@dataclass(frozen=True)
class Cleaned:
    """A clean column: values, how many were empty, how many were a string that means none."""

    values: pa.Array
    empty: int
    named_null: int


def plain_text(text: str) -> str:
    """Text of an HTML fragment on one line, entities resolved.

    The ends of paragraphs, list items and lines become the ends of sentences. Text that was
    escaped twice is resolved twice. "3 < 4" and "R&B" stay.
    """
    for _ in range(2):
        text = _BROKEN.sub(r"&\1;", text)
        text = _TAG.sub("", _BLOCK.sub(_BREAK, _HIDDEN.sub(" ", text)))
        text = html.unescape(text)
    lines = [" ".join(line.split()) for line in text.split(_BREAK)]
    lines = [line for line in lines if line]
    ended = [line if line[-1] in ".!?:;," else f"{line}." for line in lines[:-1]]
    return " ".join([*ended, *lines[-1:]])


def to_strings(column: pa.Array) -> pa.Array:
    """Any column as strings: whole numbers without ".0", lists joined, structs as JSON."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column.cast(pa.string())
    if pa.types.is_dictionary(kind):
        return to_strings(column.dictionary_decode())
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_finite(column), column, None)
        whole = pc.all(pc.equal(column, pc.round(column))).as_py()
        return column.cast(pa.int64() if whole else kind).cast(pa.string())
    if pa.types.is_nested(kind):
        return pa.array([_nested(value) for value in column.to_pylist()], pa.string())
    return column.cast(pa.string())


def _nested(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, list) and all(isinstance(item, str | None) for item in value):
        return ", ".join(item for item in value if item)
    if isinstance(value, dict) and {"bytes", "path"} == set(value):
        return str(value["path"]) if value["path"] else None
    return json.dumps(value, ensure_ascii=False, default=str)


def clean(column: pa.Array, null_values: tuple[str, ...], *, markup: bool = False) -> Cleaned:
    """Trim, turn the null strings into null and, for texts of people, resolve HTML.

    Args:
        column: any Arrow array.
        null_values: strings that mean none, exactly as written.
        markup: whether tags and entities are resolved (titles, descriptions, names).
    """
    values = pc.utf8_trim_whitespace(to_strings(column))
    named = pc.is_in(values, value_set=pa.array(null_values, pa.string()))
    if markup:
        values = _resolve(values)
    empty = pc.fill_null(pc.equal(values, ""), True)
    absent = pc.or_(empty, named)
    return Cleaned(pc.if_else(absent, None, values), _count(empty), _count(named))


def _resolve(values: pa.Array) -> pa.Array:
    """Apply :func:`plain_text` to the values that need it, each distinct one once."""
    needs = pc.match_substring_regex(values, r"[<&]|\s\s|[\n\t\r]")
    if not pc.any(needs).as_py():
        return values
    encoded = values.filter(needs).dictionary_encode()
    plain = pa.array([plain_text(text) for text in encoded.dictionary.to_pylist()], pa.string())
    return pc.replace_with_mask(values, pc.fill_null(needs, False), plain.take(encoded.indices))


def _count(mask: pa.Array) -> int:
    return int(pc.sum(mask).as_py() or 0)


def join_present(columns: Sequence[pa.Array | pa.ChunkedArray], separator: str) -> pa.Array:
    """Values of each row that are not null, joined; null where there is none.

    Arrow's own ``null_handling="skip"`` loses the rows in which every value is null (26.0).
    """
    started = [pc.fill_null(pc.binary_join_element_wise(separator, c, ""), "") for c in columns]
    joined = pc.binary_join_element_wise(*started, "")
    text = pc.utf8_slice_codeunits(joined, start=len(separator))
    return pc.if_else(pc.equal(joined, ""), None, text)
