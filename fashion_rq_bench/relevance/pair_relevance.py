"""The match of every attribute and R(q, p), of pairs of query and product (paper, Eq. 7, 8.0.4).

In:  intents of queries, a table of products, pairs of (query, product) positions, a Similarity.
Out: for every pair the ten matches m_a(q, p), what was missing, R(q, p) and the winning intent;
     every string that a Similarity will be asked for.

All pairs are scored at once: each distinct (query value, product value) pair is compared once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from fashion_rq_bench.errors import ConfigError, MetricInputError
from fashion_rq_bench.relevance.comparators import (
    COMPARATORS,
    FALLBACK,
    MISSING,
    SOFT_ATTRIBUTES,
    VALUE,
    ComparatorConfig,
    Side,
    match_attribute,
)
from fashion_rq_bench.relevance.comparators._sides import (
    best_over_rows,
    category_levels,
    category_paths,
    levels_of,
)
from fashion_rq_bench.relevance.images import ImageSimilarity, prompts_of
from fashion_rq_bench.relevance.intents import Intents, intent_sides, intents_array
from fashion_rq_bench.relevance.similarity import Similarity
from fashion_rq_bench.schema.domain import domain

__all__ = [
    "PAPER_WEIGHTS",
    "PairMatches",
    "RelevanceConfig",
    "catalog_strings",
    "intent_strings",
    "match_pairs",
    "required_strings",
]

PAPER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "product_type": 0.290,
        "gender": 0.127,
        "age_group": 0.066,
        "color": 0.138,
        "pattern": 0.060,
        "material": 0.063,
        "occasion": 0.008,
        "brand": 0.211,
        "price_hint": 0.024,
        "style_tags": 0.012,
    }
)
"""The paper's weights w_a (Tables 3 and 10), distilled from its cross-encoder."""

_N = len(domain().names)
_VALUE_COLUMNS = ("base_color", "pattern", "material", "occasion", "usage", "style")


@dataclass(frozen=True)
class RelevanceConfig:
    """Settings of R(q, p).

    Attributes:
        weights: w_a by attribute; they need not sum to one. An attribute left out weighs nothing.
        comparators: settings of the comparators.

    Raises:
        ConfigError: for an unknown attribute, a negative or non-finite weight, or no weight at all.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: PAPER_WEIGHTS)
    comparators: ComparatorConfig = field(default_factory=ComparatorConfig)

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if name not in domain().names:
                raise ConfigError(
                    "A weight is given for an unknown attribute.",
                    given=name,
                    allowed=domain().names,
                )
            if not (np.isfinite(weight) and weight >= 0):
                raise ConfigError(
                    f"The weight of {name!r} must be a finite number of at least 0.", given=weight
                )
        if not sum(self.weights.values()) > 0:
            raise ConfigError(
                "At least one weight must be above 0.",
                given=dict(self.weights),
                fix="Leave weights out for the paper's.",
            )

    def vector(self) -> NDArray[np.float64]:
        """(10,) weights in the order of ``schema.ATTRIBUTES``."""
        return np.array([self.weights.get(name, 0.0) for name in domain().names], dtype=np.float64)


@dataclass(frozen=True)
class PairMatches:
    """Matches of P (query, product) pairs; columns in the order of ``schema.ATTRIBUTES``.

    Attributes:
        match: (P, 10) float64 m_a in [0, 1], NaN where no intent of the query expresses a. Taken
            from the winning intent if that expresses a, else from the best intent that does, so
            that the number of values does not depend on the model.
        missing: (P, 10) bool, the product had nothing to compare and ``match`` is the neutral 0.5.
        fallback: (P, 10) bool, the product had no value and its text was compared instead.
        own: (P, 10) bool, the winning intent expresses a.
        rel: (P,) float64 R(q, p) of the winning intent; NaN for a query without attributes.
        rel_known: (P,) float64, the same over attributes that are not missing; NaN without any.
        intent: (P,) position of the winning intent among the query's; -1 without any.
    """

    match: NDArray[np.float64]
    missing: NDArray[np.bool_]
    fallback: NDArray[np.bool_]
    own: NDArray[np.bool_]
    rel: NDArray[np.float64]
    rel_known: NDArray[np.float64]
    intent: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rel)

    def take(self, rows: ArrayLike) -> PairMatches:
        """The matches of some pairs, by position or mask."""
        return PairMatches(*(getattr(self, one.name)[np.asarray(rows)] for one in fields(self)))


def match_pairs(
    intents: Intents,
    products: pa.Table,
    query_index: ArrayLike,
    product_index: ArrayLike,
    similarity: Similarity,
    *,
    config: RelevanceConfig | None = None,
    images: ImageSimilarity | None = None,
) -> PairMatches:
    """Match of every attribute and R(q, p) of every pair (paper 8.0.4 and Eq. 7).

    Args:
        intents: one entry per query: an intent, several, or None; or an ``intents`` column.
        products: columns of ``schema.CATALOG`` or ``CORPUS``; an absent column is all missing.
        query_index: (P,) positions in ``intents``.
        product_index: (P,) positions in ``products``.
        similarity: measure of the soft comparisons; part of the result's identity.
        config: weights and settings; the paper's by default.
        images: visual grounding: product type, colour, pattern, material, occasion and style take
            the maximum of the text's match and the picture's.

    Raises:
        MetricInputError: if an intent is malformed, an index is out of range or their lengths
            differ, or the similarity lacks a string.
    """
    config = config or RelevanceConfig()
    array = intents_array(intents)
    queries = _positions(query_index, len(array), "query_index")
    rows = _positions(product_index, len(products), "product_index")
    if len(queries) != len(rows):
        raise MetricInputError(
            "query_index and product_index must be equally long.", given=(len(queries), len(rows))
        )
    pair, reading = _expand(array, queries)
    sides = intent_sides(array)
    match, source = _match_readings(
        sides, products, reading, rows[pair], similarity, config.comparators
    )
    if images is not None:
        _ground(match, sides, reading, rows[pair], images)
    return _resolve(match, source, pair, len(rows), config.vector())


def _positions(values: ArrayLike, size: int, name: str) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or (len(array) and not np.issubdtype(array.dtype, np.integer)):
        raise MetricInputError(f"{name} must be a list of positions.", given=array.dtype)
    array = array.astype(np.int64)
    if len(array) and (array.min() < 0 or array.max() >= size):
        bad = array[(array < 0) | (array >= size)][0]
        raise MetricInputError(
            f"{name} points outside the table.", given=int(bad), allowed=[f"0 … {size - 1}"]
        )
    return array


def _expand(
    array: pa.ListArray, queries: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One row per (pair, intent of its query): the pair's position and the intent's."""
    counts = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    starts = np.cumsum(counts) - counts
    per_pair = counts[queries]
    pair = np.repeat(np.arange(len(queries)), per_pair)
    first = np.cumsum(per_pair) - per_pair
    return pair, starts[queries][pair] + np.arange(len(pair)) - first[pair]


