"""From an oracle to weights: both estimators, the blend, and the file (paper 8.0.5).

In:  an oracle, intents of queries, a catalog.
Out: :class:`Weights`: what Tables 9 and 10 report; a JSON file of it with provenance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.builders.weights.ablation import (
    AblationConfig,
    AttributeEffect,
    Oracle,
    differences,
    effect,
    score_pairs,
)
from fashion_rq_bench.builders.weights.blend import Blend, blend
from fashion_rq_bench.builders.weights.match_codes import product_keys, product_sides
from fashion_rq_bench.builders.weights.observations import Observations, QueryIndex, observations
from fashion_rq_bench.builders.weights.pair_design import design_pairs
from fashion_rq_bench.builders.weights.ridge import RidgeConfig, RidgeFit, fit_ridge
from fashion_rq_bench.builders.weights.twin_pairs import count_pairs, disjoint_pairs, twin_groups
from fashion_rq_bench.relevance.comparators import ComparatorConfig
from fashion_rq_bench.relevance.intents import Intents
from fashion_rq_bench.relevance.weights_file import FORMAT, read_weights
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.support.files import write_json

__all__ = [
    "FORMAT",
    "Weights",
    "WeightsConfig",
    "find_observations",
    "fit_weights",
    "read_weights",
    "write_weights",
]


@dataclass(frozen=True)
class WeightsConfig:
    """Settings of a fit: of the ablation, of the regression, of the comparators."""

    ablation: AblationConfig = field(default_factory=AblationConfig)
    ridge: RidgeConfig = field(default_factory=RidgeConfig)
    comparators: ComparatorConfig = field(default_factory=ComparatorConfig)


@dataclass(frozen=True)
class Weights:
    """Weights and all they rest on.

    Attributes:
        blend: the final weights and the Spearman agreement of the two estimates.
        effects: the ablation, one per attribute, in the order of ``schema.ATTRIBUTES`` (Table 9).
        ridge: the regression (Table 10).
        n_twins: how many pairs of twins the catalog holds per attribute, used or not.
        n_queries: queries given.
        n_several: those of them with several intents, which the ablation leaves out.
    """

    blend: Blend
    effects: tuple[AttributeEffect, ...]
    ridge: RidgeFit
    n_twins: Mapping[str, int]
    n_queries: int
    n_several: int


def find_observations(
    intents: Intents, products: pa.Table, config: WeightsConfig | None = None
) -> tuple[list[Observations], dict[str, int], QueryIndex]:
    """What to ask the oracle in the ablation; needs no oracle.

    Returns:
        Observations of each attribute, the number of twin pairs of each, and the queries' index.
    """
    config = config or WeightsConfig()
    index = QueryIndex(intents, config.comparators)
    sides = product_sides(products, config.comparators)
    keys = product_keys(sides)
    found, counts = [], {}
    for name in domain().names:
        rng = np.random.default_rng([config.ablation.seed, *name.encode()])
        groups = twin_groups(keys, name)
        counts[name] = count_pairs(groups)
        pairs = disjoint_pairs(groups, rng)
        one = observations(
            pairs,
            name,
            index,
            products,
            sides,
            rng,
            queries_per_twin=config.ablation.queries_per_twin,
        )
        found.append(_at_most(one, config.ablation.max_twins, rng))
    return found, counts, index


def _at_most(one: Observations, most: int | None, rng: np.random.Generator) -> Observations:
    """The observations of ``most`` random pairs of twins."""
    n_twins = int(one.twin.max(initial=-1)) + 1
    if most is None or n_twins <= most:
        return one
    kept = np.isin(one.twin, rng.choice(n_twins, size=most, replace=False))
    twin = np.unique(one.twin[kept], return_inverse=True)[1]
    return Observations(
        one.attribute,
        one.query[kept],
        one.first[kept],
        one.second[kept],
        twin,
        one.null_query[kept],
    )


def fit_weights(
    oracle: Oracle, intents: Intents, products: pa.Table, config: WeightsConfig | None = None
) -> Weights:
    """Estimate every attribute's weight twice and blend (paper 8.0.5).

    Args:
        oracle: gives logits of (query, product) pairs by position, see
            :data:`~.ablation.Oracle`; only differences of logits matter.
        intents: one entry per query, see :func:`fashion_rq_bench.relevance.attr_score.match_pairs`.
        products: a catalog (schema CATALOG).
        config: settings.

    Raises:
        ModelError: if the oracle does not give one finite logit per pair.
        InputError: if neither estimator finds an attribute that matters.
    """
    config = config or WeightsConfig()
    found, counts, index = find_observations(intents, products, config)
    effects = tuple(
        effect(one, *differences(oracle, one, len(products)), config.ablation) for one in found
    )
    ridge = _regress(oracle, found, index, products, config.ridge)
    means = {one.attribute: one.mean for one in effects}
    return Weights(
        blend(means, ridge.coefficient), effects, ridge, counts, index.n_queries, index.n_several
    )


def _regress(
    oracle: Oracle,
    found: list[Observations],
    index: QueryIndex,
    products: pa.Table,
    config: RidgeConfig,
) -> RidgeFit:
    query, product, codes = design_pairs(found, index, products, config)
    logits: NDArray[np.float64] = score_pairs(oracle, query, product, len(products))
    return fit_ridge(codes, logits, config)


def write_weights(weights: Weights, path: Path, provenance: Mapping[str, Any]) -> None:
    """Write a weights file (JSON); an undefined number is null.

    Args:
        weights: from :func:`fit_weights`.
        path: of the file.
        provenance: what it was made from: oracle, its revision and quality, data, configuration.
    """
    undefined = [name for name, weight in weights.blend.weights.items() if np.isnan(weight)]
    write_json(
        {
            "format": FORMAT,
            "weights": weights.blend.weights,
            "undefined": undefined,
            "spearman": weights.blend.spearman,
            "ablation": [asdict(one) for one in weights.effects],
            "ridge": asdict(weights.ridge),
            "n_twins": dict(weights.n_twins),
            "n_queries": weights.n_queries,
            "n_several": weights.n_several,
            "provenance": dict(provenance),
        },
        path,
    )
