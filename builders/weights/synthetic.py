"""Queries, product texts and labelled pairs of any catalog, without a log of searches.

In:  a catalog.
Out: short queries with their intents, drawn from products; the text of every product; pairs whose
     relevance is drawn from the comparators' R(q, p).

This trains a cross-encoder where there is neither ESCI nor a log (paper 8.0.5 has both). Weights
fitted to it can only give back what R(q, p) already holds: it shows that the method works, and is
no evidence of what shoppers care for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.special import expit

from fashion_rq_bench.builders.weights.match_codes import match_codes
from fashion_rq_bench.builders.weights.training_pairs import PAIRS, product_lines
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.relevance.intents import expressed, intents_array
from fashion_rq_bench.relevance.pair_relevance import match_pairs
from fashion_rq_bench.relevance.similarity import LexicalSimilarity, Similarity
from fashion_rq_bench.schema.domain import domain

__all__ = ["SyntheticConfig", "SyntheticQueries", "draw_pairs", "draw_queries", "product_texts"]

_CANDIDATES = 40
"""Products of the query's type, and as many of the whole catalog, from which a pair is chosen."""


def _told_by_texts() -> tuple[str, ...]:
    return tuple(one.name for one in domain().attributes if one.role != "price")


@dataclass(frozen=True)
class SyntheticConfig:
    """What is drawn.

    Attributes:
        n_queries: queries; each gives two pairs at most.
        wishes: attributes that a query names at most, the product type among them. With few, one
            miss outweighs what is met, so a label says more of the attribute that was missed.
        attributes: that a query may name; the product type always is. Price is left out by default,
            since no product text states it.
        threshold: R(q, p) at which half the pairs are relevant.
        steepness: of the logistic curve around it.
        bare_share: share of products whose text gives the type in place of the title. Most titles
            repeat the attributes, and a model that reads them alone fails where they do not.
        easy_share: share of second pairs that violate several wishes, where there is such; the
            others violate one.
        seed: of everything drawn.
    """

    n_queries: int = 2_500
    wishes: int = 2
    attributes: tuple[str, ...] = field(default_factory=_told_by_texts)
    threshold: float = 0.85
    steepness: float = 20.0
    bare_share: float = 0.5
    easy_share: float = 0.25
    seed: int = 42

    def __post_init__(self) -> None:
        if self.n_queries < 1 or self.wishes < 1 or not self.steepness > 0:
            raise ConfigError("n_queries and wishes must be at least 1, steepness above 0.")
        for name in self.attributes:
            if name not in domain().names:
                raise ConfigError("A query cannot name this.", given=name, allowed=domain().names)
        for share in (self.threshold, self.bare_share, self.easy_share):
            if not 0 <= share <= 1:
                raise ConfigError(
                    "threshold, bare_share and easy_share must be in [0, 1].", given=share
                )


@dataclass(frozen=True)
class SyntheticQueries:
    """Queries drawn from products.

    Attributes:
        texts: (Q,) e.g. "navy blue puma shirts for men".
        intents: (Q,) ``list<INTENT>``, one intent each.
        source: (Q,) position of the product that each was drawn from; it satisfies every wish.
    """

    texts: list[str]
    intents: pa.ListArray
    source: NDArray[np.int64]


def draw_queries(products: pa.Table, config: SyntheticConfig | None = None) -> SyntheticQueries:
    """Draw products, name the type and some other attributes of each.

    Args:
        products: a catalog (schema CATALOG).
        config: how many, of what.

    Raises:
        InputError: if no product has a type.
    """
    config = config or SyntheticConfig()
    rng = np.random.default_rng([config.seed, 1])
    columns = {name: _values(products, name) for name in domain().names}
    noun = domain().type.name
    typed = np.flatnonzero([bool(value) for value in columns[noun]])
    if not len(typed):
        raise InputError("No product has an article type, so no query can be drawn.")
    source = rng.choice(typed, config.n_queries)
    intents, texts = [], []
    for row in source.tolist():
        wished = _wishes({name: columns[name][row] for name in config.attributes}, config, rng)
        intent = {noun: columns[noun][row], **wished}
        texts.append(_spoken(intent, rng))
        lists = {name: [value] for name, value in intent.items() if name in domain().many}
        intents.append(intent | lists)
    return SyntheticQueries(texts, intents_array(intents), source)


def _values(products: pa.Table, name: str) -> list[str | None]:
    """An attribute's first value of every product."""
    column = domain().by_name[name].column
    if column not in products.column_names:
        return [None] * len(products)
    values = products[column].to_pylist()
    return [(value[0] if value else None) if isinstance(value, list) else value for value in values]


def _wishes(
    have: dict[str, str | None], config: SyntheticConfig, rng: np.random.Generator
) -> dict[str, str]:
    known = {name: value for name, value in have.items() if value and name != domain().type.name}
    names = list(known)
    chosen = rng.choice(len(names), min(len(names), config.wishes - 1), replace=False).tolist()
    return {names[at]: known[names[at]] for at in chosen}


def _spoken(intent: dict[str, Any], rng: np.random.Generator) -> str:
    """The wishes in plain words, whom it is for before or after the rest."""
    noun, people = domain().type.name, [domain().name_of(role) for role in ("person", "age")]
    words = [intent[name] for name in _order() if name in intent and name not in (noun, *people)]
    thing = " ".join([*(words[at] for at in rng.permutation(len(words))), intent[noun]])
    who = " ".join(intent[name] for name in people if name in intent)
    if who:
        thing = f"{thing} for {who}" if rng.random() < 0.5 else f"{who} {thing}"
    return thing.casefold()