def _match_readings(
    sides: list[Side],
    products: pa.Table,
    reading: NDArray[np.int64],
    rows: NDArray[np.int64],
    similarity: Similarity,
    config: ComparatorConfig,
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """(E, 10) matches, NaN where unexpressed, and what was compared, -1 where unexpressed."""
    match = np.full((len(rows), _N), np.nan)
    source = np.full((len(rows), _N), -1, dtype=np.int8)
    for position, (name, side) in enumerate(zip(domain().names, sides, strict=True)):
        asked = np.flatnonzero((side.source != MISSING)[side.codes[reading]])
        if len(asked):
            match[asked, position], source[asked, position] = match_attribute(
                name, side, products, reading[asked], rows[asked], similarity, config
            )
    return match, source


def _ground(
    match: NDArray[np.float64],
    sides: list[Side],
    reading: NDArray[np.int64],
    rows: NDArray[np.int64],
    images: ImageSimilarity,
) -> None:
    """Lift matches in place to what the product's picture shows (paper 8.0.4)."""
    kinds = sides[domain().names.index("product_type")]
    for name in SOFT_ATTRIBUTES:
        position = domain().names.index(name)
        side = sides[position]
        asked = np.flatnonzero(~np.isnan(match[:, position]))
        values, kind = side.codes[reading[asked]], kinds.codes[reading[asked]]
        if side is kinds:
            kind = np.full_like(kind, -1)  # its own context; the last value is the empty one
        n_kinds = len(kinds.values)
        keys, inverse = np.unique(values * n_kinds + kind % n_kinds, return_inverse=True)
        prompts = [
            prompts_of(side.values[key // n_kinds], " ".join(kinds.values[key % n_kinds]))
            for key in keys.tolist()
        ]
        seen = best_over_rows(prompts, inverse, rows[asked], images)
        match[asked, position] = np.fmax(match[asked, position], seen)


def _weighted(
    match: NDArray[np.float64], counted: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Eq. 7 over the counted attributes; NaN where their weights sum to zero."""
    total = (counted * weights).sum(axis=1)
    weighted = (np.where(counted, match, 0.0) * weights).sum(axis=1)
    out = np.full(len(match), np.nan)
    np.divide(weighted, total, out=out, where=total > 0)
    return out


def _resolve(
    match: NDArray[np.float64],
    source: NDArray[np.int8],
    pair: NDArray[np.int64],
    n_pairs: int,
    weights: NDArray[np.float64],
) -> PairMatches:
    """Best intent of each pair, and for every attribute the best intent that expresses it."""
    expressed = source >= 0
    rel = _weighted(match, expressed, weights)
    known = _weighted(match, expressed & (source != MISSING), weights)
    if len(pair) == n_pairs and np.array_equal(pair, np.arange(n_pairs)):
        intent = np.zeros(n_pairs, dtype=np.int64)  # every query has exactly one
        return PairMatches(
            match, source == MISSING, source == FALLBACK, expressed, rel, known, intent
        )
    order = np.where(np.isnan(rel), -1.0, rel)
    winner = _best(order, pair, n_pairs)
    chosen = np.stack(
        [_best(np.where(expressed[:, a], order, -2.0), pair, n_pairs) for a in range(_N)], axis=1
    )
    sources = _pick(source, chosen, -1)
    first = np.searchsorted(pair, np.arange(n_pairs))
    return PairMatches(
        match=_pick(match, chosen, np.nan),
        missing=sources == MISSING,
        fallback=sources == FALLBACK,
        own=_pick(expressed, np.repeat(winner[:, None], _N, axis=1), False),
        rel=_pick(rel[:, None], winner[:, None], np.nan)[:, 0],
        rel_known=_pick(known[:, None], winner[:, None], np.nan)[:, 0],
        intent=np.where(winner >= 0, winner - first, -1),
    )


def _best(order: NDArray[np.float64], pair: NDArray[np.int64], n_pairs: int) -> NDArray[np.int64]:
    """(n_pairs,) first row with the largest ``order`` of each pair; -1 for a pair without rows."""
    out = np.full(n_pairs, -1, dtype=np.int64)
    if len(pair):
        present, starts, counts = np.unique(pair, return_index=True, return_counts=True)
        rows = np.flatnonzero(order == np.repeat(np.maximum.reduceat(order, starts), counts))
        out[present] = rows[np.unique(pair[rows], return_index=True)[1]]
    return out


def _pick(values: NDArray[Any], rows: NDArray[np.int64], fill: object) -> NDArray[Any]:
    """``values[rows[i, j], j]``, and ``fill`` where the row is -1."""
    out = np.full(rows.shape, fill, dtype=values.dtype)
    some = rows >= 0
    columns = np.broadcast_to(np.arange(rows.shape[1]), rows.shape)
    out[some] = values[rows[some], columns[some]]
    return out


class _Recorder:
    """A Similarity that notes what it is asked and finds nothing alike."""

    name = "recorder"

    def __init__(self) -> None:
        self.strings: set[str] = set()

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        self.strings.update(left, right)
        return np.zeros(len(left))


def required_strings(
    intents: Intents,
    products: pa.Table,
    query_index: ArrayLike,
    product_index: ArrayLike,
    *,
    config: RelevanceConfig | None = None,
) -> list[str]:
    """Every string for which :func:`match_pairs` on these pairs asks its Similarity, sorted.

    Which strings are asked for does not depend on the similarity's answers. Arguments and errors
    are those of :func:`match_pairs`.
    """
    recorder = _Recorder()
    match_pairs(intents, products, query_index, product_index, recorder, config=config)
    return sorted(recorder.strings)


def intent_strings(intents: Intents) -> list[str]:
    """Every value of a softly compared attribute in the intents, as compared, sorted."""
    sides = intent_sides(intents_array(intents))
    found = {
        string
        for name, side in zip(domain().names, sides, strict=True)
        if name in SOFT_ATTRIBUTES
        for value in side.values
        for string in value
    }
    return sorted(found)


def catalog_strings(products: pa.Table) -> list[str]:
    """Every value and category path of a catalog that may be compared softly, sorted.

    Descriptions, which stand in for missing values, are left out: see :func:`required_strings`.
    """
    found = set(category_paths(products).drop_null().to_pylist())
    for key in category_levels(products).unique().drop_null().to_pylist():
        found.update(filter(None, levels_of(key)))
    for name in SOFT_ATTRIBUTES[1:]:
        bare = products.select([one for one in products.column_names if one in _VALUE_COLUMNS])
        side = COMPARATORS[name].product_side(bare, ComparatorConfig())
        found.update(
            string
            for value, source in zip(side.values, side.source, strict=True)
            if source == VALUE
            for string in value
        )
    return sorted(found)
