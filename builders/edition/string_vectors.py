"""The ``strings`` config: every string that R(q, p) compares softly, with its vector.

In:  catalog, queries, pools, the declared text encoder; optionally vectors that are known already.
Out: one row per string, sorted: the string and its L2-normalised float16 vector.

Serves sim(·, ·) of the paper's 8.0.4. Because the vectors ship with the edition, R(q, p) over its
pools is the same everywhere and needs no model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.tasks.candidate_pools import Pools, pool_pairs
from fashion_rq_bench.encoders.by_name import TextEncoder, unit_rows
from fashion_rq_bench.encoders.vectors import encode_texts
from fashion_rq_bench.relevance.compared_strings import (
    catalog_strings,
    intent_strings,
    required_strings,
)
from fashion_rq_bench.schema.tables import strings_schema

__all__ = ["KnownStrings", "compared_strings", "strings"]


@dataclass(frozen=True)
class KnownStrings:
    """Vectors of an earlier build.

    Attributes:
        table: a ``strings`` table.
        encoder: what made its vectors, with "name" and "revision" as an edition declares them.
    """

    table: pa.Table
    encoder: Mapping[str, Any]

    def fits(self, encoder: TextEncoder) -> bool:
        """Whether ``encoder`` would give the same vectors."""
        own = (self.encoder.get("name"), self.encoder.get("revision"))
        same_type = self.table.schema.equals(strings_schema(encoder.dim), check_metadata=False)
        return own == (encoder.name, encoder.revision) and same_type


def compared_strings(catalog: pa.Table, queries: pa.Table, pools: Pools) -> list[str]:
    """Every string that a comparison in this edition may need, sorted.

    These are the attribute values and category paths of the whole catalog, the values in the
    intents, and the descriptions of pool products that lack a value which a query of their pool
    asks for. Other descriptions are left out: they would be most of the edition.

    Args:
        catalog: ``CATALOG`` table.
        queries: ``QUERIES``; all of them, also those that enter no task.
        pools: from :func:`~fashion_rq_bench.builders.tasks.stage.candidate_pools` on these tables.
    """
    used, query_index, product_index = pool_pairs(pools)
    pairs = required_strings(
        pools.queries["intents"], catalog.take(used), query_index, product_index
    )
    return sorted({*catalog_strings(catalog), *intent_strings(queries["intents"]), *pairs})


def strings(
    catalog: pa.Table,
    queries: pa.Table,
    pools: Pools,
    encoder: TextEncoder,
    *,
    reuse: KnownStrings | None = None,
    cache: Path | None = None,
) -> pa.Table:
    """Encode :func:`compared_strings`.

    Args:
        catalog, queries, pools: see :func:`compared_strings`.
        encoder: the edition's declared text encoder, of dimension d.
        reuse: vectors to take over where encoder and string are the same, so that a rebuild
            elsewhere gives the same bytes; those of another encoder are not used.
        cache: folder of finished vectors, so that an interrupted run goes on.

    Returns:
        ``strings_schema(d)``, sorted by string.

    Raises:
        ModelError: if the encoder fails.
    """
    needed = pa.array(compared_strings(catalog, queries, pools), pa.string())
    vectors = np.empty((len(needed), encoder.dim), dtype=np.float16)
    known = np.zeros(len(needed), dtype=np.bool_)
    if reuse is not None and reuse.fits(encoder):
        place = pc.index_in(needed, value_set=reuse.table["string"].combine_chunks())
        known = np.asarray(place.is_valid())
        vectors[known] = _matrix(reuse.table)[np.asarray(place.drop_null())]
    missing = needed.filter(pa.array(~known)).to_pylist()
    if missing:
        vectors[~known] = unit_rows(encode_texts(encoder, missing, "document", cache=cache))
    flat = pa.array(vectors.ravel(), pa.float16())
    columns = [needed, pa.FixedSizeListArray.from_arrays(flat, encoder.dim)]
    return pa.table(columns, schema=strings_schema(encoder.dim))


def _matrix(table: pa.Table) -> np.ndarray[Any, np.dtype[np.float16]]:
    flat = np.asarray(table["vector"].combine_chunks().flatten(), dtype=np.float16)
    return flat.reshape(len(table), -1)
