"""What a run would cost: a slice of the pools is scored, timed and scaled up.

In:  a retriever that keeps nothing on disk, and a collection.
Out: a :class:`Price`.

A slice of a few queries is run twice, and a larger one once. The first run pays what every run pays
once: loading weights, learning from the corpus, building an index. The other two tell how the time
grows: by the characters of what was encoded, role by role, where the model reports that
(``cost.encoding``), since a model's time grows with the length of the texts; otherwise by pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.evaluation.results import RunKey
from fashion_rq_bench.retrievers.base import Retriever
from fashion_rq_bench.support.metering import Cost, Encoded, Meter, load_record, metering

__all__ = ["Price", "predicted_seconds", "price_run", "record_path"]

_FIRST = 2
_LEAST = 16
_SHARE = 64


@dataclass(frozen=True)
class Price:
    """What a run would cost, without vectors on disk.

    Attributes:
        seconds: predicted wall time from texts to scores.
        once_seconds: of the first run of the smallest slice: loading, learning, indexing.
        items: texts (or pairs) to encode.
        slice_items: of them in the larger slice.
        slice_seconds: wall time of all slices.
        vector_bytes: of all products' vectors together; NaN where the slice gave none.
        peak_memory_bytes: of the slices; the run needs at least as much.
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
    small, large = collection.slice(_FIRST), collection.slice(max(_LEAST, queries // _SHARE))
    once, again, more = (_timed(retriever, part) for part in (small, small, large))
    totals = _totals(collection, full_catalog)
    if more.by_role:
        growth = _growth(again, more, totals)
    else:
        counts = [len(one.pairs.query_index) for one in (small, large, collection)]
        slope = _slope(more.seconds, again.seconds, counts[1], counts[0])
        growth = slope * (counts[2] - counts[0])
    products = more.by_role.get("document", Encoded())
    return Price(
        seconds=once.seconds + growth,
        once_seconds=once.seconds,
        items=sum(totals[role][0] for role in more.by_role),
        slice_items=sum(one.items for one in more.by_role.values()),
        slice_seconds=once.seconds + again.seconds + more.seconds,
        vector_bytes=_ratio(products.vector_bytes, products.items) * totals["document"][0],
        peak_memory_bytes=max(one.peak_memory_bytes for one in (once, again, more)),
    )


def _timed(retriever: Retriever, part: Collection) -> Meter:
    with metering() as meter:
        retriever.score(part)
    return meter


def _growth(less: Meter, more: Meter, totals: Mapping[str, tuple[int, int]]) -> float:
    """Seconds that a full run takes beyond the smaller slice, from what both encoded."""
    seconds = 0.0
    for role, larger in more.by_role.items():
        smaller = less.by_role.get(role, Encoded())
        rate = _slope(larger.seconds, smaller.seconds, larger.characters, smaller.characters)
        seconds += rate * max(0, totals[role][1] - smaller.characters)
    return seconds


def _slope(more: float, less: float, larger: int, smaller: int) -> float:
    return max(0.0, more - less) / max(1, larger - smaller)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


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
