"""Which reader a source string calls for.

In:  a path, ``synthetic:ROWS``, a Hub name, or a Dataset.
Out: :class:`Raw` rows, or CatalogError naming what was looked for.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from fashion_rq_bench.builders.catalog.config import CatalogConfig
from fashion_rq_bench.builders.catalog.domains.fashion.made import MAX_ROWS, MIN_ROWS, synthetic_raw
from fashion_rq_bench.builders.catalog.files.delimited import read_delimited
from fashion_rq_bench.builders.catalog.files.kaggle import read_kaggle
from fashion_rq_bench.builders.catalog.files.raw import Raw
from fashion_rq_bench.builders.catalog.files.tables import (
    read_dataset,
    read_hub,
    read_json,
    read_json_lines,
    read_parquet_files,
)
from fashion_rq_bench.errors import CatalogError

if TYPE_CHECKING:
    import datasets

__all__ = ["load"]

_SYNTHETIC = "synthetic:"
_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json")
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


def load(source: str | Path | datasets.Dataset, config: CatalogConfig) -> tuple[Raw, str]:
    """Rows of a source and its name for reports.

    Raises:
        CatalogError: if nothing of that name can be read.
    """
    if not isinstance(source, str | Path):
        return read_dataset(source), "a datasets.Dataset"
    text = str(source)
    if text.startswith(_SYNTHETIC):
        rows, seed = _synthetic_request(text, config.seed)
        return synthetic_raw(rows, seed, config.synthetic), f"{_SYNTHETIC}{rows}?seed={seed}"
    path = Path(source)
    if path.is_dir():
        return _load_folder(path, config), path.name
    if path.is_file():
        return _load_file(path, config), path.name
    name, _, query = text.partition("?")
    if path.suffix.casefold() in _SUFFIXES or not _HUB_NAME.fullmatch(name):
        raise CatalogError(
            "There is no such catalog file or folder.",
            given=text,
            fix="Check the path; relative ones start from the current folder.",
        )
    return read_hub(name, dict(parse_qsl(query))), text


def _load_file(path: Path, config: CatalogConfig) -> Raw:
    match path.suffix.casefold():
        case ".csv" | ".tsv" | ".txt":
            return read_delimited(path, config)
        case ".parquet":
            return read_parquet_files(path)
        case ".jsonl" | ".ndjson":
            return read_json_lines(path, config.encoding)
        case ".json":
            return read_json(path, config.encoding)
    raise CatalogError(
        "A catalog file of this kind cannot be read.", given=path.name, allowed=_SUFFIXES
    )


def _load_folder(path: Path, config: CatalogConfig) -> Raw:
    if (path / "styles.csv").is_file():
        return read_kaggle(path, config)
    if any((path / name).is_file() for name in ("state.json", "dataset_dict.json")):
        return read_hub(str(path), {})
    if any(path.rglob("*.parquet")):
        return read_parquet_files(path)
    raise CatalogError(
        "This folder holds no catalog.",
        given=str(path),
        fix="Expected styles.csv (the Kaggle archive), a dataset saved by datasets, or Parquet "
        "files; for any other file give its own path.",
    )


def _synthetic_request(text: str, seed: int) -> tuple[int, int]:
    """Rows and seed of ``synthetic:ROWS`` or ``synthetic:ROWS?seed=SEED``."""
    found = re.fullmatch(r"synthetic:([\d_]+)(?:\?seed=(\d+))?", text)
    rows = int(found[1]) if found else 0
    if not found or not MIN_ROWS <= rows <= MAX_ROWS:
        raise CatalogError(
            f"A synthetic catalog has {MIN_ROWS:,} to {MAX_ROWS:,} products.",
            given=text,
            fix="Write synthetic:3000 or synthetic:3000?seed=7.",
        )
    return rows, int(found[2]) if found[2] is not None else seed
