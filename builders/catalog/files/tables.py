"""Parquet, JSON Lines, JSON and ``datasets`` sources.

In:  a path, a ``datasets`` folder, a Hub name or a Dataset object.
Out: :class:`Raw`, columns of whatever type the source has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from fashion_rq_bench.builders.catalog.files.raw import Raw, Rejected
from fashion_rq_bench.errors import CatalogError

if TYPE_CHECKING:
    import datasets

__all__ = ["read_dataset", "read_hub", "read_json", "read_json_lines", "read_parquet_files"]


def read_parquet_files(path: Path) -> Raw:
    """Read a Parquet file, or every ``*.parquet`` of a folder in order of name.

    Raises:
        CatalogError: if a file is not Parquet or the files' columns differ.
    """
    try:
        if path.is_file():
            return Raw.of(pq.ParquetFile(path).read())
        files = [str(file) for file in sorted(path.rglob("*.parquet"))]
        return Raw.of(pads.dataset(files, format="parquet").to_table())
    except (pa.ArrowInvalid, OSError) as error:
        raise CatalogError(
            f"The catalog cannot be read as Parquet: {_first_line(error)}",
            given=str(path),
            fix="Check that the file is whole (its last four bytes are PAR1).",
        ) from error


def read_json_lines(path: Path, encoding: str) -> Raw:
    """Read one JSON object per line; a line that is not one is rejected with its reason."""
    records: list[dict[str, Any]] = []
    rows: list[int] = []
    rejected: list[Rejected] = []
    number = 0
    with path.open(encoding="utf-8-sig" if encoding == "utf-8" else encoding) as stream:
        try:
            for line in stream:
                if not line.strip():
                    continue
                number += 1
                record, problem = _parse(line)
                if record is None:
                    rejected.append(Rejected(number, problem, line.rstrip("\n")))
                else:
                    records.append(record)
                    rows.append(number)
        except UnicodeDecodeError as error:
            raise CatalogError(
                f"The catalog is not {encoding} text after row {number}: {error.reason}.",
                given=str(path),
                fix="Save the file as UTF-8, or name its encoding: --set catalog.encoding=NAME.",
            ) from error
    return Raw(_columns(records), np.array(rows, dtype=np.int64), rejected=tuple(rejected))


def _parse(line: str) -> tuple[dict[str, Any] | None, str]:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        return None, f"not valid JSON: {getattr(error, 'msg', 'nested too deeply')}"
    return (record, "") if isinstance(record, dict) else (None, "not a JSON object")


def read_json(path: Path, encoding: str) -> Raw:
    """Read a JSON file that holds a list of objects.

    Raises:
        CatalogError: if the file is not JSON or holds something else.
    """
    try:
        loaded = json.loads(
            path.read_text(encoding="utf-8-sig" if encoding == "utf-8" else encoding)
        )
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CatalogError(f"The catalog is not valid JSON: {error}.", given=str(path)) from error
    if not isinstance(loaded, list):
        raise CatalogError(
            "A JSON catalog is a list of objects, one per product.",
            given=type(loaded).__name__,
            fix="Write the list alone, or one object per line in a .jsonl file.",
        )
    good = [(row, item) for row, item in enumerate(loaded, start=1) if isinstance(item, dict)]
    bad = tuple(
        Rejected(row, "not a JSON object", json.dumps(item, ensure_ascii=False))
        for row, item in enumerate(loaded, start=1)
        if not isinstance(item, dict)
    )
    rows = np.array([row for row, _ in good], dtype=np.int64)
    return Raw(_columns([item for _, item in good]), rows, rejected=bad)


def _columns(records: list[dict[str, Any]]) -> pa.Table:
    """Objects as columns, in order of first appearance; a column of mixed kinds becomes text."""
    names: dict[str, None] = {}
    for record in records:
        names.update(dict.fromkeys(record))
    return pa.table({name: _column(record.get(name) for record in records) for name in names})


def _column(values: Iterable[Any]) -> pa.Array:
    values = list(values)
    if any(isinstance(value, Mapping) for value in values):
        # Objects of any shape: text keeps them apart without a struct of every key ever seen.
        return pa.array([_text(value) for value in values], pa.string())
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([_text(value) for value in values], pa.string())


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def read_dataset(dataset: datasets.Dataset) -> Raw:
    """Read a ``datasets.Dataset``; images keep their path, not their pixels."""
    table = dataset.with_format("arrow")[:] if len(dataset) else dataset.data.table
    return Raw.of(table.replace_schema_metadata(None))


def read_hub(name: str, options: Mapping[str, str]) -> Raw:
    """Load a dataset from disk or the Hub; options are ``config``, ``split`` and ``revision``.

    Raises:
        CatalogError: if it cannot be loaded, or an option is unknown.
    """
    import datasets

    allowed = ("config", "split", "revision")
    for option in options:
        if option not in allowed:
            raise CatalogError("A dataset takes no such option.", given=option, allowed=allowed)
    split = options.get("split", "train")
    try:
        if Path(name).is_dir():
            loaded = datasets.load_from_disk(name)
            loaded = loaded[split] if isinstance(loaded, datasets.DatasetDict) else loaded
        else:
            loaded = datasets.load_dataset(
                name, options.get("config"), split=split, revision=options.get("revision")
            )
    except (OSError, ValueError, KeyError, datasets.exceptions.DatasetsError) as error:
        raise CatalogError(
            f"This is neither a file here nor a dataset that can be loaded: {_first_line(error)}",
            given=name,
            fix="Check the path; a dataset is written NAME?config=CONFIG&split=SPLIT.",
        ) from error
    return read_dataset(loaded)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".") + "."
