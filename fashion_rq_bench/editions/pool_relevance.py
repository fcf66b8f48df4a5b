"""How well every pool pair satisfies its query's intents: R(q, p) and the ten matches.

In:  a :class:`~fashion_rq_bench.editions.pools.Collection` (intents, product
     columns and ``strings`` of its edition).
Out: :class:`Judgements`, computed once per collection; it depends on no retriever. The oracle
     ranks by it, and Rel and AttrScore of every retriever are read off it (paper, Eq. 7).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fashion_rq_bench.editions.edition import Edition, in_its_domain
from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.encoders.by_name import TextEncoder, load_text_encoder
from fashion_rq_bench.errors import EditionError, ModelError
from fashion_rq_bench.relevance.intents import expressed
from fashion_rq_bench.relevance.pair_relevance import PairMatches, match_pairs
from fashion_rq_bench.relevance.similarity import StringTable

__all__ = ["Judgements", "declared_similarity", "judge", "match_any"]


@dataclass(frozen=True, eq=False)
class Judgements:
    """Matches of the U pairs of a collection.

    Attributes:
        matches: ten matches and R(q, p) of every pair.
        asked: (Q, 10) which attributes each query expresses.
    """

    matches: PairMatches
    asked: NDArray[np.bool_]


@lru_cache(maxsize=2)
@in_its_domain
def judge(collection: Collection) -> Judgements:
    """Match every pair of a collection.

    Raises:
        EditionError: the ``queries`` config lacks a query of a pool.
        MetricInputError, MissingDependencyError, ModelError: ``strings`` lacks a string, and the
            declared encoder is not at hand or is another revision.
    """
    pairs = collection.pairs
    intents = _intents(collection)
    corpus = collection.edition.table("corpus").take(pa.array(pairs.products))
    matches = match_pairs(
        intents,
        corpus,
        pairs.query_index,
        np.searchsorted(pairs.products, pairs.product_index),
        declared_similarity(collection),
    )
    return Judgements(matches, expressed(intents))


@in_its_domain
def match_any(
    collection: Collection,
    query_index: NDArray[np.int64],
    product_index: NDArray[np.int64],
    *,
    encode: bool = True,
) -> Judgements:
    """Match pairs that need not be in any pool.

    Args:
        collection: the edition's.
        query_index: (P,) positions in ``pairs.query_ids``.
        product_index: (P,) positions in the corpus.
        encode: encode strings that the edition keeps no vector of (descriptions that stand in for
            a missing value); otherwise they are like nothing, with similarity 0.

    Raises:
        As :func:`judge`.
    """
    intents = _intents(collection)
    used, place = np.unique(product_index, return_inverse=True)
    corpus = _corpus(collection).take(pa.array(used))
    similarity = _similarity(collection) if encode else _known_similarity(collection)
    matches = match_pairs(intents, corpus, query_index, place, similarity)
    return Judgements(matches, expressed(intents))


@lru_cache(maxsize=2)
def _corpus(collection: Collection) -> pa.Table:
    return collection.edition.table("corpus").combine_chunks()


@lru_cache(maxsize=2)
def _similarity(collection: Collection) -> StringTable:
    return declared_similarity(collection)


@lru_cache(maxsize=2)
def _known_similarity(collection: Collection) -> StringTable:
    edition = collection.edition
    name = f"{edition.encoder['name']}, known strings only"
    return StringTable(edition.table("strings"), name, _Nothing(int(edition.manifest["dim"])))


@dataclass(frozen=True)
class _Nothing:
    """An encoder that finds nothing in any text."""

    dim: int

    def encode(self, texts: list[str], /) -> NDArray[np.float32]:
        return np.zeros((len(texts), self.dim), dtype=np.float32)


def declared_similarity(collection: Collection) -> StringTable:
    """The edition's own similarity; a string it lacks goes to the declared encoder."""
    edition = collection.edition
    name = str(edition.encoder["name"])
    return StringTable(edition.table("strings"), name, lambda: _declared_encoder(collection))


def _declared_encoder(collection: Collection) -> TextEncoder:
    edition: Edition = collection.edition
    declared = str(edition.encoder["revision"])
    encoder = load_text_encoder(str(edition.encoder["name"]), corpus=collection.texts.to_pylist())
    if encoder.revision != declared:
        raise ModelError(
            f"The edition's strings were encoded by another revision of {encoder.name}.",
            given=encoder.revision,
            allowed=[declared],
            fix="Rebuild the edition, or install the version of the encoder that it declares.",
        )
    return encoder


def _intents(collection: Collection) -> pa.ListArray:
    """Intents of the collection's queries, in its order."""
    table = collection.edition.table("queries", ["query_id", "intents"]).combine_chunks()
    known = table["query_id"].combine_chunks()
    place = pc.index_in(pa.array(collection.pairs.query_ids, pa.string()), value_set=known)
    if place.null_count:
        absent = collection.pairs.query_ids[int(np.argmax(place.is_null().to_numpy(False)))]
        raise EditionError(
            f"The config 'queries' of the edition at {collection.edition.path} lacks a query of "
            "its tasks.",
            given=absent,
            fix="Rebuild the edition.",
        )
    return table["intents"].take(place).combine_chunks()
