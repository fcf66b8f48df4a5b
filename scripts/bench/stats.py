"""Time the statistics of a full comparison, and measure how far its intervals and tests hold.

    python scripts/bench/stats.py [--models N] [--metrics N] [--queries N] [--no-checks]

A full comparison is every metric of every model with its interval, and every pair of models with
difference, interval, test, shares and smallest detectable difference, Holm over all of them. The
checks draw data in which a difference is known, so that coverage and false positives can be
counted.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.measures import statistics as stats

CLUSTERS = 416
PROMISED = 20.0
"""Seconds that the project allows for 20 models, 2,477 queries and 10 metrics."""

Values = NDArray[np.float64]


def clustered(
    rng: np.random.Generator, models: int, queries: int, clusters: int, shared: float
) -> tuple[Values, NDArray[np.int64]]:
    """(models, queries) values with a share of their variance common to a cluster, all means 0."""
    cluster = np.sort(rng.integers(0, clusters, queries))
    common = rng.normal(size=(models, clusters))[:, cluster]
    alone = rng.normal(size=(models, queries))
    return np.sqrt(shared) * common + np.sqrt(1 - shared) * alone, cluster


def full_comparison(values: list[Values], cluster: NDArray[np.int64]) -> int:
    """Everything that `fashion-rq compare` computes; returns the number of tests."""
    resampling = stats.resample(cluster.astype(str))
    pairs = list(combinations(range(len(values[0])), 2))
    p_values = []
    for metric in values:
        draws = resampling.means(metric.T)
        stats.interval(draws)
        stats.rank_ranges(draws)
        p_values.append(stats.differences(metric, resampling, pairs).p_value)
    stats.holm(np.concatenate(p_values))
    return len(pairs) * len(values)


def timed(models: int, queries: int, metrics: int) -> None:
    rng = np.random.default_rng(0)
    made = [clustered(rng, models, queries, CLUSTERS, 0.3) for _ in range(metrics)]
    start, cpu = time.perf_counter(), time.process_time()
    tests = full_comparison([values for values, _ in made], made[0][1])
    wall, used = time.perf_counter() - start, time.process_time() - cpu
    print(
        f"{models} models x {queries:,} queries x {metrics} metrics, {stats.RESAMPLES:,} resamples,"
        f" {tests:,} paired comparisons: {wall:.1f} s wall, {used:.1f} s CPU"
        f" (promised: {PROMISED:g})"
    )


def checks(rounds: int, shared: float) -> None:
    """Share of 95% intervals that hold the true difference, and of tests that err at .05."""
    rng = np.random.default_rng(1)
    held, wrong = {"cluster": 0, "query": 0}, {"cluster": 0, "query": 0}
    for number in range(rounds):
        values, cluster = clustered(rng, 2, 300, 50, shared)
        for unit, names in (("cluster", cluster), ("query", np.arange(300))):
            drawn = stats.resample(names.astype(str), resamples=1000, seed=number)
            found = stats.differences(values, drawn, [(0, 1)])
            held[unit] += int(found.low[0] <= 0 <= found.high[0])
            wrong[unit] += int(found.p_value[0] < stats.LEVEL)
    print(f"no true difference, {shared:.0%} of the variance shared in a cluster, {rounds} rounds:")
    for unit in held:
        print(
            f"  by {unit:8s} interval holds 0 in {held[unit] / rounds:.1%} (wanted 95%), "
            f"test finds a difference in {wrong[unit] / rounds:.1%} (wanted 5%)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--queries", type=int, default=2477)
    parser.add_argument("--metrics", type=int, default=10)
    parser.add_argument("--no-checks", action="store_true", help="leave the checks out")
    options = parser.parse_args()
    timed(options.models, options.queries, options.metrics)
    if not options.no_checks:
        for shared in (0.0, 0.3, 0.6):
            checks(400, shared)


if __name__ == "__main__":
    main()
