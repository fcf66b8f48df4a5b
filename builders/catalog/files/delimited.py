"""CSV and TSV, with unquoted separators inside the title or description put right.

In:  a file with a header line.
Out: :class:`Raw` with string columns. A row with too many fields is rejoined and counted as
     repaired where it is certain how; a row with too few is rejected.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from fashion_rq_bench.builders.catalog.columns import resolve_columns
from fashion_rq_bench.builders.catalog.config import CatalogConfig
from fashion_rq_bench.builders.catalog.files.mending import Mender
from fashion_rq_bench.builders.catalog.files.raw import Raw, Rejected
from fashion_rq_bench.errors import CatalogError

__all__ = ["read_delimited"]

_SEPARATORS = ",;\t|"
_FIELD_LIMIT = 16 * 1024 * 1024


def read_delimited(path: Path, config: CatalogConfig) -> Raw:
    """Read a CSV or TSV file; the separator is taken from the header line.

    Quoted fields may hold separators, doubled quotes and newlines. Where a row has more fields
    than the header, the surplus is taken to be unquoted separators in free text, which is put
    together again (:class:`Mender`).

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
    return _assemble(table, strange, Mender(tuple(header), separator, columns, table))


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
    number, sample = 1, b""
    with path.open("rb") as stream:
        for line in stream:
            sample = line
            try:
                line.decode(encoding)
            except UnicodeDecodeError:
                break
            number += 1
    return CatalogError(
        f"Line {number} of {path.name} is not {encoding} text.",
        given=sample[:80],
        fix='Save the file as UTF-8, or name its encoding: --set catalog.encoding="latin-1".',
    )


def _assemble(table: pa.Table, strange: list[pacsv.InvalidRow], mender: Mender) -> Raw:
    """Put mended rows back where they stood among the good ones."""
    # Arrow counts the header as row 1.
    positions = np.array([row.number - 1 for row in strange], dtype=np.int64)
    good = np.setdiff1d(np.arange(1, len(table) + len(strange) + 1), positions)
    mended: dict[int, list[str]] = {}
    repairs: dict[int, str] = {}
    rejected: list[Rejected] = []
    for row, position in zip(strange, positions.tolist(), strict=True):
        found = mender.mend(row.text)
        if found is None:
            width = len(mender.header)
            reason = f"a line with {row.actual_columns} fields where {width} are named"
            rejected.append(Rejected(position, reason, row.text))
        else:
            mended[position], column = found
            repairs[position] = f"over-long line rejoined into the {column}"
    extra = pa.table(
        {
            name: pa.array([fields[index] for fields in mended.values()], pa.string())
            for index, name in enumerate(mender.header)
        }
    )
    rows = np.concatenate([good, np.fromiter(mended, dtype=np.int64)])
    order = np.argsort(rows, kind="stable")
    both = pa.concat_tables([table.cast(extra.schema), extra])
    return Raw(both.take(order) if mended else both, rows[order], repairs, tuple(rejected))
