"""The running account of a reading, and what becomes of it.

In:  :class:`Raw` rows, the :class:`Ledger` that the reader kept, the finished table.
Out: the rows set aside with their reasons, and the :class:`CatalogReport`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.catalog.files.raw import Raw
from fashion_rq_bench.builders.catalog.report import CatalogReport
from fashion_rq_bench.schema import tables as schema
from fashion_rq_bench.schema.attributes import PRICE_TIERS

__all__ = ["QUARANTINED", "Ledger", "Mask", "quarantined", "report_of"]

Mask = npt.NDArray[np.bool_]

QUARANTINED = pa.schema([("row", pa.int64()), ("reason", pa.string()), ("raw", pa.string())])
"""Rows set aside: 1-based position in the source, why, and the row as it stood."""


@dataclass
class Ledger:
    """Running account of a reading; masks are over the source's usable rows."""

    repairs: dict[str, Mask] = field(default_factory=dict)
    quarantine: dict[str, Mask] = field(default_factory=dict)
    null_strings: dict[str, int] = field(default_factory=dict)
    empty: dict[str, int] = field(default_factory=dict)
    filled: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    currency: str | None = None
    thresholds: tuple[float, float] | None = None


def quarantined(raw: Raw, ledger: Ledger) -> pa.Table:
    """The rows set aside, in order: schema QUARANTINED."""
    found = [(item.row, item.reason, item.raw) for item in raw.rejected]
    for reason, mask in ledger.quarantine.items():
        where = np.flatnonzero(mask)
        for row, values in zip(
            raw.rows[where].tolist(), raw.table.take(where).to_pylist(), strict=True
        ):
            found.append((row, reason, json.dumps(values, ensure_ascii=False, default=str)))
    found.sort()
    lists = zip(*found, strict=True) if found else ([], [], [])
    return pa.table([pa.array(list(values)) for values in lists], names=QUARANTINED.names).cast(
        QUARANTINED
    )


def report_of(
    source: str, raw: Raw, columns: Mapping[str, str], ledger: Ledger, table: pa.Table, kept: Mask
) -> CatalogReport:
    """What became of every row: ``kept`` are the usable rows that ``table`` has."""
    repairs = {why: int((mask & kept).sum()) for why, mask in ledger.repairs.items()}
    mended = np.logical_or.reduce([*ledger.repairs.values(), np.zeros(len(kept), dtype=bool)])
    reasons = {why: int(mask.sum()) for why, mask in ledger.quarantine.items()}
    for item in raw.rejected:
        reasons[item.reason] = reasons.get(item.reason, 0) + 1
    tiers = dict.fromkeys(PRICE_TIERS, 0)
    for item in table["price_tier"].value_counts().to_pylist():
        if item["values"] is not None:
            tiers[item["values"]] = item["counts"]
    priced = ledger.thresholds is not None
    return CatalogReport(
        source=source,
        input=len(kept) + len(raw.rejected),
        read=len(table),
        repaired=int((mended & kept).sum()),
        quarantined=len(kept) + len(raw.rejected) - len(table),
        repair_reasons={why: count for why, count in repairs.items() if count},
        quarantine_reasons={why: count for why, count in reasons.items() if count},
        nulls={name: _absent(table[name]) for name in schema.catalog_schema().names},
        null_strings={name: count for name, count in ledger.null_strings.items() if count},
        empty={name: count for name, count in ledger.empty.items() if count},
        filled={name: count for name, count in ledger.filled.items() if count},
        missing=dict(raw.missing),
        columns=dict(columns),
        currency=ledger.currency,
        tier_thresholds=ledger.thresholds,
        tiers=tiers if priced else {},
        notes=tuple(ledger.notes),
    )


def _absent(column: pa.ChunkedArray) -> int:
    """Rows without a value: null, or an empty list."""
    if not pa.types.is_list(column.type):
        return int(column.null_count)
    return int(pc.sum(pc.equal(pc.fill_null(pc.list_value_length(column), 0), 0)).as_py() or 0)
