"""What intents φ(q) express: their values by attribute, ready to be compared.

In:  intents, see ``schema/intents.py``.
Out: each attribute's values, factorised; which attributes each query expresses.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fashion_rq_bench.relevance.comparators import MISSING, Side, query_side
from fashion_rq_bench.relevance.comparators._sides import column
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.intents import Intents, intents_array

__all__ = ["Intents", "expressed", "intent_sides", "intents_array"]


def intent_sides(array: pa.ListArray) -> list[Side]:
    """The flattened intents' values of each attribute, factorised, in the attributes' order."""
    struct = array.flatten()
    columns = pa.Table.from_arrays(struct.flatten(), names=[one.name for one in struct.type])
    return [query_side(name, column(columns, name)) for name in domain().names]


def expressed(intents: Intents) -> NDArray[np.bool_]:
    """Which attributes each query expresses in any of its intents.

    A value without letters or digits says nothing, except in a brand.

    Returns:
        (Q, A) bool, columns in the order of the domain's attributes.
    """
    array = intents_array(intents)
    owner = pc.list_parent_indices(array).to_numpy(zero_copy_only=False).astype(np.int64)
    out = np.zeros((len(array), len(domain().names)), dtype=bool)
    for position, side in enumerate(intent_sides(array)):
        out[owner[side.source[side.codes] != MISSING], position] = True
    return out
