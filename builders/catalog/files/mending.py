"""Rows with too many fields, put together again.

In:  the text of a malformed CSV row, the column names, the well-formed rows.
Out: one field per column and which column was mended, or None where that is not certain.

The Kaggle archive has 22 such rows: names with commas and no quotes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.catalog.values.price import parse_price

__all__ = ["Mender"]

_FREE_TEXT = ("title", "description", "style_note", "care")


@dataclass(frozen=True)
class Mender:
    """Rejoins rows of one file.

    Unquoted separators stand in free text: the title, or a description. Where a file has but one
    free-text column the surplus is there. Where it has several, the other columns tell: the
    placement must leave them with more values that the well-formed rows also hold (or that are
    prices, in the price column) than any other placement does, or the row is not mended.

    Attributes:
        header: the file's column names.
        separator: between fields.
        columns: our column -> the file's.
        good: the well-formed rows.
    """

    header: tuple[str, ...]
    separator: str
    columns: Mapping[str, str]
    good: pa.Table

    def mend(self, text: str) -> tuple[list[str], str] | None:
        """Fields of a row, one per column, and our name of the column that was rejoined."""
        fields = next(csv.reader(io.StringIO(text, newline=""), delimiter=self.separator))
        surplus = len(fields) - len(self.header)
        places = [name for name in _FREE_TEXT if name in self.columns]
        if surplus <= 0 or not places:
            return None
        options = {name: self._rejoined(fields, name, surplus) for name in places}
        if len(options) == 1:
            return options[places[0]], places[0]
        fit = {name: self._fit(row, name) for name, row in options.items()}
        best = max(fit.values())
        winners = [name for name, score in fit.items() if score == best]
        return (options[winners[0]], winners[0]) if len(winners) == 1 else None

    def _rejoined(self, fields: list[str], name: str, surplus: int) -> list[str]:
        place = self.header.index(self.columns[name])
        end = place + surplus + 1
        return [*fields[:place], self.separator.join(fields[place:end]), *fields[end:]]

    @cached_property
    def _values(self) -> dict[str, frozenset[str]]:
        """Distinct values of each column in the well-formed rows."""
        return {name: frozenset(pc.unique(self.good[name]).to_pylist()) for name in self.header}

    def _fit(self, row: list[str], rejoined: str) -> int:
        """How many of the other columns hold what such a column holds."""
        price = self.columns.get("price")
        return sum(
            parse_price(value)[0] is not None if name == price else value in self._values[name]
            for name, value in zip(self.header, row, strict=True)
            if name != self.columns[rejoined]
        )
