"""Plain queries beside an edition's own, and how both fare under the attribute oracle.

In:  an edition.
Out: :class:`Bench`, which scores any queries on the edition's anchors.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fashion_rq_bench.builders.hierarchy.clusters import code_matrix
from fashion_rq_bench.builders.queries.say.candidate_wishes import wish_incidence
from fashion_rq_bench.builders.queries.say.lexicon import type_forms
from fashion_rq_bench.builders.queries.say.planning import Source
from fashion_rq_bench.builders.queries.say.wish_sets import PrefixIndex, WishSpace
from fashion_rq_bench.builders.tasks.candidate_pools import Pools, pool_pairs, ragged_take
from fashion_rq_bench.builders.tasks.reference_scores import reference
from fashion_rq_bench.builders.tasks.stage import TaskConfig, candidate_pools
from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.encoders.by_name import load_text_encoder
from fashion_rq_bench.measures.ranking import ndcg
from fashion_rq_bench.relevance.intents import expressed
from fashion_rq_bench.relevance.pair_relevance import PairMatches, match_pairs
from fashion_rq_bench.relevance.satisfaction import oracle_scores
from fashion_rq_bench.relevance.similarity import StringTable
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import catalog_schema, queries_schema
from fashion_rq_bench.support import settings as _config

Facts = dict[str, Any]


def plain_queries(
    corpus: pa.Table, codes: npt.NDArray[np.int64], leaves: list[list[int]]
) -> pa.Table:
    """Two wordings per leaf of its dominant colour, product type and gender."""
    index = PrefixIndex(codes)
    rows = []
    for leaf in leaves:
        products = corpus.take(index.members(leaf))
        kind, color, person = (_dominant(products, role) for role in ("type", "color", "person"))
        said = {"type": kind, "color": color, "person": person}
        intent = {
            one.name: [said[one.role].casefold()] if one.many else said[one.role].casefold()
            for one in domain().attributes
            if said.get(one.role)
        }
        many = type_forms(kind).many[0]
        text = " ".join(filter(None, [color.lower(), many, person and f"for {person.lower()}"]))
        for place, words in enumerate((text, f"looking for {text}")):
            rows.append(
                {
                    "query_id": f"p{'-'.join(map(str, leaf))}.{place}",
                    "query": words,
                    "prefix": leaf,
                    "level": len(leaf),
                    "intents": [{**dict.fromkeys(domain().names), **intent}],
                    "source": "plain",
                }
            )
    return pa.Table.from_pylist(rows, schema=queries_schema())


def _dominant(products: pa.Table, role: str) -> str:
    """The commonest value of the attribute of a role; "" where there is none."""
    one = domain().role(role)
    counts = Counter(value for value in products[one.column].to_pylist() if value) if one else {}
    return min(counts, key=lambda value: (-counts[value], value)) if counts else ""


# ---------------------------------------------------------------- measuring


class Bench:
    """An edition's catalog, hierarchy and similarity, on which any queries can be measured."""

    def __init__(self, edition: Edition) -> None:
        self.corpus = edition.table("corpus").combine_chunks()
        self.catalog = self.corpus.select(catalog_schema().names)
        self.ids = self.corpus.select(["product_id", "semantic_id"])
        self.codes = code_matrix(self.ids, self.catalog)
        self.clusters = edition.table("clusters")
        self.asked = set(map(tuple, edition.table("queries")["prefix"].to_pylist()))
        self.config = _config.from_mapping(TaskConfig, edition.manifest["config"]["tasks"])
        name = str(edition.encoder["name"])
        self.similarity = StringTable(
            edition.table("strings"), name, lambda: load_text_encoder(name)
        )

    @property
    def leaves(self) -> list[list[int]]:
        """Qualifying leaves that the edition has queries of."""
        level = self.codes.shape[1]
        found: list[list[int]] = self.clusters.filter(pc.field("level") == level)[
            "prefix"
        ].to_pylist()
        return [leaf for leaf in found if tuple(leaf) in self.asked]

    def measure(self, queries: pa.Table) -> Facts:
        """The oracle's figures, its nDCG@10 per query, and what the queries express."""
        pools = candidate_pools(self.catalog, self.ids, self.clusters, queries, self.config)
        used, query, product = pool_pairs(pools)
        matches = match_pairs(
            pools.queries["intents"], self.catalog.take(used), query, product, self.similarity
        )
        ids = self.catalog["product_id"].combine_chunks()
        return {
            **reference(pools, matches, ids),
            "ndcg": _ndcg(pools, matches),
            "wishes_of": expressed(pools.queries["intents"]),
            "types": np.array(pools.article_types, dtype=object)[pools.query_anchor],
            "prefixes": pools.prefixes,
        }


def _ndcg(pools: Pools, matches: PairMatches) -> npt.NDArray[np.float64]:
    places, offsets = ragged_take(pools.offsets, pools.query_anchor)
    rows = [
        pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values))
        for values in (oracle_scores(matches)[: len(places)], pools.grades[places])
    ]
    return ndcg(*rows, 10)


def separable(bench: Bench) -> dict[tuple[int, ...], float]:
    """By leaf: how much more of it than of its siblings the best set of wishes fits; 0 if none."""
    values, index = wish_incidence(bench.catalog), PrefixIndex(bench.codes)
    gaps = {}
    for leaf in bench.leaves:
        around = index.around(leaf)
        if not len(around.sibling):
            continue
        sets = Source(WishSpace(values, around)).apart
        gaps[tuple(leaf)] = max((one.exact - one.sibling for one in sets), default=0.0)
    return gaps
