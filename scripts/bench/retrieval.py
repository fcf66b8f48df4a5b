"""Time and memory of the search of the whole corpus, without encoding.

In:  random unit vectors of the size of the Myntra catalog, or an edition, whose products and T1
     queries are then encoded by ``lsa`` first (not counted).
Out: seconds and highest resident memory of the exact top 100, and of every metric of the task.

    python scripts/bench/retrieval.py
    python scripts/bench/retrieval.py --edition PATH
"""

from __future__ import annotations

import argparse
import os

import numpy as np

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.encoders.by_name import load_text_encoder
from fashion_rq_bench.evaluation.whole_catalog import score_catalog
from fashion_rq_bench.retrievers.base import Found
from fashion_rq_bench.retrievers.dot_search import DEPTH, top_k_dot
from fashion_rq_bench.support.metering import Meter, metering

PRODUCTS, QUERIES, DIM = 44_446, 2_477, 384


def drawn(rows: int, rng: np.random.Generator) -> np.ndarray:
    """Random unit vectors."""
    vectors = rng.normal(size=(rows, DIM)).astype(np.float32)
    unit: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def search(queries: np.ndarray, products: np.ndarray) -> Found:
    """Search and print what it took."""
    with metering() as idle:
        pass
    with metering() as meter:
        found = top_k_dot(queries, products, DEPTH)
    shape = f"{len(queries):,} queries x {len(products):,} products x {products.shape[1]}"
    report(f"top {DEPTH}, {shape}", meter, idle)
    return found


def report(what: str, meter: Meter, idle: Meter) -> None:
    """One line: seconds, highest memory, and what was in memory before."""
    peak, before = meter.peak_memory_bytes / 1e6, idle.peak_memory_bytes / 1e6
    print(f"{what}: {meter.seconds:.2f} s, peak {peak:,.0f} MB ({before:,.0f} MB before)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--edition", help="folder of an edition; random vectors without it")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'unset')}")
    if options.edition is None:
        rng = np.random.default_rng(0)
        search(drawn(QUERIES, rng), drawn(PRODUCTS, rng))
        return
    collection = Collection.read(Edition.open(options.edition))
    texts = collection.texts.to_pylist()
    encoder = load_text_encoder("lsa", corpus=texts)
    found = search(encoder.encode(collection.task("ranking").queries), encoder.encode(texts))
    with metering() as idle:
        pass
    with metering() as meter:
        score_catalog(collection, found)
    report("every metric of the task", meter, idle)


if __name__ == "__main__":
    main()
