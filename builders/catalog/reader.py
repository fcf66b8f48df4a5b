"""A source's rows as a catalog.

In:  :class:`Raw` rows and a :class:`CatalogConfig`.
Out: :class:`CatalogResult`: the CATALOG table, its report, the rows set aside.

Every input row ends as read, repaired (and how) or quarantined (and why).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.catalog.columns import resolve_columns
from fashion_rq_bench.builders.catalog.config import CatalogConfig
from fashion_rq_bench.builders.catalog.files.raw import Raw
from fashion_rq_bench.builders.catalog.report import CatalogReport
from fashion_rq_bench.builders.catalog.values import derive
from fashion_rq_bench.builders.catalog.values.attributes import LISTS, attribute_lists
from fashion_rq_bench.builders.catalog.values.brands import infer_brands
from fashion_rq_bench.builders.catalog.values.cleaning import clean
from fashion_rq_bench.builders.catalog.values.price import price_tiers, prices, tier_thresholds
from fashion_rq_bench.errors import CatalogError
from fashion_rq_bench.schema import tables as schema
from fashion_rq_bench.schema.attributes import PRICE_TIERS

__all__ = ["QUARANTINED", "CatalogResult", "to_catalog"]

QUARANTINED = pa.schema([("row", pa.int64()), ("reason", pa.string()), ("raw", pa.string())])
"""Rows set aside: 1-based position in the source, why, and the row as it stood."""

Mask = npt.NDArray[np.bool_]

# Rows worked on at once: bounds memory, and keeps every string column below Arrow's 2 GB.
_SLICE = 262_144
_PROSE = frozenset({"title", "description", "style_note", "care", "brand"})
_MANY_REPEATS = 0.5


@dataclass(frozen=True)
class CatalogResult:
    """A catalog, what became of its rows, and for a synthetic one its planted hierarchy.

    Attributes:
        table: schema CATALOG, in the source's order.
        report: counts.
        quarantined: schema QUARANTINED.
        planted: product_id, level_1, level_2, level_3; None for read catalogs.
    """

    table: pa.Table
    report: CatalogReport
    quarantined: pa.Table
    planted: pa.Table | None = None


@dataclass
class _Ledger:
    """Running account of a reading; masks are over the source's usable rows."""

    repairs: dict[str, Mask] = field(default_factory=dict)
    quarantine: dict[str, Mask] = field(default_factory=dict)
    null_strings: dict[str, int] = field(default_factory=dict)
    empty: dict[str, int] = field(default_factory=dict)
    filled: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    currency: str | None = None
    thresholds: tuple[float, float] | None = None


def to_catalog(raw: Raw, config: CatalogConfig, source: str) -> CatalogResult:
    """Turn a source's rows into a catalog.

    Args:
        raw: what a loader found.
        config: column map and policies.
        source: how the source is called in the report.

    Raises:
        CatalogError: if there are no rows, the column map does not fit, no product has a title or
            an article type, or product ids repeat and ``config.duplicate_ids`` is "error".
    """
    if not len(raw.table):
        raise CatalogError(
            "The catalog has no products that can be read.",
            given=source,
            fix="Give at least one row with all columns below the column names.",
        )
    columns = resolve_columns(raw.table.column_names, config.columns)
    ledger = _Ledger(notes=list(raw.notes))
    _note_malformed_lines(raw, ledger)
    fields = _in_slices(
        raw.table.select(list(dict.fromkeys(columns.values()))),
        partial(_cleaned, columns=columns, config=config, ledger=ledger),
    )
    fields = _numbers(fields, config.currency or raw.currency, ledger)
    fields = _identified(fields, raw, config, ledger)
    kept = ~np.logical_or.reduce([*ledger.quarantine.values(), np.zeros(len(fields), dtype=bool)])
    _require_labels(fields, kept, columns)
    table = _completed(fields.filter(pa.array(kept)), columns, config, ledger)
    quarantined = _quarantined(raw, ledger)
    report = _report(source, raw, columns, ledger, table, kept)
    planted = None if raw.planted is None else raw.planted.filter(pa.array(kept))
    return CatalogResult(table, report, quarantined, planted)


