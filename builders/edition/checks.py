"""The last look at an edition's tables before anything is written.

In:  the eight tables of an edition.
Out: nothing, or BuildError with every kind of fault found, how often, and where first.

What each stage promises of its own output is checked there; here stand the promises between
tables (paper, section 4: pools are drawn from the catalog, every query has an Exact product) and
those of ``schema.py``: exact types, no nulls, no empty strings, no empty pools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fashion_rq_bench.errors import BuildError
from fashion_rq_bench.schema.domain import per_domain
from fashion_rq_bench.schema.grades import Grade
from fashion_rq_bench.schema.tables import (
    CONFIGS,
    TASK_CONFIGS,
    catalog_schema,
    intent_type,
    schema_of,
)

__all__ = ["check_tables"]

Tables = Mapping[str, pa.Table]

_KEYS = {
    "ranking": ["query_id"],
    "classification": ["query_id", "product_id"],
    "sibling": ["query_id"],
    "paraphrase": ["group_id"],
    "corpus": ["product_id"],
    "queries": ["query_id"],
    "strings": ["string"],
}
_FILLED = {"prefix", "semantic_id", "candidates", "queries", "intents"}
"""Lists that must have an element."""

_SHOWN = 5


@per_domain
def _nullable() -> Mapping[str, set[str]]:
    """Paths that may be null; inside ``evidence`` every value may."""
    unexpressed = {f"intents[].{field.name}" for field in intent_type()}
    corpus = {name for name in catalog_schema().names if name != "product_id"}
    return {"ranking": unexpressed, "queries": unexpressed, "corpus": corpus}


def check_tables(tables: Tables) -> None:
    """Check everything that an edition's readers rely on.

    Args:
        tables: config to table; all of ``schema.CONFIGS`` and no other.

    Raises:
        BuildError: listing the faults found.
    """
    faults: list[str] = []
    for look in (_config_faults, _content_faults, _relation_faults):
        faults = faults or list(look(tables))  # a later look relies on what an earlier one found
    if faults:
        more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise BuildError(
            f"The edition was not written, since its tables are faulty: "
            f"{'; '.join(faults[:_SHOWN])}{more}.",
            fix="This is a fault of the build, not of the catalog: please report it with the "
            "configuration that was used.",
        )


def _config_faults(tables: Tables) -> Iterator[str]:
    """Absent and unknown configs, wrong types, tables without rows."""
    for config in sorted({*CONFIGS} ^ {*tables}):
        yield f"config {config!r} is {'absent' if config in CONFIGS else 'unknown'}"
    for config in CONFIGS:
        if config in tables:
            yield from _type_faults(config, tables[config])


def _type_faults(config: str, table: pa.Table) -> Iterator[str]:
    if not table.num_rows:
        yield f"{config} has no rows"
    expected = schema_of(config, _dim(table) if config == "strings" else 1)
    if table.column_names != expected.names:
        yield f"{config} has the columns {table.column_names}, not {expected.names}"
        return
    for field in expected:
        given = table.schema.field(field.name).type
        if given != field.type:
            yield f"{config}.{field.name} is {given}, not {field.type}"


def _dim(strings: pa.Table) -> int:
    kind = strings.schema.field("vector").type if "vector" in strings.column_names else None
    return int(kind.list_size) if kind is not None and pa.types.is_fixed_size_list(kind) else 1


def _content_faults(tables: Tables) -> Iterator[str]:
    for config in CONFIGS:
        counts: Counter[str] = Counter()
        for name in tables[config].column_names:
            for chunk in tables[config][name].chunks:
                for fault, count in _value_faults(config, name, chunk):
                    counts[fault] += count
        yield from (f"{fault} {count} times" for fault, count in counts.items() if count)


def _relation_faults(tables: Tables) -> Iterator[str]:
    yield from _key_faults(tables)
    yield from _reference_faults(tables)
    yield from _pool_faults(tables)
    yield from _label_faults(tables["classification"])


def _array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _value_faults(config: str, path: str, array: pa.Array) -> Iterator[tuple[str, int]]:
    """Nulls, empty strings and empty lists, down to the leaves, with their numbers."""
    if path not in _nullable().get(config, ()) and not path.startswith("evidence."):
        yield f"{config}.{path} is null", array.null_count
    kind = array.type
    if pa.types.is_struct(kind):
        for field, child in zip(kind, array.flatten(), strict=True):
            # a struct's nulls reach its children: they are counted once, above
            present = child.filter(array.is_valid()) if array.null_count else child
            yield from _value_faults(config, f"{path}.{field.name}", present)
    elif pa.types.is_list(kind):
        if path in _FILLED:
            empty = pc.equal(pc.list_value_length(array), 0)
            yield f"{config}.{path} is an empty list", _count(empty)
        yield from _value_faults(config, f"{path}[]", array.flatten())
    elif pa.types.is_string(kind):
        yield f"{config}.{path} is an empty string", _count(pc.equal(array, ""))


def _count(mask: pa.Array) -> int:
    return int(pc.sum(mask).as_py() or 0)


def _key_faults(tables: Tables) -> Iterator[str]:
    """Rows of equal key, and product ids that are also query ids (retrieval tools drop those)."""
    for config, key in _KEYS.items():
        twice = tables[config].num_rows - tables[config].group_by(key).aggregate([]).num_rows
        if twice:
            yield f"{config} has {twice} rows whose {' and '.join(key)} occurred before"
    products, queries = tables["corpus"]["product_id"], tables["queries"]["query_id"]
    shared = queries.filter(pc.is_in(queries, value_set=products))
    if len(shared):
        yield f"{len(shared)} ids name a query and a product, such as {shared[0].as_py()!r}"


def _reference_faults(tables: Tables) -> Iterator[str]:
    """Product and query ids that the corpus and the queries do not have."""
    products, queries = tables["corpus"]["product_id"], tables["queries"]["query_id"]
    for path, ids in _references(tables, "product_id"):
        yield from _dangling(path, ids, products, "corpus")
    for path, ids in _references(tables, "query_id"):
        yield from _dangling(path, ids, queries, "queries")


def _references(tables: Tables, name: str) -> Iterator[tuple[str, pa.Array]]:
    """Every column of the task configs that holds ids of this name, also inside lists."""
    for config in TASK_CONFIGS:
        for field in tables[config].schema:
            column = _array(tables[config][field.name])
            if field.name == name:
                yield f"{config}.{name}", column
            elif _has(field.type, name):
                yield f"{config}.{field.name}.{name}", column.flatten().field(name)


def _has(kind: pa.DataType, name: str) -> bool:
    structs = pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)
    return bool(structs and kind.value_type.get_field_index(name) >= 0)


def _dangling(path: str, ids: pa.Array, known: pa.ChunkedArray, home: str) -> Iterator[str]:
    unknown = ids.filter(pc.invert(pc.is_in(ids, value_set=known)))
    if len(unknown):
        yield f"{path} names {len(unknown)} ids absent from {home}, such as {unknown[0].as_py()!r}"


def _pool_faults(tables: Tables) -> Iterator[str]:
    """Products that stand twice in a pool, pools without their Exact product or target."""
    for config in ("ranking", "sibling", "paraphrase"):
        column = _array(tables[config]["candidates"])
        pool = pc.list_parent_indices(column).to_numpy()
        candidates = column.flatten()
        pairs = pa.table({"pool": pool, "id": candidates.field("product_id")})
        twice = len(pool) - pairs.group_by(["pool", "id"]).aggregate([]).num_rows
        if twice:
            yield f"{config} has {twice} products that stand twice in a pool"
        if config == "sibling":
            yield from _target_faults(pool, candidates, len(column))
        else:
            yield from _grade_faults(config, pool, candidates, len(column))


def _target_faults(pool: NDArray[Any], candidates: pa.Array, pools: int) -> Iterator[str]:
    target = candidates.field("target").to_numpy(zero_copy_only=False)
    wrong = int(np.sum(np.bincount(pool[target], minlength=pools) != 1))
    if wrong:
        yield f"sibling has {wrong} pools without exactly one target"


def _grade_faults(
    config: str, pool: NDArray[Any], candidates: pa.Array, pools: int
) -> Iterator[str]:
    grades = candidates.field("grade").to_numpy()
    strange = int(np.sum((grades < Grade.IRRELEVANT) | (grades > Grade.EXACT)))
    if strange:
        yield f"{config} has {strange} grades outside 0 to 3"
    without = int(np.sum(np.bincount(pool[grades == Grade.EXACT], minlength=pools) == 0))
    if without:
        yield f"{config} has {without} pools without an Exact product"
    if candidates.type.get_field_index("match") >= 0:
        yield from _match_faults(config, candidates.field("match").to_numpy())


def _label_faults(classification: pa.Table) -> Iterator[str]:
    labels = classification["label"].to_numpy()
    strange = int(np.sum((labels < Grade.IRRELEVANT) | (labels > Grade.EXACT)))
    if strange:
        yield f"classification has {strange} labels outside 0 to 3"
    yield from _match_faults("classification", classification["match"].to_numpy())


def _match_faults(config: str, match: NDArray[Any]) -> Iterator[str]:
    """A match is in [0, 1], or NaN for a query without attributes."""
    outside = int(np.sum(~(np.isnan(match) | ((match >= 0) & (match <= 1)))))
    if outside:
        yield f"{config} has {outside} matches outside [0, 1]"
