"""Files, written whole or not at all, and hashes of content.

In:  Arrow tables, JSON-able objects, paths.
Out: files that appear only when complete (temporary file, fsync, rename), with the same bytes for
     the same content; SHA-256 digests.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = [
    "atomic_path",
    "digest",
    "file_sha256",
    "read_json",
    "read_parquet",
    "to_json",
    "write_json",
    "write_parquet",
    "write_text",
]

_ROW_GROUP = 16_384


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; on success fsync it and rename it to ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a table with fixed settings, so that equal tables give equal bytes."""
    with atomic_path(path) as temporary:
        pq.write_table(
            table.replace_schema_metadata(None).combine_chunks(),
            temporary,
            compression="zstd",
            row_group_size=_ROW_GROUP,
        )


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read one Parquet file as written by :func:`write_parquet`."""
    return pq.ParquetFile(path).read(columns=columns)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value.item() if hasattr(value, "item") and not hasattr(value, "__len__") else value


def to_json(value: Any, *, indent: int | None = 2) -> str:
    """Strict JSON: sorted keys, non-finite numbers as null, numpy scalars as numbers."""
    return json.dumps(
        _finite(value), indent=indent, sort_keys=True, ensure_ascii=False, allow_nan=False
    )


def write_text(text: str, path: Path) -> None:
    """Write UTF-8 text atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(value: Any, path: Path) -> None:
    """Write :func:`to_json` atomically, with a final newline."""
    write_text(to_json(value) + "\n", path)


def read_json(path: Path) -> Any:
    """Read UTF-8 JSON."""
    return json.loads(path.read_text(encoding="utf-8"))


def digest(*parts: str | bytes) -> str:
    """SHA-256 (hex) over length-prefixed parts, so that no two lists of parts collide."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8") if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 (hex) of a file's bytes, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
