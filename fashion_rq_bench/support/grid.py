"""A table that does not know yet where it will be shown.

In:  a heading, columns, rows of cells; any text may come from a model or a catalog.
Out: Markdown, LaTeX (booktabs) and CSV, with whatever the format gives a meaning escaped.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "Cell",
    "Grid",
    "Mark",
    "Row",
    "escape_latex",
    "escape_markdown",
    "figure",
    "marks",
    "to_csv",
]

Mark = Literal["", "best", "second"]

_DASH = "–"
_WIDE = 6
"""Tables of more columns are scaled to the width of the text in LaTeX."""

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~$&])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "†": r"\textdagger{}",
    "–": "--",
    "τ": r"$\tau$",
    "Δ": r"$\Delta$",
    "−": r"$-$",
    "[": "{[}",  # after the end of a line, a bracket or a star would be an argument of it
    "*": "{*}",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def figure(value: float, *, signed: bool = False, digits: int = 4) -> str:
    """A figure without the leading zero, as the paper prints them; a dash for NaN."""
    if math.isnan(value):
        return _DASH
    text = f"{abs(value):.{digits}f}".removeprefix("0")
    negative = value < 0 and float(f"{value:.{digits}f}") != 0
    return ("−" if negative else "+" if signed else "") + text


def marks(values: Sequence[float]) -> list[Mark]:
    """Which values are best and second best, as they are printed; none where nothing competes."""
    shown = [figure(value) for value in values]
    known = sorted({text for text in shown if text != _DASH}, reverse=True)
    names: tuple[Mark, ...] = ("best", "second")
    found = dict(zip(known, names, strict=False)) if len(values) > 1 else {}
    return [found.get(text, "") for text in shown]


def escape_markdown(text: str) -> str:
    """Text in which Markdown and HTML find nothing to act on; one line."""
    return (
        _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
        .replace("\\<", "&lt;")
        .replace("\\&", "&amp;")
    )


def escape_latex(text: str) -> str:
    """Text in which LaTeX finds no command; one line."""
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))


@dataclass(frozen=True)
class Cell:
    """One figure of a table.

    Attributes:
        text: as shown.
        interval: its interval as shown below it, or nothing.
        value, low, high: the number and its interval, for CSV; NaN where there is none.
        mark: whether it is the best of its column, or the second.
        group: letters; models that share one cannot be told apart.
    """

    text: str
    interval: str = ""
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    mark: Mark = ""
    group: str = ""


@dataclass(frozen=True)
class Row:
    """One line of a table: its name (not escaped), its cells, and whether a rule goes above it."""

    name: str
    cells: tuple[Cell, ...]
    rule: bool = False


@dataclass(frozen=True)
class Grid:
    """A table.

    Attributes:
        key: its name in file names and LaTeX labels.
        title: one line above it.
        columns: headings, the first over the rows' names.
        rows: its lines.
        notes: lines below it.
    """

    key: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def to_markdown(self) -> str:
        """The table with its title and notes; best in bold, second underlined."""
        lines = [f"### {escape_markdown(self.title)}", ""]
        lines.append(f"| {' | '.join(map(escape_markdown, self.columns))} |")
        lines.append("|" + "---|" + "---:|" * (len(self.columns) - 1))
        for row in self.rows:
            cells = [escape_markdown(row.name), *map(_markdown, row.cells)]
            lines.append(f"| {' | '.join(cells)} |")
        notes = [f"- {escape_markdown(note)}" for note in self.notes]
        return "\n".join([*lines, *([""] if notes else []), *notes, ""])

    def to_latex(self) -> str:
        """A ``table*`` environment; needs the packages booktabs and, for wide tables, graphicx."""
        caption = escape_latex(" ".join([f"{self.title}.", *self.notes]))
        wide = len(self.columns) > _WIDE
        lines = [
            r"\begin{table*}[t]",
            r"\centering\small",
            rf"\caption{{{caption}}}",
            rf"\label{{tab:{self.key}}}",
            *([r"\resizebox{\textwidth}{!}{%"] if wide else []),
            *self._tabular(),
            *(["}"] if wide else []),
            r"\end{table*}",
        ]
        return "\n".join([*lines, ""])

    def _tabular(self) -> list[str]:
        lines = [
            rf"\begin{{tabular}}{{l{'r' * (len(self.columns) - 1)}}}",
            r"\toprule",
            " & ".join(map(escape_latex, self.columns)) + r" \\",
            r"\midrule",
        ]
        for row in self.rows:
            lines += [r"\midrule"] if row.rule else []
            lines.append(" & ".join([escape_latex(row.name), *map(_latex, row.cells)]) + r" \\")
            if any(cell.interval for cell in row.cells):
                below = [rf"{{\scriptsize {escape_latex(cell.interval)}}}" for cell in row.cells]
                lines.append(" & ".join(["", *below]) + r" \\")
        return [*lines, r"\bottomrule", r"\end{tabular}"]

    def to_csv(self) -> str:
        """Full figures: per column of the table its value, ends of the interval and group."""
        tails = ("", " low", " high", " group")
        head = [self.columns[0], *(f"{name}{tail}" for name in self.columns[1:] for tail in tails)]
        body = [
            [row.name, *(part for cell in row.cells for part in _parts(cell))] for row in self.rows
        ]
        return to_csv([head, *body])


def to_csv(rows: Sequence[Sequence[object]]) -> str:
    """Rows as CSV; NaN is empty, and no text starts as a spreadsheet's formula would."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([[_plain(cell) for cell in row] for row in rows])
    return out.getvalue()


def _plain(cell: object) -> object:
    if isinstance(cell, float):
        return "" if math.isnan(cell) else repr(float(cell))
    text = str(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _parts(cell: Cell) -> tuple[object, ...]:
    first = cell.text if math.isnan(cell.value) and cell.text != _DASH else cell.value
    return first, cell.low, cell.high, cell.group


def _markdown(cell: Cell) -> str:
    start, end = {"best": ("**", "**"), "second": ("<u>", "</u>"), "": ("", "")}[cell.mark]
    group = f" {cell.group}" if cell.group else ""
    interval = f"<br>{cell.interval}" if cell.interval else ""
    return f"{start}{escape_markdown(cell.text)}{end}{group}{interval}"


def _latex(cell: Cell) -> str:
    command = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "": "%s"}[cell.mark]
    group = rf"\textsuperscript{{{cell.group}}}" if cell.group else ""
    return command % escape_latex(cell.text) + group
