"""Where to put the thresholds at which soft wishes count as satisfied.

In:  a catalog, a text encoder, the curated vocabulary.
Out: for each soft attribute, how many clear "same" pairs (a term and another spelling of it) and
     clear "different" pairs (two terms without a common word) reach each threshold.

Only terms that occur in the catalog count. The terms are compared as raw strings, as values that
the vocabulary does not know would be. The ``threshold`` of a domain's attributes is the least, in
steps of 0.05, that at most 0.5% of the different pairs reach in every attribute.

    python scripts/calibrate_wishes.py --catalog PATH --encoder minilm
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.encoders.by_name import load_text_encoder
from fashion_rq_bench.relevance.similarity import EncoderSimilarity
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.words.vocabulary import fold, synonyms, tokens

THRESHOLDS = np.arange(0.50, 0.951, 0.05)

Pairs = list[tuple[str, str]]


def clear_pairs(table: str, present: set[str]) -> tuple[Pairs, Pairs]:
    """(same, different) pairs of folded strings over the terms that are present."""
    terms = {fold(term): more for term, more in synonyms(table).items() if term in present}
    same = [(term, fold(other)) for term, more in terms.items() for other in more]
    different = [
        (one, two) for one, two in combinations(terms, 2) if not {*tokens(one)} & {*tokens(two)}
    ]
    return same, different


def shares(scores: np.ndarray) -> list[str]:
    return [f"{np.mean(scores >= threshold):.3f}" for threshold in THRESHOLDS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--catalog", default="synthetic:20000?seed=7")
    parser.add_argument("--encoder", default="minilm")
    options = parser.parse_args()

    catalog = read_catalog(options.catalog).table
    similarity = EncoderSimilarity(load_text_encoder(options.encoder))
    table = Table("attribute", "pairs", "n", *(f"≥ {one:.2f}" for one in THRESHOLDS))
    for attribute in domain().attributes:
        if attribute.comparator != "text" or not attribute.terms:
            continue
        column: pa.ChunkedArray = catalog[attribute.column]
        present = set(column.combine_chunks().flatten().to_pylist())
        for kind, pairs in zip(
            ("same", "different"), clear_pairs(attribute.terms, present), strict=True
        ):
            scores = similarity(*zip(*pairs, strict=True))
            table.add_row(attribute.terms, kind, str(len(pairs)), *shares(scores))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
