"""Intents φ(q) in one form: an Arrow list of structs, validated (paper, section 3).

In:  per query one intent (a mapping), several, or none; or the ``intents`` column of an edition.
Out: an Arrow array of ``list<INTENT>``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import intent_type

__all__ = ["Intents", "intents_array"]

Intents: TypeAlias = Sequence[Mapping[str, Any] | Sequence[Mapping[str, Any]] | None] | pa.Array
"""One entry per query: an intent, a list of intents, or None."""


def intents_array(intents: Intents) -> pa.ListArray:
    """Intents of all queries as one Arrow array of type ``list<INTENT>``.

    A missing key is null; a single string is accepted for a list attribute; blank strings and
    empty lists are null.

    Raises:
        MetricInputError: naming query, attribute and value, for an unknown attribute or a value
            that is neither a string, a list of strings nor null.
    """
    if isinstance(intents, pa.Array | pa.ChunkedArray):
        return _from_arrow(intents)
    rows = []
    for query, entry in enumerate(intents):
        readings = [] if entry is None else [entry] if isinstance(entry, Mapping) else list(entry)
        rows.append([_intent(query, reading) for reading in readings])
    return pa.array(rows, _type())


def _type() -> pa.ListType:
    return pa.list_(intent_type())


def _from_arrow(intents: pa.Array | pa.ChunkedArray) -> pa.ListArray:
    array = intents.combine_chunks() if isinstance(intents, pa.ChunkedArray) else intents
    if isinstance(array, pa.ChunkedArray):  # a table column of no chunk
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], _type())
    if array.type == _type():
        return array
    try:
        return array.cast(_type())
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return intents_array(array.to_pylist())


def _intent(query: int, reading: object) -> dict[str, Any]:
    if not isinstance(reading, Mapping):
        raise MetricInputError(
            f"Query {query}: an intent must be a mapping of attributes to values.", given=reading
        )
    unknown = [name for name in reading if name not in domain().names]
    if unknown:
        raise MetricInputError(
            f"Query {query}: an intent has no such attribute.",
            given=unknown[0],
            allowed=domain().names,
        )
    return {name: _value(query, name, reading.get(name)) for name in domain().names}


def _value(query: int, name: str, value: object) -> str | list[str] | None:
    if name not in domain().many:
        if value is not None and not isinstance(value, str):
            raise _wrong(query, name, value, "a string or null")
        return value if value and value.strip() else None
    values = [value] if isinstance(value, str) else value
    if values is None:
        return None
    if not isinstance(values, list | tuple | np.ndarray):
        raise _wrong(query, name, value, "a list of strings or null")
    if not all(isinstance(one, str) for one in values):
        raise _wrong(query, name, value, "a list of strings or null")
    return [one for one in values if one.strip()] or None


def _wrong(query: int, name: str, value: object, allowed: str) -> MetricInputError:
    return MetricInputError(
        f"Query {query}: {name} must be {allowed}, not {type(value).__name__}.", given=value
    )