def _order() -> list[str]:
    """Names of the attributes in the order in which a draw shuffles them."""
    first = domain().set_of("drawn")
    place = {column: at for at, column in enumerate(first)}
    found = sorted(domain().attributes, key=lambda one: place.get(one.column, len(first)))
    return [one.name for one in found]


def product_texts(
    products: pa.Table, *, description: bool = False, bare_share: float = 0.0, seed: int = 42
) -> list[str]:
    """What a cross-encoder reads of every product, see :func:`~.training_pairs.product_lines`.

    Args:
        products: a catalog.
        description: whether it is told; most are long, and a short text trains faster.
        bare_share, seed: see :class:`SyntheticConfig`.
    """
    bare = pa.array(np.random.default_rng([seed, 3]).random(len(products)) < bare_share)
    columns = [pc.if_else(bare, products[domain().type.column], products["title"])]
    columns += [products[name] for name in domain().set_of("line") if name in products.column_names]
    columns += [products["description"]] if description else []
    return product_lines(*(column.to_pylist() for column in columns))


def draw_pairs(
    queries: SyntheticQueries,
    products: pa.Table,
    texts: list[str],
    config: SyntheticConfig | None = None,
    similarity: Similarity | None = None,
) -> pa.Table:
    """Two pairs per query: a product that satisfies every wish, and one that violates one or more.

    The wish that the second violates is any of the query's with even chances, so that no attribute
    is learnt at the cost of another. Whether a pair is relevant is drawn with probability
    σ(steepness · (R(q, p) − threshold)).

    Args:
        queries: from :func:`draw_queries` of the same catalog.
        products: the catalog.
        texts: of the products, from :func:`product_texts`.
        config: how relevance is drawn.
        similarity: of the soft comparisons; letter trigrams by default, which need no model.

    Returns:
        ``PAIRS`` with source "synthetic", no label, and R(q, p) as gain.
    """
    config = config or SyntheticConfig()
    rng = np.random.default_rng([config.seed, 2])
    shown = _candidates(products, queries.source, rng)
    owner = np.repeat(np.arange(len(shown)), shown.shape[1])
    codes = match_codes(queries.intents, products, owner, shown.ravel())
    chosen = _choose(codes.reshape(*shown.shape, -1), expressed(queries.intents), config, rng)
    query, place = np.nonzero(chosen)
    product = shown[query, place]
    rel = match_pairs(
        queries.intents, products, query, product, similarity or LexicalSimilarity()
    ).rel
    chance = expit(config.steepness * (rel - config.threshold))
    relevant = rng.random(len(rel)) < chance
    ids = products["product_id"].take(pa.array(product))
    return _table(query, queries.texts, ids, [texts[at] for at in product.tolist()], relevant, rel)


def _candidates(
    products: pa.Table, source: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """(Q, 1 + 2 · 40) positions: the query's own product, products of its type, any products."""
    kind = products[domain().type.column].combine_chunks().dictionary_encode().indices
    codes = kind.fill_null(-1).to_numpy()
    order = np.argsort(codes, kind="stable")
    low, high = (np.searchsorted(codes[order], codes[source], side) for side in ("left", "right"))
    size = (len(source), _CANDIDATES)
    alike = order[low[:, None] + (rng.random(size) * (high - low)[:, None]).astype(np.int64)]
    return np.column_stack([source, alike, rng.integers(0, len(products), size)])


def _choose(
    codes: NDArray[np.float64],
    asked: NDArray[np.bool_],
    config: SyntheticConfig,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """(Q, C) bool: one candidate that matches every wish, and one that does not.

    Args:
        codes: (Q, C, A) match codes.
        asked: (Q, A) which attributes each query names.
        config: how often the second violates several wishes.
        rng: draws.
    """
    violated = (codes == 0) & asked[:, None, :]
    n_violated = violated.sum(axis=2)
    full = ((codes == 1) | ~asked[:, None, :]).all(axis=2)
    tie = rng.random(full.shape)
    turn = rng.random((len(codes), codes.shape[2]))  # which wish's turn it is, by query
    one = np.where(n_violated == 1, (violated * turn[:, None, :]).max(axis=2), 0.0)
    several = (n_violated > 1).astype(float)
    easy = (rng.random(len(codes)) < config.easy_share) & several.any(axis=1)
    wrong = np.where(easy[:, None], several, one)
    good = full.any(axis=1) & wrong.any(axis=1)
    chosen = np.zeros(full.shape, dtype=np.bool_)
    rows = np.flatnonzero(good)
    best = wrong == wrong.max(axis=1, keepdims=True)
    for allowed in (full, best):
        chosen[rows, np.where(allowed, tie, -1.0).argmax(axis=1)[rows]] = True
    return chosen


def _table(
    query: NDArray[np.int64],
    texts: list[str],
    product_ids: pa.ChunkedArray,
    shown: list[str],
    relevant: NDArray[np.bool_],
    rel: NDArray[np.float64],
) -> pa.Table:
    n = len(query)
    columns = {
        "source": pa.array(["synthetic"] * n, pa.string()),
        "split": pa.nulls(n, pa.string()),
        "query_id": pa.array([f"s{at}" for at in query.tolist()], pa.string()),
        "query": pa.array([texts[at] for at in query.tolist()], pa.string()),
        "product_id": product_ids,
        "text": pa.array(shown, pa.string()),
        "label": pa.nulls(n, pa.string()),
        "relevant": pa.array(relevant.astype(np.int8)),
        "gain": pa.array(rel),
    }
    return pa.table(columns).cast(PAIRS).combine_chunks()
