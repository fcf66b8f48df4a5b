"""Queries drawn from a catalog, and oracles whose attribute weights are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.builders.weights.match_codes import match_codes
from fashion_rq_bench.schema.domain import domain

COLUMNS = {
    "product_type": "article_type",
    "color": "base_color",
    "price_hint": "price_tier",
    "style_tags": "style",
    "occasion": "usage",
}
PLANTED = {
    "product_type": 0.26,
    "brand": 0.2,
    "color": 0.155,
    "gender": 0.12,
    "age_group": 0.09,
    "material": 0.065,
    "pattern": 0.045,
    "price_hint": 0.03,
    "style_tags": 0.02,
    "occasion": 0.015,
}


def drawn_intents(
    catalog: pa.Table,
    n: int,
    *,
    seed: int = 0,
    wishes: int = 4,
    rich: float = 0.7,
) -> list[list[dict[str, Any]]]:
    """One intent per query: some attributes of a random product, mostly one that has many."""
    rng = np.random.default_rng(seed)
    columns = {name: catalog[COLUMNS.get(name, name)].to_pylist() for name in domain().names}
    full = np.flatnonzero(
        [bool(v or p) for v, p in zip(columns["pattern"], columns["price_hint"], strict=True)]
    )
    rows = np.where(
        (rng.random(n) < rich) & (len(full) > 0),
        rng.choice(full if len(full) else len(catalog), n),
        rng.integers(0, len(catalog), n),
    )
    found = []
    for row in rows.tolist():
        have = [name for name in domain().names if name != "product_type" and columns[name][row]]
        names = rng.choice(have, min(len(have), wishes - 1), replace=False).tolist()
        typed = ["product_type"] if rng.random() < 0.6 else []
        found.append([{name: _value(name, columns[name][row]) for name in [*typed, *names]}])
    return found


def _value(name: str, value: Any) -> Any:
    value = value[0] if isinstance(value, list) else value
    return [value] if name in domain().many else value


class PlantedOracle:
    """Logits Σ w_a f_a · scale plus noise that belongs to the (query, product) pair."""

    def __init__(self, intents: Any, catalog: pa.Table, *, scale: float, noise: float) -> None:
        self.intents, self.catalog = intents, catalog
        self.scale, self.noise = scale, noise
        total = sum(PLANTED.values())
        self.weights = np.array([PLANTED[name] / total for name in domain().names])

    def __call__(self, query: NDArray[np.int64], product: NDArray[np.int64]) -> NDArray[np.float64]:
        codes = match_codes(self.intents, self.catalog, query, product)
        noise = np.random.default_rng(1).normal(0, self.noise, len(query))
        return self.scale * (codes - 0.5) @ self.weights + noise


class ShuffledOracle:
    """Noise: what is left of any oracle when its logits are dealt out anew."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, query: NDArray[np.int64], product: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.rng.permutation(np.linspace(-3, 3, len(query)) ** 3)
