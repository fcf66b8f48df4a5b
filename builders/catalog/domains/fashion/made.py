"""A synthetic catalog of Myntra's shape, with realistic faults and a planted hierarchy.

In:  a number of products, a seed, a :class:`SyntheticConfig`.
Out: rows as a source would hold them, or a read catalog, or Parquet files written piece by piece.

Deterministic from the seed. The planted hierarchy (group / article type / article type × colour
family × gender) is the truth that later stages can be checked against. All brands are invented.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fashion_rq_bench.builders.catalog.config import CatalogConfig
from fashion_rq_bench.builders.catalog.domains.fashion.config import SyntheticConfig
from fashion_rq_bench.builders.catalog.domains.fashion.draw import CHANCES, Draw
from fashion_rq_bench.builders.catalog.domains.fashion.plan import plan
from fashion_rq_bench.builders.catalog.domains.fashion.rows import product_rows
from fashion_rq_bench.builders.catalog.domains.fashion.words import words
from fashion_rq_bench.builders.catalog.files.raw import Raw
from fashion_rq_bench.builders.catalog.reader import CatalogResult, to_catalog
from fashion_rq_bench.errors import CatalogError
from fashion_rq_bench.support.files import atomic_path

__all__ = [
    "MAX_ROWS",
    "MIN_ROWS",
    "synthetic",
    "synthetic_chunks",
    "synthetic_raw",
    "write_synthetic",
]

MIN_ROWS, MAX_ROWS = 500, 10_000_000
_CHUNK = 65_536
_FIRST_ID = 10_001

Mask = npt.NDArray[np.bool_]


def synthetic(rows: int, seed: int = 0, config: SyntheticConfig | None = None) -> CatalogResult:
    """A read synthetic catalog with its planted hierarchy.

    Args:
        rows: number of products, 500 to 10 million.
        seed: the same seed, rows and config give the same catalog.
        config: consistency of the planted groups and rates of faults.

    Raises:
        CatalogError: if ``rows`` is out of range.
    """
    raw = synthetic_raw(rows, seed, config or SyntheticConfig())
    return to_catalog(raw, CatalogConfig(seed=seed), f"synthetic:{rows}?seed={seed}")


def synthetic_raw(rows: int, seed: int, config: SyntheticConfig) -> Raw:
    """Rows as a source would hold them, faults included; prices in INR."""
    chunks = list(synthetic_chunks(rows, seed, config))
    return Raw(
        pa.concat_tables(products for products, _ in chunks),
        np.arange(1, rows + 1),
        currency="INR",
        planted=pa.concat_tables(planted for _, planted in chunks),
    )


def write_synthetic(rows: int, seed: int, out: Path, config: SyntheticConfig | None = None) -> None:
    """Write unread products to ``out`` and the planted hierarchy beside it (``STEM-planted``).

    Memory does not grow with ``rows``. Read the file with ``read_catalog(out)``.
    """
    beside = out.with_name(f"{out.stem}-planted.parquet")
    with atomic_path(out) as products_path, atomic_path(beside) as planted_path:
        writers: list[pq.ParquetWriter] = []
        try:
            for tables in synthetic_chunks(rows, seed, config or SyntheticConfig()):
                if not writers:
                    writers = [
                        pq.ParquetWriter(path, table.schema, compression="zstd")
                        for path, table in zip((products_path, planted_path), tables, strict=True)
                    ]
                for writer, table in zip(writers, tables, strict=True):
                    writer.write_table(table)
        finally:
            for writer in writers:
                writer.close()


def synthetic_chunks(
    rows: int, seed: int, config: SyntheticConfig
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Products and their planted labels, up to 65,536 at a time.

    Raises:
        CatalogError: if ``rows`` is out of range.
    """
    if not MIN_ROWS <= rows <= MAX_ROWS:
        raise CatalogError(
            f"A synthetic catalog has {MIN_ROWS:,} to {MAX_ROWS:,} products.", given=rows
        )
    for number, start in enumerate(range(0, rows, _CHUNK)):
        rng = np.random.default_rng(np.random.SeedSequence([seed, number]))
        yield _chunk(start, min(_CHUNK, rows - start), seed, rng, config)


def _chunk(
    start: int, size: int, seed: int, rng: np.random.Generator, config: SyntheticConfig
) -> tuple[pa.Table, pa.Table]:
    found = plan(seed)
    leaf = rng.choice(len(found.share), size=size, p=found.share)
    chance = rng.random((size, len(CHANCES)))
    _repeat_some(leaf, chance, rng, config.near_duplicates)
    columns = product_rows(Draw(found, leaf, chance, config.consistency))
    ids = pa.array(range(_FIRST_ID + start, _FIRST_ID + start + size)).cast(pa.string())
    products = pa.table({"id": ids, **_with_faults(columns, rng, config)})
    levels = [pa.array(names).take(pa.array(leaf)) for names in found.labels(words())]
    planted = pa.table([ids, *levels], names=["product_id", "level_1", "level_2", "level_3"])
    return products, planted


def _repeat_some(
    leaf: npt.NDArray[np.int64],
    chance: npt.NDArray[np.float64],
    rng: np.random.Generator,
    rate: float,
) -> None:
    """Turn some products into near-duplicates of an earlier one, in place."""
    copies = np.flatnonzero(rng.random(len(leaf)) < rate)
    copies = copies[copies > 0]
    originals = (rng.random(len(copies)) * copies).astype(np.int64)
    recoloured = rng.random(len(copies)) < 0.5
    own = {name: chance[copies, CHANCES.index(name)].copy() for name in ("price", "year", "colour")}
    # In order, so that a copy of a copy is one too.
    for copy, original in zip(copies.tolist(), originals.tolist(), strict=True):
        leaf[copy] = leaf[original]
        chance[copy] = chance[original]
    for name in ("price", "year"):
        chance[copies, CHANCES.index(name)] = own[name]
    chance[copies[recoloured], CHANCES.index("colour")] = own["colour"][recoloured]


def _with_faults(
    columns: dict[str, pa.Array], rng: np.random.Generator, config: SyntheticConfig
) -> dict[str, pa.Array]:
    """The same products as a real source would hold them."""
    size = len(columns["gender"])

    def hit(rate: float) -> Mask:
        found: Mask = rng.random(size) < rate
        return found

    for name in ("brandName", "price", "ageGroup", "season", "description"):
        columns[name] = pc.if_else(pa.array(hit(config.missing)), None, columns[name])
    for name in ("baseColour", "usage"):
        columns[name] = pc.if_else(pa.array(hit(config.na)), "NA", columns[name])
    unknown = pc.replace_substring_regex(
        columns["articleAttributes"], r'"Pattern": "[^"]*"', '"Pattern": "NA"'
    )
    attributes = pc.if_else(pa.array(hit(config.na)), unknown, columns["articleAttributes"])
    columns["articleAttributes"] = pc.if_else(pa.array(hit(config.no_attributes)), None, attributes)
    columns["description"] = _garbled(columns["description"], hit(config.entities), rng)
    return columns


def _garbled(text: pa.Array, where: Mask, rng: np.random.Generator) -> pa.Array:
    """Apostrophes, "and"s and commas of some texts as entities, whole or broken."""
    which = rng.integers(4, size=len(text))
    for variant in range(4):
        mask = pa.array(where & (which == variant))
        spoilt = text.filter(mask)
        for plain, entities in words().faults.items():
            spoilt = pc.replace_substring(spoilt, plain, entities[variant % len(entities)])
        text = pc.replace_with_mask(text, mask, spoilt)
    return text
