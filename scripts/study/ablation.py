"""Studies of the quantiser on a real catalog: seeds, λ, K, supervision, embeddings (issue 4).

In:  a catalog (Kaggle folder or Parquet), encoders' names.
Out: per encoder a page of tables (means over seeds with 95% intervals), every figure as packed CSV,
     and a plot, in OUT. Each run's codes stay in WORK; a run that is there is not repeated, so the
     command can be killed and called again.

Products are embedded from title, category path, gender, colour, usage and season: descriptions, on
a quarter of the products, would split them from the rest.

    python scripts/study/ablation.py --catalog ../shared/data/myntra-catalog.parquet
"""

from __future__ import annotations

import argparse
import gzip
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from quantiser.page import Rows, as_csv, page
from quantiser.plots import front
from quantiser.runs import Material, Result, one_run
from quantiser.settings import DEFAULT, KMEANS, NO_LOSS, SETTINGS

from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.builders.rqvae import label_columns
from fashion_rq_bench.builders.rqvae.config import paper_labels
from fashion_rq_bench.support.files import atomic_path, write_text

FRONT = ("default", NO_LOSS, KMEANS, f"{KMEANS}, small leaves closed", "small leaves open")
"""The rows of encoders other than the first: before and after."""


def wanted(settings: list[str], seeds: int) -> list[tuple[int, str]]:
    """(seed, setting), seed by seed, so that a study that is cut short has all rows."""
    pairs = [(seed, name) for name in settings for seed in range(min(seeds, SETTINGS[name].seeds))]
    return sorted(pairs, key=lambda pair: pair[0])


def results(
    material: Material, settings: list[str], seeds: int, until: float, pools: bool
) -> Iterator[Rows]:
    """All results so far, after each run; none is begun after ``until``."""
    rows: dict[str, dict[int, Result]] = {name: {} for name in settings}
    for seed, name in wanted(settings, seeds):
        if time.monotonic() > until:
            return
        rows[name][seed] = one_run(material, SETTINGS[name], seed, pools=pools)
        yield {setting: found for setting, found in rows.items() if found}


def live(catalog: pa.Table) -> str:
    """How many label columns of the default and of the paper have any value here."""

    def count(labels: tuple[tuple[str, ...], ...]) -> str:
        columns = [y for level in label_columns(catalog, labels) for y in level]
        shares = [float((y >= 0).mean()) for y in columns]
        full = sum(share > 0.5 for share in shares)
        return f"{sum(share > 0 for share in shares)} of {len(shares)} ({full} on most products)"

    return (
        f"Label columns with values: {count(DEFAULT.labels)} of the default's, "
        f"{count(paper_labels())} of the paper's."
    )


def study(catalog: pa.Table, encoder: str, settings: list[str], args: argparse.Namespace) -> None:
    """Run what is missing and write the encoder's page."""
    material = Material(catalog, encoder, args.work)
    labels, stem = live(catalog), args.out / f"ablation-{encoder}"
    rows: Rows = {}
    for rows in results(material, settings, args.seeds, args.until, args.pools):
        print(f"{encoder}: {sum(map(len, rows.values()))} runs", flush=True)
    if rows:
        write_text(page(rows, encoder, len(catalog), labels), stem.with_suffix(".md"))
        with atomic_path(stem.with_suffix(".csv.gz")) as packed:
            packed.write_bytes(gzip.compress(as_csv(rows).encode(), 9, mtime=0))
        front(rows, stem.with_suffix(".png"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--catalog", default="../shared/data/myntra-catalog.parquet")
    parser.add_argument("--encoders", nargs="+", default=["lsa", "minilm"])
    parser.add_argument("--products", type=int, help="a random sample of so many")
    parser.add_argument("--seeds", type=int, default=5, help="at most so many per row")
    parser.add_argument("--settings", nargs="+", choices=list(SETTINGS))
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no run after these")
    parser.add_argument(
        "--no-pools", dest="pools", action="store_false", help="measure no label noise"
    )
    parser.add_argument("--out", type=Path, default=Path("docs/study"))
    parser.add_argument("--work", type=Path, default=Path("out/study"))
    args = parser.parse_args()
    args.until = time.monotonic() + args.seconds
    catalog = read_catalog(args.catalog).table
    if args.products and args.products < len(catalog):
        drawn = np.random.default_rng(0).permutation(len(catalog))[: args.products]
        catalog = catalog.take(np.sort(drawn)).combine_chunks()
    for number, encoder in enumerate(args.encoders):
        rows = args.settings or list(SETTINGS if number == 0 else FRONT)
        study(catalog, encoder, rows, args)


if __name__ == "__main__":
    main()
