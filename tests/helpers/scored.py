"""The tiny edition with every string its relevance asks for, so that it can be scored offline."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.relevance.compared_strings import required_strings
from fashion_rq_bench.schema.tables import strings_schema
from helpers.tiny import DIM, tiny_tables, write_tiny


def strings_for(tables: dict[str, pa.Table]) -> pa.Table:
    """Vectors from letters: equal strings are equal, similar ones are close."""
    queries, corpus = tables["queries"], tables["corpus"]
    q, p = np.divmod(np.arange(len(queries) * len(corpus)), len(corpus))
    strings = required_strings(queries["intents"], corpus, q, p)
    vectors = np.zeros((len(strings), DIM), dtype=np.float32)
    for row, string in enumerate(strings):
        for letter in string.casefold():
            vectors[row, ord(letter) % DIM] += 1
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    flat = pa.array(vectors.astype(np.float16).ravel())
    column = pa.FixedSizeListArray.from_arrays(flat, DIM)
    return pa.table([pa.array(strings, pa.string()), column], schema=strings_schema(DIM))


def write_scored(
    out: Path, tables: dict[str, pa.Table] | None = None, name: str = "tiny"
) -> Edition:
    """Write the edition and open it."""
    tables = dict(tables or tiny_tables())
    tables["strings"] = strings_for(tables)
    write_tiny(out, tables, name=name)
    return Edition.open(out)
