"""CSV and TSV, with unquoted separators inside the title put right.

In:  a file with a header line.
Out: :class:`Raw` with string columns. A row with too many fields is rejoined into the title and
     counted as repaired; a row with too few is rejected.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from fashion_rq_bench.builders.catalog.columns import resolve_columns
from fashion_rq_bench.builders.catalog.config import CatalogConfig
from fashion_rq_bench.builders.catalog.raw import Raw, Rejected
from fashion_rq_bench.errors import CatalogError

__all__ = ["REJOINED", "read_delimited"]

REJOINED = "over-long line rejoined into the title"
_SEPARATORS = ",;\t|"
_FIELD_LIMIT = 16 * 1024 * 1024


def read_delimited(path: Path, config: CatalogConfig) -> Raw:
    """Read a CSV or TSV file; the separator is taken from the header line.

    Quoted fields may hold separators, doubled quotes and newlines. Where a row has more fields
    than the header, the surplus is taken to be unquoted separators in the title and the title is
    put together again; that is exact whenever the title is where they stand.

    Raises:
        CatalogError: if the file is empty, not in the stated encoding (with the line), has an
            unclosed quote or repeated column names.
    """
    header, separator = _header(path, config.encoding)
    columns = resolve_columns(header, _known(header, config.columns))
    strange: list[pacsv.InvalidRow] = []
    table = _read(path, config, header, separator, strange.append)
    last = [
        *table.slice(max(len(table) - 1, 0)).to_pylist(),
        {"": strange[-1].text if strange else ""},
    ]
    if any("\n" in value for row in last for value in row.values()):
        _refuse_unclosed_quote(path, config.encoding, separator)
    position = header.index(columns["title"]) if "title" in columns else None
    return _assemble(table, strange, header, separator, position)


def _known(header: list[str], given: Mapping[str, str]) -> dict[str, str]:
    """The map without columns of later origin; the reader checks the whole map again."""
    return {ours: theirs for ours, theirs in given.items() if theirs in header}


def _header(path: Path, encoding: str) -> tuple[list[str], str]:
    """Column names and separator."""
    with path.open(encoding=_with_mark(encoding), newline="") as stream:
        try:
            line = stream.readline()
        except UnicodeDecodeError as error:
            raise _undecodable(path, encoding) from error
    if not line.strip():
        raise CatalogError(
            "The catalog file is empty.",
            given=str(path),
            fix="Its first line must name the columns, each further line is one product.",
        )
    separator = max(_SEPARATORS, key=line.count)
    return next(csv.reader([line], delimiter=separator)), separator


def _with_mark(encoding: str) -> str:
    return "utf-8-sig" if encoding.casefold().replace("_", "-") in ("utf-8", "utf8") else encoding


def _read(
    path: Path,
    config: CatalogConfig,
    header: list[str],
    separator: str,
    strange: Callable[[pacsv.InvalidRow], None],
) -> pa.Table:
    def skip(row: pacsv.InvalidRow) -> str:
        strange(row)
        return "skip"

    try:
        table = pacsv.read_csv(
            path,
            # One thread: only then do malformed rows carry their number.
            read_options=pacsv.ReadOptions(
                use_threads=False, encoding=config.encoding, block_size=_FIELD_LIMIT
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=separator, newlines_in_values=True, invalid_row_handler=skip
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=False
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        if "UTF8" in str(error) or isinstance(error, UnicodeDecodeError):
            raise _undecodable(path, config.encoding) from error
        raise CatalogError(f"The file cannot be read as CSV: {error}", given=str(path)) from error
    return table


def _refuse_unclosed_quote(path: Path, encoding: str, separator: str) -> None:
    """Arrow takes a quote that is never closed for one long field; find and name such a one."""
    end = "end of file"
    csv.field_size_limit(_FIELD_LIMIT)
    with path.open(encoding=_with_mark(encoding), newline="") as stream:
        rows = csv.reader(chain(stream, ["\n", end]), delimiter=separator)
        line, start, last = 1, 1, [""]
        for row in rows:
            line, start, last = start, rows.line_num + 1, row
    if last != [end]:
        raise CatalogError(
            f"A quote opened in the row at line {line} is never closed.",
            given=str(path),
            fix='Close the quote, or write a literal one inside quotes as "".',
        )


def _undecodable(path: Path, encoding: str) -> CatalogError:
    """Name the first line that cannot be decoded."""
    line, sample = 1, b""
    with path.open("rb") as stream:
        for line, sample in enumerate(stream, start=1):  # noqa: B007
            try:
                sample.decode(encoding)
            except UnicodeDecodeError:
                break
    return CatalogError(
        f"Line {line} of {path.name} is not {encoding} text.",
        given=sample[:80],
        fix='Save the file as UTF-8, or name its encoding: --set catalog.encoding="latin-1".',
    )


def _assemble(
    table: pa.Table,
    strange: list[pacsv.InvalidRow],
    header: list[str],
    separator: str,
    title: int | None,
) -> Raw:
    """Put repaired rows back where they stood among the good ones."""
    # Arrow counts the header as row 1.
    positions = np.array([row.number - 1 for row in strange], dtype=np.int64)
    good = np.setdiff1d(np.arange(1, len(table) + len(strange) + 1), positions)
    repaired: dict[int, list[str]] = {}
    rejected: list[Rejected] = []
    for row, position in zip(strange, positions.tolist(), strict=True):
        fields = _rejoin(row.text, len(header), separator, title)
        if fields is None:
            reason = f"a line with {row.actual_columns} fields where {len(header)} are named"
            rejected.append(Rejected(position, reason, row.text))
        else:
            repaired[position] = fields
    extra = pa.table(
        {
            name: pa.array([fields[index] for fields in repaired.values()], pa.string())
            for index, name in enumerate(header)
        }
    )
    rows = np.concatenate([good, np.fromiter(repaired, dtype=np.int64)])
    order = np.argsort(rows, kind="stable")
    both = pa.concat_tables([table.cast(extra.schema), extra])
    whole = both.take(order) if repaired else both
    return Raw(whole, rows[order], dict.fromkeys(repaired, REJOINED), tuple(rejected))


def _rejoin(text: str, width: int, separator: str, title: int | None) -> list[str] | None:
    """Fields of an over-long row with the surplus inside the title, or None if that cannot be."""
    fields = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    surplus = len(fields) - width
    if surplus <= 0 or title is None:
        return None
    joined = separator.join(fields[title : title + surplus + 1])
    return [*fields[:title], joined, *fields[title + surplus + 1 :]]
