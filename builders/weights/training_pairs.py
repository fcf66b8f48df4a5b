"""Pairs to train a cross-encoder on: their table, their texts, their parts (paper 8.0.5).

In:  a Parquet file of one's own logs, or pairs that ``esci`` read or ``synthetic`` drew.
Out: ``PAIRS``; the same split into training and validation; the counts that section 8.0.5 gives.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fashion_rq_bench.errors import ConfigError, InputError

__all__ = ["PAIRS", "count_pairs_table", "product_lines", "read_pairs", "split_by_query"]

PAIRS = pa.schema(
    [
        ("source", pa.string()),
        ("split", pa.string()),
        ("query_id", pa.string()),
        ("query", pa.string()),
        ("product_id", pa.string()),
        ("text", pa.string()),
        ("label", pa.string()),
        ("relevant", pa.int8()),
        ("gain", pa.float64()),
    ]
)
"""Pairs to train a cross-encoder on, of ESCI or of anyone's own logs. ``label`` may be null."""


def read_pairs(path: Path) -> pa.Table:
    """Pairs of one's own logs as ``PAIRS``: a Parquet file with ``query``, ``text``, ``relevant``.

    Other columns of ``PAIRS`` are taken where they are there, and are null (``source``: the file's
    name) where not.

    Raises:
        InputError: if the file is no Parquet, a column is absent or of another type, a query or
            text is null, or relevant is not 0 or 1.
    """
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError("These pairs cannot be read as Parquet.", given=str(path)) from error
    for name in ("query", "text", "relevant"):
        if name not in table.column_names:
            raise InputError(f"{path.name} lacks the column {name!r}.", given=table.column_names)
    n = len(table)
    columns = {
        one.name: table[one.name] if one.name in table.column_names else pa.nulls(n, one.type)
        for one in PAIRS
    }
    if "source" not in table.column_names:
        columns["source"] = pa.array([path.stem] * n, pa.string())
    try:
        pairs = pa.table(columns).cast(PAIRS).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(f"A column of {path.name} has another type: {error}.") from error
    if pairs["query"].null_count or pairs["text"].null_count:
        raise InputError(f"A query or a text of {path.name} is null.")
    if not n or not pc.all(pc.is_in(pairs["relevant"], pa.array([0, 1], pa.int8()))).as_py():
        raise InputError(f"{path.name} needs pairs, and relevant must be 0 or 1 in each.", given=n)
    return pairs


def product_lines(*columns: Sequence[str | list[str] | None]) -> list[str]:
    """The text of every product that a cross-encoder reads: parts joined by bars (paper 8.0.5).

    Args:
        columns: the parts, each of N strings, lists or None: the title, the domain's columns "line"
            (in fashion the paper's brand, gender, colour and materials), the description. What is
            missing is left out.
    """
    rows = (map(_part, row) for row in zip(*columns, strict=True))
    return [" | ".join(filter(None, row)) for row in rows]


def _part(value: str | list[str] | None) -> str:
    words = ", ".join(value) if isinstance(value, list) else value or ""
    return " ".join(words.split())


def split_by_query(pairs: pa.Table, valid_share: float = 0.1) -> tuple[pa.Table, pa.Table]:
    """Training and validation pairs that share no query text, the same on every machine.

    Args:
        pairs: ``PAIRS``.
        valid_share: share of queries for validation, in (0, 1) (the paper's is 10%).

    Raises:
        ConfigError: if the share is out of range.
    """
    if not 0 < valid_share < 1:
        raise ConfigError("valid_share must be between 0 and 1.", given=valid_share)
    encoded = pairs["query"].combine_chunks().dictionary_encode()
    hashes = np.array(
        [zlib.crc32(query.strip().casefold().encode()) for query in encoded.dictionary.to_pylist()],
        dtype=np.float64,
    )
    valid = (hashes / 2**32 < valid_share)[encoded.indices.to_numpy()]
    return pairs.filter(pa.array(~valid)), pairs.filter(pa.array(valid))


def count_pairs_table(parts: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
    """The counts of 8.0.5: queries, pairs and positive rate of each part and source.

    Args:
        parts: e.g. {"train": …, "valid": …} of ``PAIRS``.

    Returns:
        One row per part and source, then per part the row "all": ``queries``, ``pairs``,
        ``query_share`` and ``pair_share`` of the part (in [0, 1]), ``positive_rate``.
    """
    rows = []
    for part, pairs in parts.items():
        sources = sorted(set(pairs["source"].to_pylist()))
        counts = [
            _count(part, source, pairs.filter(pc.equal(pairs["source"], source)))
            for source in sources
        ]
        counts.append(_count(part, "all", pairs))
        queries = sum(one["queries"] for one in counts[:-1])
        for one in counts:
            one["query_share"] = _ratio(one["queries"], queries) if one is not counts[-1] else 1.0
            one["pair_share"] = _ratio(one["pairs"], len(pairs))
        rows += counts
    return rows


def _count(part: str, source: str, pairs: pa.Table) -> dict[str, Any]:
    return {
        "part": part,
        "source": source,
        "queries": pc.count_distinct(pairs["query"]).as_py(),
        "pairs": len(pairs),
        "positive_rate": _ratio(pc.sum(pairs["relevant"]).as_py() or 0, len(pairs)),
    }


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
