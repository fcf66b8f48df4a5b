"""The Kaggle archive *Fashion Product Images*, whole or in part.

In:  a folder with ``styles.csv``, ``styles/<id>.json`` and ``images/<id>.jpg``.
Out: :class:`Raw`: one row per line of ``styles.csv``, joined with its record, and how many records
     and photos are missing.

The source catalog of the paper (section 4).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from fashion_rq_bench.builders.catalog.config import CatalogConfig
from fashion_rq_bench.builders.catalog.files.delimited import read_delimited
from fashion_rq_bench.builders.catalog.files.raw import Raw
from fashion_rq_bench.errors import CatalogError

__all__ = ["read_kaggle"]

_FIELDS = ("brandName", "ageGroup", "fashionType")
_TEXTS = {"description": "description", "style_note": "styleNote", "materials_care_desc": "care"}
_NO_RECORD: Mapping[str, Any] = {}


def read_kaggle(folder: Path, config: CatalogConfig) -> Raw:
    """Read the archive; prices are INR.

    Raises:
        CatalogError: from ``styles.csv``; a missing or broken record only leaves columns empty.
    """
    raw = read_delimited(folder / "styles.csv", config)
    if "id" not in raw.table.column_names:
        raise CatalogError(
            "styles.csv of the Kaggle archive names its products in a column 'id'.",
            given=", ".join(raw.table.column_names),
            fix="For another layout give the CSV file itself and a column map.",
        )
    ids = raw.table["id"].to_pylist()
    records, absent, broken = _records(folder / "styles", ids)
    images = _files(folder / "images", ".jpg")
    table = raw.table
    for name, column in _record_columns(records).items():
        table = table.append_column(name, column)
    paths = [f"images/{name}.jpg" if name in images else None for name in ids]
    table = table.append_column("image", pa.array(paths, pa.string()))
    return replace(
        raw,
        table=table,
        missing={"records": absent, "images": paths.count(None)},
        folder=folder,
        currency="INR",
        notes=(f"{broken} records are not valid JSON and were left out.",) if broken else (),
    )


def _files(folder: Path, suffix: str) -> frozenset[str]:
    """Names without suffix of the folder's files, from one listing."""
    if not folder.is_dir():
        return frozenset()
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries]
    return frozenset(name.removesuffix(suffix) for name in names if name.endswith(suffix))


def _records(folder: Path, ids: list[str]) -> tuple[list[Mapping[str, Any]], int, int]:
    """One record per id (empty where there is none), how many are absent, how many broken."""
    there = _files(folder, ".json")
    wanted = [name for name in ids if name in there]
    with ThreadPoolExecutor(max_workers=8) as pool:
        loaded = dict(
            zip(wanted, pool.map(lambda name: _record(folder, name), wanted), strict=True)
        )
    broken = sum(record is None for record in loaded.values())
    records = [loaded.get(name) or _NO_RECORD for name in ids]
    return records, len(ids) - len(wanted), broken


def _record(folder: Path, name: str) -> Mapping[str, Any] | None:
    try:
        loaded = json.loads((folder / f"{name}.json").read_bytes())
    except (ValueError, OSError, RecursionError):
        return None
    data = loaded.get("data") if isinstance(loaded, dict) else None
    return data if isinstance(data, dict) else None


def _record_columns(records: list[Mapping[str, Any]]) -> dict[str, pa.Array]:
    columns = {name: _strings(record.get(name) for record in records) for name in _FIELDS}
    columns["price"] = _strings(record.get("price") for record in records)
    columns["articleAttributes"] = pa.array(
        [json.dumps(found) if (found := r.get("articleAttributes")) else None for r in records],
        pa.string(),
    )
    for theirs, ours in _TEXTS.items():
        columns[ours] = _strings(_descriptor(record, theirs) for record in records)
    return columns


def _descriptor(record: Mapping[str, Any], name: str) -> Any:
    found = record.get("productDescriptors")
    value = found.get(name) if isinstance(found, dict) else None
    return value.get("value") if isinstance(value, dict) else value


def _strings(values: Iterable[Any]) -> pa.Array:
    return pa.array([None if value is None else str(value) for value in values], pa.string())
