"""Which query is asked of which twins (paper 8.0.5, Matched-pair ablation).

In:  queries' intents, a catalog, disjoint twin pairs of one attribute.
Out: observations (query, product that matches it, its twin that does not), and for each a second
     query that does not speak of the attribute, for the null.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench.builders.weights.match_codes import match_codes
from fashion_rq_bench.relevance.comparators import VALUE, ComparatorConfig, Side
from fashion_rq_bench.relevance.comparators._sides import SEPARATOR, distinct
from fashion_rq_bench.relevance.comparators.tier import tier_of_hint
from fashion_rq_bench.relevance.intents import Intents, expressed, intent_sides, intents_array
from fashion_rq_bench.schema.attributes import Attribute
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.words.vocabulary import token_key

__all__ = ["Observations", "QueryIndex", "observations"]

_ANY = ""
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Observations:
    """(query, twin pair) observations of one attribute, M of them.

    Attributes:
        attribute: in which the twins differ.
        query: (M,) position of the query, which asks for the first product's value.
        first: (M,) position of the product that matches.
        second: (M,) position of its twin, a mismatch.
        twin: (M,) number of the pair, below ``n_twins``; a pair may be asked several queries.
        null_query: (M,) position of a random query that does not express the attribute.
    """

    attribute: str
    query: Positions
    first: Positions
    second: Positions
    twin: Positions
    null_query: Positions

    def __len__(self) -> int:
        return len(self.query)


class QueryIndex:
    """Queries by product type and one attribute's value, so that twins find theirs by a look-up.

    Args:
        intents: one entry per query. Queries of several intents are not asked: which of them a
            product was scored against could not be said.
        config: settings of the comparators.

    Attributes:
        n_queries: how many queries there are.
        n_several: how many of them have several intents.
        asks: (Q, A) bool, which of the A attributes each query expresses.
    """

    def __init__(self, intents: Intents, config: ComparatorConfig) -> None:
        array = intents_array(intents)
        lengths = np.diff(array.offsets.to_numpy())
        self.intents, self.config = array, config
        self.n_queries, self.n_several = len(array), int((lengths > 1).sum())
        self.asks = expressed(array)
        self._alone = np.flatnonzero(lengths == 1)
        self._sides = intent_sides(array)
        self._reading = (np.cumsum(lengths) - lengths)[self._alone]

    def by_value(self, attribute: str) -> dict[tuple[str, str], Positions]:
        """Positions of the queries that express (type, value); the type "" is no type.

        For the type itself the key is ("", type).
        """
        found: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        noun = domain().type.name
        values, types = self._strings(attribute), self._strings(noun)
        for query, mine, kinds in zip(self._alone.tolist(), values, types, strict=True):
            for value in mine:
                kind = _ANY if attribute == noun or not kinds else kinds[0]
                found[kind, value].append(query)
        return {key: np.array(rows) for key, rows in found.items()}

    def _strings(self, attribute: str) -> list[tuple[str, ...]]:
        """The values of the queries of one intent, in the form in which products hold them."""
        side = self._sides[domain().names.index(attribute)]
        known = {
            code: _query_form(domain().by_name[attribute], value, self.config)
            for code, value in enumerate(side.values)
        }
        return [known[code] for code in side.codes[self._reading].tolist()]


def _query_form(
    attribute: Attribute, values: tuple[str, ...], config: ComparatorConfig
) -> tuple[str, ...]:
    if attribute.comparator == "category":
        return tuple(filter(None, map(token_key, values)))
    if attribute.comparator == "tier":
        return tuple(tier for value in values if (tier := tier_of_hint(value, config)))
    return values


def observations(
    pairs: Positions,
    attribute: str,
    index: QueryIndex,
    products: pa.Table,
    sides: Sequence[Side],
    rng: np.random.Generator,
    *,
    queries_per_twin: int = 3,
) -> Observations:
    """Ask twins the queries that tell them apart.

    A query is asked of a pair if one product matches it in the attribute, the other does not, and
    neither violates another wish of it.

    Args:
        pairs: (P, 2) positions in ``products``, from :func:`~.twin_pairs.disjoint_pairs`.
        attribute: in which they differ.
        index: the queries.
        products: a catalog of N products.
        sides: of the products, from :func:`~.match_codes.product_sides`.
        rng: draws queries.
        queries_per_twin: at most so many queries are drawn for each product of a pair.
    """
    oriented = np.concatenate([pairs, pairs[:, ::-1]])
    twin = np.tile(np.arange(len(pairs)), 2)
    candidates = _candidates(oriented[:, 0], attribute, index, sides)
    row, query = _draw(candidates, queries_per_twin, rng)
    first, second, twin = oriented[row, 0], oriented[row, 1], twin[row]
    good = _tells_apart(attribute, index, products, query, first, second)
    query, first, second, twin = query[good], first[good], second[good], twin[good]
    silent = np.flatnonzero(~index.asks[:, domain().names.index(attribute)])
    pool = silent if len(silent) else np.arange(index.n_queries)
    null = rng.choice(pool, size=len(query)) if len(query) else query
    twin = np.unique(twin, return_inverse=True)[1]
    return Observations(attribute, query, first, second, twin, null)


def _tells_apart(
    attribute: str,
    index: QueryIndex,
    products: pa.Table,
    query: Positions,
    first: Positions,
    second: Positions,
) -> NDArray[np.bool_]:
    at = domain().names.index(attribute)
    one, two = (
        match_codes(index.intents, products, query, side, index.config) for side in (first, second)
    )
    others = np.delete(np.minimum(one, two), at, axis=1)
    apart: NDArray[np.bool_] = (one[:, at] == 1.0) & (two[:, at] == 0.0)
    return apart & np.asarray((others > 0.0).all(axis=1))


_Ragged = tuple[Positions, Positions, Positions]


def _candidates(
    rows: Positions, attribute: str, index: QueryIndex, sides: Sequence[Side]
) -> _Ragged:
    """Queries that ask for the (type, value) of each product: all in a row, starts, counts."""
    found = index.by_value(attribute)
    kind, own = (sides[domain().names.index(one)] for one in (domain().type.name, attribute))
    width = len(own.values)
    combined = kind.codes[rows] * width + own.codes[rows]
    combos, which = distinct(combined, len(kind.values) * width)
    lists = [
        _of_combo(kind.values[combo // width], own, combo % width, attribute, found)
        for combo in combos.tolist()
    ]
    counts = np.array([len(one) for one in lists], dtype=np.int64)
    starts = np.cumsum(counts) - counts
    flat = np.concatenate([*lists, np.zeros(0, np.int64)]).astype(np.int64)
    return flat, starts[which], counts[which]


def _of_combo(
    path: tuple[str, ...],
    own: Side,
    code: int,
    attribute: str,
    found: dict[tuple[str, str], Positions],
) -> Positions:
    if own.source[code] != VALUE:
        return np.zeros(0, dtype=np.int64)
    levels = [token_key(level) for one in path for level in one.split(SEPARATOR)]
    if attribute == domain().type.name:
        keys = [(_ANY, level) for level in levels]
    else:
        keys = [(level, value) for level in (_ANY, *levels) for value in own.values[code]]
    return np.unique(np.concatenate([found.get(key, np.zeros(0, np.int64)) for key in keys]))


def _draw(candidates: _Ragged, most: int, rng: np.random.Generator) -> tuple[Positions, Positions]:
    """At most ``most`` distinct candidates per row: the row and the candidate of each."""
    flat, starts, counts = candidates
    row = np.repeat(np.flatnonzero(counts), most)
    picked = starts[row] + (rng.random(len(row)) * counts[row]).astype(np.int64)
    chosen = np.unique(np.stack([row, flat[picked]], axis=1), axis=0)
    return chosen[:, 0], chosen[:, 1]
