"""Label columns for the exclusivity loss (paper, section 3).

In:  a catalog table and names per level ("article_type", "article_type+base_color").
Out: per level a list of int64 arrays (N,), -1 where any of the joined attributes is null.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.errors import ConfigError

__all__ = ["attribute_codes", "label_columns"]

Ints = npt.NDArray[np.int64]


def attribute_codes(catalog: pa.Table, attribute: str) -> Ints:
    """(N,) integers for an attribute's values in sorted order, -1 for null.

    Raises:
        ConfigError: if the catalog has no such column or it holds lists.
    """
    if attribute not in catalog.column_names or pa.types.is_nested(catalog[attribute].type):
        plain = [f.name for f in catalog.schema if not pa.types.is_nested(f.type)]
        raise ConfigError(
            "A label column must be a plain column of the catalog.", given=attribute, allowed=plain
        )
    values = catalog[attribute].combine_chunks()
    names = pc.unique(values.drop_null()).sort()
    found = pc.index_in(values, names)
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)


def joined_codes(catalog: pa.Table, name: str) -> Ints:
    """(N,) integers for a combination "a+b+c"; -1 where any part is null."""
    total = np.zeros(len(catalog), dtype=np.int64)
    null = np.zeros(len(catalog), dtype=bool)
    for part in name.split("+"):
        codes = attribute_codes(catalog, part)
        null |= codes < 0
        total = np.unique(total * (codes.max(initial=0) + 1) + codes.clip(0), return_inverse=True)[
            1
        ]
    return np.where(null, -1, total)


def label_columns(catalog: pa.Table, names: tuple[tuple[str, ...], ...]) -> list[list[Ints]]:
    """Label columns per level.

    Args:
        catalog: N products.
        names: per level the columns, "+" joining attributes.
    """
    return [[joined_codes(catalog, name) for name in level] for level in names]