def _in_slices(table: pa.Table, function: Callable[[pa.Table], pa.Table]) -> pa.Table:
    starts = range(0, len(table), _SLICE)
    return pa.concat_tables(
        function(table.slice(start, _SLICE).combine_chunks()) for start in starts
    )


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """The single chunk of a column inside a slice."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _note_malformed_lines(raw: Raw, ledger: _Ledger) -> None:
    for reason in sorted(set(raw.repairs.values())):
        lines = [row for row, why in raw.repairs.items() if why == reason]
        ledger.repairs[reason] = np.isin(raw.rows, lines)


def _cleaned(
    table: pa.Table, *, columns: Mapping[str, str], config: CatalogConfig, ledger: _Ledger
) -> pa.Table:
    """Our columns of a slice as clean strings (a numeric price stays one), categories complete."""
    fields: dict[str, pa.Array] = {}
    for ours, theirs in columns.items():
        column = _whole(table[theirs])
        if ours == "price" and (
            pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        ):
            fields[ours] = pc.if_else(pc.is_nan(column.cast(pa.float64())), None, column)
            empty, named = fields[ours].null_count, 0
        else:
            found = clean(column, config.null_values, markup=ours in _PROSE)
            fields[ours], empty, named = found.values, found.empty, found.named_null
        ledger.empty[ours] = ledger.empty.get(ours, 0) + empty
        ledger.null_strings[ours] = ledger.null_strings.get(ours, 0) + named
    fields |= derive.categories(fields, len(table))
    fields["description"] = derive.descriptions(fields, len(table))
    for name in ("title", "brand", "gender", "product_id"):
        fields.setdefault(name, pa.nulls(len(table), pa.string()))
    fields["gender"] = derive.genders(fields["gender"])
    fields["made_title"] = derive.made_titles(fields, len(table))
    return pa.table(fields)


def _numbers(fields: pa.Table, currency: str | None, ledger: _Ledger) -> pa.Table:
    """Price and year as numbers; what cannot be understood becomes null and is a repair."""
    if "price" in fields.column_names:
        found = prices(_whole(fields["price"]), currency)
        ledger.currency = found.currency
        ledger.repairs["price not understood, left empty"] = found.bad
        fields = _replaced(fields, "price", found.values)
    if "year" in fields.column_names:
        numbers, bad = derive.years(_whole(fields["year"]))
        ledger.repairs["year not understood, left empty"] = bad.to_numpy(zero_copy_only=False)
        fields = _replaced(fields, "year", numbers)
    return fields


def _replaced(table: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    if name not in table.column_names:
        return table.append_column(name, column)
    return table.set_column(table.column_names.index(name), name, column)


def _identified(fields: pa.Table, raw: Raw, config: CatalogConfig, ledger: _Ledger) -> pa.Table:
    """Every row with an id and a title, or marked for quarantine."""
    titles = pc.coalesce(fields["title"], fields["made_title"])
    ledger.filled["title"] = fields["title"].null_count - titles.null_count
    untitled = pc.is_null(titles).to_numpy()
    ledger.quarantine["no title, and no article type to make one of"] = untitled
    ids = _whole(fields["product_id"])
    made = pa.array([f"row-{row}" for row in raw.rows.tolist()], pa.string())
    if ids.null_count == len(ids):
        ledger.notes.append("No column gives product ids; they were made from the rows' positions.")
    else:
        unnamed = pc.is_null(ids).to_numpy(zero_copy_only=False)
        ledger.repairs["id made from the row's position"] = unnamed
    ids = pc.coalesce(ids, made)
    ledger.quarantine["id of an earlier row"] = _repeats(ids, config) & ~untitled
    return _replaced(_replaced(fields, "title", titles), "product_id", ids)


def _repeats(ids: pa.Array, config: CatalogConfig) -> Mask:
    """Which rows bear the id of an earlier one; CatalogError where that must not pass."""
    codes = ids.dictionary_encode().indices.to_numpy()
    _, first = np.unique(codes, return_index=True)
    repeats = np.ones(len(codes), dtype=bool)
    repeats[first] = False
    count = int(repeats.sum())
    if count > _MANY_REPEATS * len(ids):
        raise CatalogError(
            f"{count:,} of {len(ids):,} rows bear the id of an earlier row: this column does not "
            "name products.",
            given=ids[int(np.flatnonzero(repeats)[0])].as_py(),
            fix='Map product_id to a column of distinct values, or to "" to number the rows.',
        )
    if count and config.duplicate_ids == "error":
        examples = pc.unique(ids.filter(pa.array(repeats)))[:3].to_pylist()
        raise CatalogError(
            f"{count:,} rows bear the product id of an earlier row.",
            given=", ".join(examples),
            fix="Make the ids distinct, map product_id to another column, or keep the first row of "
            "each id and set the others aside: --set catalog.duplicate_ids=quarantine.",
        )
    return repeats


def _require_labels(fields: pa.Table, kept: Mask, columns: Mapping[str, str]) -> None:
    if not kept.any():
        raise CatalogError(
            "No product has a title.",
            given=columns.get("title", "no column was taken for the title"),
            fix="Map it, for example --map title=name.",
        )
    if fields["article_type"].null_count == len(fields):
        raise CatalogError(
            "No product has an article type, and the hierarchy is measured against it.",
            given=columns.get("article_type", "no column was taken for it"),
            fix="Map article_type (or category, which may be a path) to the column that says what "
            "kind of garment a product is, for example --map article_type=product_type.",
        )


def _completed(
    fields: pa.Table, columns: Mapping[str, str], config: CatalogConfig, ledger: _Ledger
) -> pa.Table:
    """The CATALOG table: what is missing filled where it follows, attributes, price tiers."""
    size = len(fields)
    stated = _whole(fields["brand"])
    inferred = infer_brands(_whole(fields["title"]), stated) if config.infer_brand else None
    if inferred is not None:
        ledger.filled["brand"] = size - inferred.null_count
        fields = _replaced(fields, "brand", pc.coalesce(stated, inferred))
    given = inferred.is_valid() if inferred is not None else pa.repeat(False, size)
    fields = _replaced(fields, "brand_inferred", given)
    fields = _in_slices(fields, partial(_with_ages_and_lists, columns=columns, config=config))
    if config.infer_age:
        before = fields["stated_age"].null_count
        ledger.filled["age_group"] = before - fields["age_group"].null_count
    if "price" in fields.column_names:
        ledger.thresholds = tier_thresholds(fields["price"], ledger.currency, config)
        tiers = price_tiers(fields["price"], ledger.thresholds)
        fields = _replaced(fields, "price_tier", tiers)
    return _conforming(fields)


def _with_ages_and_lists(
    fields: pa.Table, *, columns: Mapping[str, str], config: CatalogConfig
) -> pa.Table:
    size = len(fields)
    blank = pa.nulls(size, pa.string())
    title, description, brand = (_whole(fields[n]) for n in ("title", "description", "brand"))
    usage = _whole(fields["usage"]) if "usage" in fields.column_names else blank
    given = {n: _whole(fields[n]) for n in (*LISTS, "attributes") if n in columns}
    for name, lists in attribute_lists(given, title, description, brand, usage).items():
        fields = _replaced(fields, name, lists)
    stated = _whole(fields["age_group"]) if "age_group" in columns else blank
    gender = _whole(fields["gender"])
    ages = derive.age_groups(
        stated, title if config.infer_age else blank, gender if config.infer_age else blank
    )
    return _replaced(_replaced(fields, "stated_age", stated), "age_group", ages)


def _conforming(fields: pa.Table) -> pa.Table:
    """Exactly the columns and types of CATALOG."""
    size = len(fields)
    return pa.table(
        [
            fields[item.name].cast(item.type)
            if item.name in fields.column_names
            else pa.chunked_array([pa.nulls(size, item.type)])
            for item in schema.catalog_schema()
        ],
        schema=schema.catalog_schema(),
    )


def _quarantined(raw: Raw, ledger: _Ledger) -> pa.Table:
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


def _report(
    source: str,
    raw: Raw,
    columns: Mapping[str, str],
    ledger: _Ledger,
    table: pa.Table,
    kept: Mask,
) -> CatalogReport:
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
