"""Speed of R(q, p) and AttrScore: all pairs at once, against a loop over pairs.

In:  a catalog (synthetic by default); queries that ask for attributes of random products, at the
     paper's rates; random vectors in place of an encoder's.
Out: seconds for Rel and AttrScore over 2,477 × 15 pairs with the strings table, and their ratio to
     a plain Python loop over the same pairs (timed on a sample of them, agreeing to 1e-6).

The loop reads the same vectors from a dict and the vocabulary's caches are warm, so it does none of
the encoding or parsing that per-pair code usually repeats; intents come as an edition has them, as
Arrow for us and as dicts for the loop. Both run in turns in one process. The ratio is that of the
median processor times, which other work on the machine disturbs least.

    python scripts/bench/relevance.py --catalog PATH --rounds 5
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.relevance import (
    PairMatches,
    default_weights,
    expressed,
    match_pairs,
    required_strings,
    summarise,
)
from fashion_rq_bench.relevance.intents import intents_array
from fashion_rq_bench.relevance.similarity import StringTable
from fashion_rq_bench.schema.domain import domain

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
import reference_relevance as reference

QUERIES, POOL, DIM = 2477, 15, 384
COLUMN = {
    "product_type": "article_type",
    "color": "base_color",
    "style_tags": "style",
    "price_hint": "price_tier",
}
RATES = {  # share of the paper's 2,477 ranking queries that express each attribute (Table 7)
    "product_type": 2475,
    "gender": 1892,
    "occasion": 1349,
    "brand": 945,
    "style_tags": 896,
    "color": 845,
    "age_group": 627,
    "pattern": 156,
    "material": 153,
    "price_hint": 80,
}


def make_intents(catalog: pa.Table, rng: np.random.Generator) -> list[list[dict[str, Any]]]:
    """One intent per query: for each attribute, at its rate, the value of some random product."""
    values = {
        name: [value for value in catalog[COLUMN.get(name, name)].to_pylist() if value]
        for name in RATES
    }
    return [[make_intent(values, rng)] for _ in range(QUERIES)]


def make_intent(values: dict[str, list[Any]], rng: np.random.Generator) -> dict[str, Any]:
    intent: dict[str, Any] = {}
    for name, count in RATES.items():
        if values[name] and rng.random() < count / QUERIES:
            value = values[name][rng.integers(len(values[name]))]
            single = name in domain().many and isinstance(value, str)
            intent[name] = [value] if single else value
    return intent


def random_vectors(strings: list[str], rng: np.random.Generator) -> np.ndarray:
    vectors = np.abs(rng.standard_normal((len(strings), DIM)))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


def loop(
    intents: list[list[dict[str, Any]]],
    rows: list[dict[str, Any]],
    queries: np.ndarray,
    vectors: dict[str, np.ndarray],
) -> list[float]:
    def sim(left: str, right: str) -> float:
        if left == right:
            return 1.0
        return min(1.0, max(0.0, float(vectors[left] @ vectors[right])))

    return [
        reference.relevance(intents[query], row, sim, default_weights())[0]
        for query, row in zip(queries.tolist(), rows, strict=True)
    ]


def medians(
    rounds: int, ours: Callable[[], object], theirs: Callable[[], object]
) -> tuple[float, float, float]:
    """Seconds of processor and passed of ``ours``, of processor of ``theirs``, run in turns."""
    seen = []
    for _ in range(rounds):
        start, clock = time.process_time(), time.perf_counter()
        ours()
        middle, wall = time.process_time(), time.perf_counter() - clock
        theirs()
        seen.append((middle - start, wall, time.process_time() - middle))
    fast, wall, slow = map(statistics.median, zip(*seen, strict=True))
    return fast, wall, slow


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--catalog", default="synthetic:20000?seed=7")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sample", type=int, default=2000, help="pairs that the loop is timed on")
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    catalog = read_catalog(options.catalog).table
    intents = make_intents(catalog, rng)
    queries = np.repeat(np.arange(QUERIES), POOL)
    rows = rng.integers(0, len(catalog), len(queries))
    scores = rng.standard_normal(len(queries))
    strings = required_strings(intents, catalog, queries, rows)
    vectors = random_vectors(strings, rng)
    flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIM)
    similarity = StringTable(pa.table({"string": strings, "vector": flat}), "random")
    exact = vectors.astype(np.float64)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    by_string = dict(zip(strings, exact, strict=True))
    sample = rng.permutation(len(queries))[: options.sample]
    sampled = catalog.take(rows[sample]).to_pylist()

    array = intents_array(intents)

    def ours() -> PairMatches:
        matches = match_pairs(array, catalog, queries, rows, similarity)
        summarise(matches, queries, scores, expressed(array))
        return matches

    agree = np.abs(ours().rel[sample] - loop(intents, sampled, queries[sample], by_string))
    print(f"{len(catalog):,} products, {len(queries):,} pairs, {len(strings):,} strings")
    print(f"largest difference from the loop: {np.nanmax(agree):.1e}")
    ours_s, wall_s, sampled_s = medians(
        options.rounds, ours, lambda: loop(intents, sampled, queries[sample], by_string)
    )
    loop_s = sampled_s / len(sample) * len(queries)
    print(f"all pairs at once: {ours_s:.3f} s of processor, {wall_s:.3f} s passed")
    print(f"loop over pairs: {loop_s:.1f} s of processor")
    print(f"ratio: {loop_s / ours_s:.0f} ×")


if __name__ == "__main__":
    main()
