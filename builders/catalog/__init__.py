"""The catalog stage: any product catalog in, one table and an account of every row out.

In:  the Kaggle archive, a CSV, TSV, Parquet or JSON file, a ``datasets`` dataset, or
     ``synthetic:ROWS``; and a :class:`CatalogConfig` with a column map where names differ.
Out: :class:`CatalogResult`: the CATALOG table, a :class:`CatalogReport`, the rows set aside.

The source catalog of the paper's section 4, generalised to any catalog.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fashion_rq_bench.builders.catalog.config import CatalogConfig
from fashion_rq_bench.builders.catalog.domains.fashion.config import SyntheticConfig
from fashion_rq_bench.builders.catalog.domains.fashion.made import synthetic, write_synthetic
from fashion_rq_bench.builders.catalog.files.images import check_images
from fashion_rq_bench.builders.catalog.reader import CatalogResult, to_catalog
from fashion_rq_bench.builders.catalog.report import CatalogReport
from fashion_rq_bench.builders.catalog.source import load
from fashion_rq_bench.builders.catalog.text import TextConfig, product_text
from fashion_rq_bench.builders.catalog.values.price import parse_price
from fashion_rq_bench.support.files import write_json, write_parquet

if TYPE_CHECKING:
    import datasets

__all__ = [
    "CatalogConfig",
    "CatalogReport",
    "CatalogResult",
    "SyntheticConfig",
    "TextConfig",
    "check_images",
    "parse_price",
    "product_text",
    "read_catalog",
    "synthetic",
    "write_catalog",
    "write_synthetic",
]


def read_catalog(
    source: str | Path | datasets.Dataset, config: CatalogConfig | None = None
) -> CatalogResult:
    """Read a catalog.

    Args:
        source: folder of the Kaggle archive; CSV, TSV, Parquet, JSON Lines or JSON file; folder of
            Parquet files or of ``Dataset.save_to_disk``; a Hub name ("org/name?split=train"); a
            Dataset; or "synthetic:3000?seed=7".
        config: column map and policies.

    Returns:
        Products in the source's order, with an account of every row.

    Raises:
        CatalogError: if the source, its columns or its values cannot be used.
    """
    config = config or CatalogConfig()
    raw, name = load(source, config)
    return to_catalog(raw, config, name)


def write_catalog(result: CatalogResult, out: Path) -> None:
    """Write ``catalog.parquet``, ``catalog_report.json``, ``quarantined.parquet`` and, for a
    synthetic catalog, ``planted.parquet``; each appears whole or not at all.
    """
    write_parquet(result.table, out / "catalog.parquet")
    write_parquet(result.quarantined, out / "quarantined.parquet")
    if result.planted is not None:
        write_parquet(result.planted, out / "planted.parquet")
    write_json(result.report.to_dict(), out / "catalog_report.json")
