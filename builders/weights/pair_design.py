"""Pairs for the regression: balanced, so that coefficients compare (paper 8.0.5).

In:  queries, a catalog, twin observations.
Out: (query, product) pairs in which every attribute matches and mismatches about equally often.

A standardised coefficient is an effect times its feature's spread. On pairs as they come, an
attribute that few queries name, or nearly every product satisfies, would look unimportant for that
alone; so pairs are drawn with weights raked to the same margins for all attributes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.builders.weights.match_codes import match_codes
from fashion_rq_bench.builders.weights.observations import Observations, QueryIndex
from fashion_rq_bench.builders.weights.ridge import RidgeConfig
from fashion_rq_bench.errors import InputError

__all__ = ["design_pairs", "rake"]

_ROUNDS = 60
_RANDOM_PER_QUERY = 20
Positions = NDArray[np.int64]


def design_pairs(
    observed: Sequence[Observations],
    index: QueryIndex,
    products: pa.Table,
    config: RidgeConfig | None = None,
) -> tuple[Positions, Positions, NDArray[np.float64]]:
    """Draw pairs of queries and products.

    Candidates are the twins that queries tell apart (all wishes but one in order), each of the two
    with another query that asks for the same attribute's value, and random products.

    Args:
        observed: of every attribute, from :func:`~.observations.observations`.
        index: the queries.
        products: the catalog.
        config: how many pairs, how balanced.

    Returns:
        (P,) query positions, (P,) product positions, (P, A) match codes; no pair occurs twice.

    Raises:
        InputError: if there are no queries or products.
    """
    config = config or RidgeConfig()
    if not index.n_queries or not len(products):
        raise InputError("The regression needs queries and products.")
    rng = np.random.default_rng(config.seed)
    query, product = _candidates(observed, index, len(products), rng)
    codes = match_codes(index.intents, products, query, product, index.config)
    weights = rake(codes, config.specified, config.max_weight)
    # Gumbel's trick: the largest log-weights plus noise are a weighted sample without replacement.
    with np.errstate(divide="ignore"):
        keys = np.log(weights) + rng.gumbel(size=len(weights))
    chosen = np.sort(np.argsort(-keys, kind="stable")[: config.n_pairs])
    return query[chosen], product[chosen], codes[chosen]


def _candidates(
    observed: Sequence[Observations], index: QueryIndex, n: int, rng: np.random.Generator
) -> tuple[Positions, Positions]:
    queries = np.repeat(np.arange(index.n_queries), _RANDOM_PER_QUERY)
    parts = [(queries, rng.integers(0, n, len(queries)))]
    for one in observed:
        mixed = rng.permutation(one.first)
        parts += [(one.query, one.first), (one.query, one.second), (one.query, mixed)]
    keys = np.unique(np.concatenate([query * n + product for query, product in parts]))
    return keys // n, keys % n


def rake(codes: NDArray[np.float64], specified: float, most: float) -> NDArray[np.float64]:
    """Weights under which each attribute is 1, 0 and 0.5 as often as asked (iterative fitting).

    Args:
        codes: (P, A) match codes.
        specified: target share of 1, and of 0; an attribute that lacks one of them is left alone.
        most: largest weight, as a multiple of the mean; margins are missed rather than let few
            pairs decide.

    Returns:
        (P,) positive weights of mean about 1.
    """
    weights = np.ones(len(codes))
    for _ in range(_ROUNDS):
        for column in codes.T:
            cells = np.rint(column * 2).astype(np.int64)  # 0 mismatch, 1 unspecified, 2 match
            mass = np.bincount(cells, weights, minlength=3)
            if mass[0] > 0 and mass[2] > 0:
                target = np.array([specified, 1 - 2 * specified, specified])
                target = np.where(mass > 0, target, 0.0)
                scale = np.divide(
                    target / target.sum() * mass.sum(), mass, where=mass > 0, out=np.ones(3)
                )
                weights = weights * scale[cells]
        weights = np.clip(weights / weights.mean(), 1e-6, most)
    return weights
