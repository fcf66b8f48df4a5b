"""Product text that tries to steer a language model, found and listed.

In:  texts, or a catalog.
Out: which patterns a text shows; the report of an edition: product, column, patterns, the text.

Such text is data like any other and stays in the catalog. Prompts and pages show it escaped
(``prompt.quoted``, ``report.review_page``), and no query that shows a pattern is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["PATTERNS", "patterns_of", "steering", "steering_report"]

PATTERNS = {
    "instruction": r"\b(?:ignore|disregard|forget)\b.{0,30}\b(?:instructions?|prompt|rules?|above"
    r"|previous)\b|\bsystem prompt\b|\byou are (?:now|an?)\b.{0,20}\b(?:ai|assistant|model)\b",
    "code fence": r"```",
    "markup": r"</?[a-z][^>]*>",
    "ready answer": r"\{\s*[\"']|\buser_queries\b",
    "link": r"https?://|\bwww\.|\b\w+\.(?:com|net|org)\b",
    "control token": r"<\|",
}
"""What is looked for, by name; case does not matter."""

_COMPILED = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in PATTERNS.items()}
_ANY = re.compile("|".join(f"(?:{pattern})" for pattern in PATTERNS.values()), re.IGNORECASE)
_LISTED = 200
_SHOWN = 120


def steering(text: str) -> bool:
    """Whether a text looks like an instruction to a model, markup, a link or a ready answer."""
    return bool(_ANY.search(text))


def patterns_of(text: str) -> list[str]:
    """Names of the patterns that a text shows, in the order of :data:`PATTERNS`."""
    return [name for name, pattern in _COMPILED.items() if pattern.search(text)]


def steering_report(catalog: pa.Table) -> dict[str, Any]:
    """The products whose text shows a pattern.

    Args:
        catalog: schema CATALOG; every column of texts or lists of texts is looked at but the ids
            and the names of image files.

    Returns:
        products: how many; patterns: name to products; texts: the first 200 of them in the
        catalog's order, each with product_id, column, patterns, "escaped" (always true: no prompt
        or page shows it otherwise) and the part of the text around the first pattern.
    """
    found = [one for name in _columns(catalog) for one in _in_column(catalog, name)]
    found.sort(key=lambda one: one[0])  # stable: columns stay in order
    ids = catalog["product_id"]
    counts = Counter(name for _, names in _names(found).items() for name in names)
    texts = [
        {
            "product_id": ids[row].as_py(),
            "column": column,
            "patterns": patterns_of(text),
            "escaped": True,
            "text": _around(text),
        }
        for row, column, text in found[:_LISTED]
    ]
    products = len({row for row, _, _ in found})
    return {"products": products, "patterns": dict(sorted(counts.items())), "texts": texts}


def _columns(catalog: pa.Table) -> list[str]:
    texts = (pa.string(), pa.list_(pa.string()))
    named = [field.name for field in catalog.schema if field.type in texts]
    return [name for name in named if name not in ("product_id", "image")]


def _in_column(catalog: pa.Table, name: str) -> Iterator[tuple[int, str, str]]:
    """Row, column and text of each text of a column that shows a pattern."""
    column = catalog[name].combine_chunks()
    rows = pa.array(range(len(column)))
    if pa.types.is_list(column.type):
        rows, column = pc.list_parent_indices(column), pc.list_flatten(column)
    encoded = column.dictionary_encode()
    bad = [n for n, text in enumerate(encoded.dictionary.to_pylist()) if steering(text)]
    places = pc.indices_nonzero(pc.is_in(encoded.indices, value_set=pa.array(bad, pa.int32())))
    yield from zip(
        rows.take(places).to_pylist(), repeat(name), column.take(places).to_pylist(), strict=False
    )


def _names(found: list[tuple[int, str, str]]) -> dict[int, set[str]]:
    names: dict[int, set[str]] = {}
    for row, _, text in found:
        names.setdefault(row, set()).update(patterns_of(text))
    return names


def _around(text: str) -> str:
    """The part of a text that begins shortly before its first pattern."""
    match = _ANY.search(text)
    start = max(0, match.start() - _SHOWN // 4) if match else 0
    return " ".join(text[start : start + _SHOWN].split())
