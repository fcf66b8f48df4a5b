"""A source's rows as a catalog.

In:  :class:`Raw` rows and a :class:`CatalogConfig`.
Out: :class:`CatalogResult`: the CATALOG table, its report, the rows set aside.

Every input row ends as read, repaired (and how) or quarantined (and why).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.catalog.account import Ledger, Mask, quarantined, report_of
from fashion_rq_bench.builders.catalog.columns import resolve_columns
from fashion_rq_bench.builders.catalog.config import CatalogConfig
from fashion_rq_bench.builders.catalog.files.raw import Raw
from fashion_rq_bench.builders.catalog.report import CatalogReport
from fashion_rq_bench.builders.catalog.values import derive
from fashion_rq_bench.builders.catalog.values.attributes import attribute_lists, found_values
from fashion_rq_bench.builders.catalog.values.brands import infer_brands
from fashion_rq_bench.builders.catalog.values.cleaning import clean
from fashion_rq_bench.builders.catalog.values.price import price_tiers, prices, tier_thresholds
from fashion_rq_bench.errors import CatalogError
from fashion_rq_bench.schema import tables as schema
from fashion_rq_bench.schema.domain import domain

__all__ = ["CatalogResult", "to_catalog"]

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
    ledger = Ledger(notes=list(raw.notes))
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
    report = report_of(source, raw, columns, ledger, table, kept)
    planted = None if raw.planted is None else raw.planted.filter(pa.array(kept))
    return CatalogResult(table, report, quarantined(raw, ledger), planted)


def _in_slices(table: pa.Table, function: Callable[[pa.Table], pa.Table]) -> pa.Table:
    starts = range(0, len(table), _SLICE)
    return pa.concat_tables(
        function(table.slice(start, _SLICE).combine_chunks()) for start in starts
    )


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """The single chunk of a column inside a slice."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _note_malformed_lines(raw: Raw, ledger: Ledger) -> None:
    for reason in sorted(set(raw.repairs.values())):
        lines = [row for row, why in raw.repairs.items() if why == reason]
        ledger.repairs[reason] = np.isin(raw.rows, lines)


def _cleaned(
    table: pa.Table, *, columns: Mapping[str, str], config: CatalogConfig, ledger: Ledger
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
    for name in ("title", "brand", "product_id"):
        fields.setdefault(name, pa.nulls(len(table), pa.string()))
    for name in fields.keys() & domain().table("letters").keys():
        fields[name] = derive.spelled_out(name, fields[name])
    fields["made_title"] = derive.made_titles(fields, len(table))
    return pa.table(fields)


def _numbers(fields: pa.Table, currency: str | None, ledger: Ledger) -> pa.Table:
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


def _identified(fields: pa.Table, raw: Raw, config: CatalogConfig, ledger: Ledger) -> pa.Table:
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
    fields: pa.Table, columns: Mapping[str, str], config: CatalogConfig, ledger: Ledger
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
    fields = _in_slices(fields, partial(_with_attributes, columns=columns, config=config))
    age = domain().role("age")
    if config.infer_age and age:
        before = fields["stated_age"].null_count
        ledger.filled[age.column] = before - fields[age.column].null_count
    if "price" in fields.column_names:
        ledger.thresholds = tier_thresholds(fields["price"], ledger.currency, config)
        tiers = price_tiers(fields["price"], ledger.thresholds)
        fields = _replaced(fields, "price_tier", tiers)
    return _conforming(fields)


def _with_attributes(
    fields: pa.Table, *, columns: Mapping[str, str], config: CatalogConfig
) -> pa.Table:
    """What follows of the attributes: their lists, words found in titles, ages."""
    texts = [_whole(fields[name]) for name in ("title", "description", "brand")]
    plain = (name for one in domain().attributes for name in one.columns)
    names = {*domain().lists, *plain, "attributes"} - {*domain().numbers}
    given = {name: _whole(fields[name]) for name in names if name in columns}
    made = {**attribute_lists(given, *texts), **found_values(given, *texts)}
    for name, values in made.items():
        fields = _replaced(fields, name, values)
    return _with_ages(fields, given, texts[0], config)


def _with_ages(
    fields: pa.Table, given: Mapping[str, pa.Array], title: pa.Array, config: CatalogConfig
) -> pa.Table:
    age, person = domain().role("age"), domain().role("person")
    if age is None:
        return fields
    blank = pa.nulls(len(fields), pa.string())
    stated = given.get(age.column, blank)
    known = given.get(person.column, blank) if person else blank
    told = (title, known) if config.infer_age else (blank, blank)
    ages = derive.age_groups(stated, *told, age.terms or age.name)
    return _replaced(_replaced(fields, "stated_age", stated), age.column, ages)


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
