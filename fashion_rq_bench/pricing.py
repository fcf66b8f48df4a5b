"""What a run would cost: a slice of the pools is scored, timed and scaled up.

In:  a retriever that keeps nothing on disk, and a collection.
Out: a :class:`Price`.

Two slices are run. The first, of a few queries, pays what every run pays once: loading weights,
learning from the corpus, building an index. Where the second reports what it encoded
(``cost.encoding``), the run is priced by characters, role by role, since a model's time grows with
the length of the texts; otherwise by the number of pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.cost import Cost, Meter, load_record, metering
from fashion_rq_bench.pools import Collection
from fashion_rq_bench.results import RunKey
from fashion_rq_bench.retrievers.base import Retriever

__all__ = ["Price", "predicted_seconds", "price_run", "record_path"]

_FIRST = 2
_LEAST = 16
_SHARE = 64


@dataclass(frozen=True)
class Price:
    """What a run would cost, without vectors on disk.

    Attributes:
        seconds: predicted wall time from texts to scores.
        once_seconds: the part of it that does not grow with the number of texts.
        items: texts (or pairs) to encode.
        slice_items: of them in the slice that was timed.
        slice_seconds: wall time of both slices.
        vector_bytes: of all vectors together; NaN where the slice gave none.
        peak_memory_bytes: of the slice; the run needs at least as much.
    """

    seconds: float
    once_seconds: float
    items: int
    slice_items: int
    slice_seconds: float
    vector_bytes: float
    peak_memory_bytes: float


def price_run(retriever: Retriever, collection: Collection, *, full_catalog: bool = False) -> Price:
    """Price scoring every pair of a collection, or searching its whole corpus.

    Args:
        retriever: one that reads no vectors from disk.
        collection: what the full run is on.
        full_catalog: price the search, in which every product is encoded.
    """
    queries = len(collection.task("ranking").query_ids)
    first = collection.slice(_FIRST)
    part = collection.slice(max(_LEAST, queries // _SHARE))
    with metering() as once:
        retriever.score(first)
    with metering() as timed:
        retriever.score(part)
    totals = _totals(collection, full_catalog)
    if not timed.by_role:
        return _by_pairs(once, timed, first, part, collection)
    found = {role: one for role, one in timed.by_role.items() if role in totals}
    encoding = sum(
        one.seconds / max(1, one.characters) * totals[role][1] for role, one in found.items()
    )
    once_seconds = max(0.0, once.seconds - once.encode_seconds)
    size = sum(
        one.vector_bytes / max(1, one.items) * totals[role][0] for role, one in found.items()
    )
    return Price(
        seconds=once_seconds + encoding,
        once_seconds=once_seconds,
        items=sum(totals[role][0] for role in found),
        slice_items=sum(one.items for one in found.values()),
        slice_seconds=once.seconds + timed.seconds,
        vector_bytes=size,
        peak_memory_bytes=max(once.peak_memory_bytes, timed.peak_memory_bytes),
    )


def _by_pairs(
    once: Meter, timed: Meter, first: Collection, part: Collection, whole: Collection
) -> Price:
    counts = [len(one.pairs.query_index) for one in (first, part, whole)]
    slope = max(0.0, timed.seconds - once.seconds) / max(1, counts[1] - counts[0])
    once_seconds = max(0.0, once.seconds - slope * counts[0])
    return Price(
        seconds=once_seconds + slope * counts[2],
        once_seconds=once_seconds,
        items=0,
        slice_items=0,
        slice_seconds=once.seconds + timed.seconds,
        vector_bytes=float("nan"),
        peak_memory_bytes=max(once.peak_memory_bytes, timed.peak_memory_bytes),
    )


def _totals(collection: Collection, full_catalog: bool) -> Mapping[str, tuple[int, int]]:
    """Items and characters of a full run by role."""
    pairs = collection.pairs
    used = collection.texts if full_catalog else collection.texts.take(pa.array(pairs.products))
    queries = pa.array(pairs.queries, pa.string())
    lengths = pc.utf8_length(queries).to_numpy(), pc.utf8_length(collection.texts).to_numpy()
    both = lengths[0][pairs.query_index].sum() + lengths[1][pairs.product_index].sum()
    return {
        "query": _size(queries),
        "document": _size(used),
        "pair": (len(pairs.query_index), int(both)),
    }


def _size(texts: pa.Array) -> tuple[int, int]:
    distinct = texts.unique()
    return len(distinct), int(pc.sum(pc.utf8_length(distinct)).as_py() or 0)


def record_path(folder: Path, kind: str, key: RunKey) -> Path:
    """Where a run's cost ("costs") or price ("prices") is kept."""
    return folder / kind / f"{key.stem}.json"


def predicted_seconds(folder: Path, key: RunKey, cost: Cost) -> float:
    """What was predicted for a run; NaN without a price, or if vectors were read from disk."""
    price = load_record(Price, record_path(folder, "prices", key))
    comparable = price is not None and price.items == cost.items
    return float(price.seconds) if comparable else float("nan")
