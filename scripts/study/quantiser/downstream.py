"""What a hierarchy does to the labels of the benchmark that is built on it.

In:  the catalog, its embeddings, semantic IDs.
Out: label noise and the attribute-oracle reference of T1 pools of a sample of leaves.

Label noise is the share of pairs of products in one pool, of different grades, in which the lower
grade has the higher match R(q, p) with the query: there the tree and the query's attributes
contradict each other. Pairs with equal match are counted apart.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fashion_rq_bench.builders.context.stage import context
from fashion_rq_bench.builders.edition.string_vectors import strings
from fashion_rq_bench.builders.hierarchy.clusters import hierarchy
from fashion_rq_bench.builders.queries import generate
from fashion_rq_bench.builders.tasks.config import TaskConfig
from fashion_rq_bench.builders.tasks.stage import candidate_pools, tasks
from fashion_rq_bench.encoders.by_name import load_text_encoder
from fashion_rq_bench.relevance.similarity import StringTable

__all__ = ["downstream", "label_noise"]

ANCHORS = 200


def downstream(
    catalog: pa.Table, embeddings: pa.Table, ids: pa.Table, cache: Path
) -> dict[str, float]:
    """Label noise and the reference's scores, over ``ANCHORS`` leaves drawn at random."""
    encoder = load_text_encoder("minilm")
    clusters = hierarchy(ids, catalog).clusters
    evidence = context(catalog, ids, clusters, embeddings)
    leaves = np.flatnonzero(evidence["level"].to_numpy() == 3)
    drawn = np.sort(np.random.default_rng(0).permutation(leaves)[: 2 * ANCHORS])
    queries = generate(evidence.take(drawn), catalog, ids).table
    config = TaskConfig(max_anchors=ANCHORS)
    pools = candidate_pools(catalog, ids, clusters, queries, config)
    known = StringTable(strings(catalog, queries, pools, encoder, cache=cache), encoder.name)
    made = tasks(catalog, ids, clusters, queries, known, config, pools=pools)
    quality = made.report["quality"]
    assert isinstance(quality, dict)
    reference = quality["reference"]
    wishes = {tier: quality["wishes"][tier]["satisfied"] for tier in ("exact", "sibling")}
    noise, equal = label_noise(made.ranking)
    return {
        "label_noise": noise,
        "equal_match": equal,
        "oracle_t1": reference["ranking"]["ndcg@10"],
        "oracle_t2": reference["classification"]["accuracy"],
        "oracle_t3": reference["sibling"]["ndcg@3"],
        "exact_satisfied": wishes["exact"],
        "sibling_satisfied": wishes["sibling"],
    }


def label_noise(ranking: pa.Table) -> tuple[float, float]:
    """Shares of cross-grade pairs whose lower grade has the higher match, and the same match.

    Args:
        ranking: schema ``RANKING``; candidates hold ``grade`` and ``match``.
    """
    lists = ranking["candidates"].combine_chunks()
    sizes = np.diff(lists.offsets.to_numpy())
    flat = lists.flatten()
    held = np.arange(sizes.max()) < sizes[:, None]
    grades = _padded(flat.field("grade"), held, -1)
    matches = _padded(flat.field("match"), held, np.nan)
    higher = (grades[:, :, None] > grades[:, None, :]) & held[:, None, :]
    lead = (matches[:, :, None] - matches[:, None, :])[higher]
    return float((lead < -1e-6).mean()), float((np.abs(lead) <= 1e-6).mean())


def _padded(values: pa.Array, held: npt.NDArray[np.bool_], blank: float) -> npt.NDArray[np.float64]:
    out = np.full(held.shape, blank)
    out[held] = values.to_numpy(zero_copy_only=False)
    return out
