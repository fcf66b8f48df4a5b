from __future__ import annotations
from pathlib import Path
from fashion_rq_bench.builders.catalog.raw import Raw

MIN_ROWS, MAX_ROWS = 500, 10_000_000


def synthetic_raw(rows, seed, config) -> Raw:
    raise NotImplementedError


def synthetic(rows, seed=0, config=None):
    raise NotImplementedError


def write_synthetic(rows, seed, config, out):
    raise NotImplementedError
