"""Consistency@K: do paraphrases of one need retrieve the same products?

In:  scores and product ids of the candidates, one row per query, and for each query the group it
     belongs to; for a finer look also its intents.
Out: :class:`Consistency`: the mean over groups, and every group's value.

Implements Consistency@K of the paper's sections 4 and 5 (task 4): the mean pairwise Jaccard
overlap of the top-K product sets of a group's queries, then the mean over groups.

Ties are broken at random, by a hash of (seed, query id, product id), so that each query breaks them
on its own: a scorer that cannot tell products apart gets what chance gives (:func:`chance`), not 1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.stats import hypergeom

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.measures._ragged import (
    Ints,
    Ragged,
    blocks,
    check_same_rows,
    encode_ids,
    number_rows,
)
from fashion_rq_bench.measures._ties import Ties
from fashion_rq_bench.schema.intents import Intents, intents_array

__all__ = ["Consistency", "Relation", "chance", "consistency"]

Floats = NDArray[np.float64]
Relation = Literal["all", "same_intent", "other_intent"]

_RELATIONS = ("all", "same_intent", "other_intent")
_PAIRS_PER_CHUNK = 1 << 14


@dataclass(frozen=True, eq=False)
class Consistency:
    """Consistency@K and what it is over.

    Attributes:
        value: mean over groups, in [0, 1]; NaN if no group has a pair of queries.
        groups: the groups with at least one pair of queries, in order of first appearance.
        per_group: (groups,) mean Jaccard overlap over the pairs of each.
        pairs: (groups,) number of pairs of each.
        left_out: groups without a pair, such as groups of one query.
    """

    value: float
    groups: list[Any]
    per_group: Floats
    pairs: Ints
    left_out: int


def consistency(
    scores: Any,
    ids: Any,
    groups: Sequence[Any],
    k: int = 10,
    *,
    query_ids: Sequence[str] | None = None,
    seed: int = 0,
    samples: int = 1,
    intents: Intents | None = None,
    relation: Relation = "all",
) -> Consistency:
    """Mean pairwise Jaccard overlap of top-k sets within groups (paper, sections 4 and 5).

    Args:
        scores: finite scores, higher is better; 2-D, a list of arrays or Arrow lists.
        ids: product ids of the same shape, each once per query.
        groups: (queries,) label of each query's group.
        k: cut-off ≥ 1. A query with fewer candidates enters with all of them; one without any
            overlaps with nothing.
        query_ids, seed: of the tie-breaking hash; (queries,) ids, by default the positions.
        samples: tie orders to average over (seeds ``seed`` … ``seed + samples − 1``).
        intents: φ of each query, for ``relation``.
        relation: ``"all"`` pairs of a group; only those of ``"same_intent"``, true paraphrases; or
            only those of ``"other_intent"``. Letter case and the order of values do not matter.

    Raises:
        MetricInputError: as the ranking metrics, and if lengths disagree or ids repeat.
    """
    rows = number_rows(scores, "scores")
    codes, products = encode_ids(ids)
    check_same_rows(rows, codes, "ids")
    names = _names(query_ids, len(rows))
    _check_options(k, samples, relation)
    labels, group_of = _number(groups, len(rows))
    first, second = _related(*_pairs(group_of), intents, len(rows), relation)
    ties = Ties(names, products)
    tops = (_top(rows, codes, k, ties, one) for one in range(seed, seed + samples))
    overlaps = sum((_jaccard(top, first, second) for top in tops), np.zeros(len(first)))
    return _summarise(labels, group_of[first], overlaps / samples)


def chance(sizes: ArrayLike, k: int) -> Floats:
    """Expected Jaccard overlap of two random top-k sets of one pool: what no knowledge gives.

    Args:
        sizes: (groups,) candidates in each group's pool.
        k: cut-off; a pool of at most k candidates is retrieved whole, so that its overlap is 1.

    Returns:
        (groups,) in [0, 1].
    """
    sizes = np.asarray(sizes, np.int64)
    top = np.minimum(k, sizes)[:, None]
    shared = np.arange(k + 1)
    probability = hypergeom.pmf(shared, sizes[:, None], top, top)
    expected: Floats = (probability * shared / np.maximum(2 * top - shared, 1)).sum(axis=1)
    return expected


def _check_options(k: Any, samples: Any, relation: str) -> None:
    for name, value in (("k", k), ("samples", samples)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise MetricInputError(f"{name} must be a whole number of at least 1.", given=value)
    if relation not in _RELATIONS:
        raise MetricInputError("There is no such relation.", given=relation, allowed=_RELATIONS)


def _names(query_ids: Sequence[str] | None, queries: int) -> list[str]:
    if query_ids is None:
        return [str(query) for query in range(queries)]
    names = [str(name) for name in query_ids]
    if len(names) != queries or len(set(names)) != queries:
        raise MetricInputError(
            "query_ids must hold one id for each query, and none twice.",
            given=f"{len(names)} ids, {len(set(names))} of them distinct, for {queries} queries",
        )
    return names


def _number(groups: Sequence[Any], queries: int) -> tuple[list[Any], Ints]:
    """The distinct labels in order of first appearance, and each query's place among them."""
    labels = groups.to_pylist() if isinstance(groups, pa.Array | pa.ChunkedArray) else list(groups)
    if len(labels) != queries:
        raise MetricInputError(
            "groups must hold one label for each query.",
            given=f"{len(labels)} labels for {queries} queries",
        )
    place: dict[Any, int] = {}
    try:
        numbers = [place.setdefault(label, len(place)) for label in labels]
    except TypeError as error:
        raise MetricInputError(f"A group's label cannot be used: {error}.") from error
    return list(place), np.array(numbers, np.int64)


def _pairs(group_of: Ints) -> tuple[Ints, Ints]:
    """All pairs of queries of one group."""
    order = np.argsort(group_of, kind="stable")
    sizes = np.bincount(group_of)
    ends = np.repeat(np.cumsum(sizes), sizes)
    later = ends - np.arange(len(order)) - 1  # members of the group after each member
    first = np.repeat(np.arange(len(order)), later)
    step = np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    return order[first], order[first + 1 + step]


def _related(
    first: Ints, second: Ints, intents: Intents | None, queries: int, relation: Relation
) -> tuple[Ints, Ints]:
    """Of pairs of queries those of a relation."""
    if relation == "all":
        return first, second
    keys = _intent_keys(intents, queries)
    keep = (keys[first] == keys[second]) == (relation == "same_intent")
    return first[keep], second[keep]


def _intent_keys(intents: Intents | None, queries: int) -> Ints:
    """A number for each query, equal where φ is."""
    if intents is None:
        raise MetricInputError("Pairs by intent need intents=, one entry per query.")
    readings = intents_array(intents).to_pylist()
    if len(readings) != queries:
        raise MetricInputError(
            "intents must hold one entry for each query.",
            given=f"{len(readings)} entries for {queries} queries",
        )
    keys = [json.dumps(sorted(map(_reading_key, reading or []))) for reading in readings]
    return np.unique(keys, return_inverse=True)[1]


def _reading_key(reading: dict[str, Any]) -> str:
    folded = {
        name: sorted(map(str.casefold, value)) if isinstance(value, list) else value.casefold()
        for name, value in reading.items()
        if value
    }
    return json.dumps(folded, sort_keys=True)


def _top(rows: Ragged, codes: Ragged, k: int, ties: Ties, seed: int) -> Ints:
    """Codes of each query's top k products, (queries, ≤ k), in no order; −1 where fewer."""
    top = np.full((len(rows), min(k, int(rows.lengths.max()))), -1)
    for block in blocks(rows.offsets):
        scores = block.pad(rows.values.astype(np.float64, copy=False), -np.inf)
        code = block.pad(codes.values, -1)
        last = block.width - min(k, block.width)
        least = np.partition(scores, last, axis=1)[:, last, None]  # the kth best score
        within = (scores >= least) & (np.arange(block.width) < block.lengths[:, None])
        many = np.flatnonzero(within.sum(axis=1) > k)
        if len(many):
            query = block.rows[many]
            within[many] = ties.keep(within[many], scores[many], query, code[many], k, seed)
        row, column = np.nonzero(within)
        place = np.arange(len(row)) - np.searchsorted(row, row)
        top[block.rows[row], place] = code[row, column]
    return top


def _jaccard(top: Ints, first: Ints, second: Ints) -> Floats:
    """Jaccard overlap of the sets of each pair of queries; 0 for two empty ones."""
    width = top.shape[1]
    sizes = (top >= 0).sum(axis=1)
    filled = np.where(top >= 0, top, -1 - np.arange(width))  # fillers match nothing
    shared = np.empty(len(first), np.int64)
    for start in range(0, len(first), _PAIRS_PER_CHUNK):
        chunk = slice(start, start + _PAIRS_PER_CHUNK)
        others = filled[second[chunk]]
        others[others < 0] -= width
        both = np.sort(np.hstack([filled[first[chunk]], others]), axis=1)
        shared[chunk] = (both[:, 1:] == both[:, :-1]).sum(axis=1)
    overlaps: Floats = shared / np.maximum(sizes[first] + sizes[second] - shared, 1)
    return overlaps


def _summarise(labels: list[Any], group: Ints, overlaps: Floats) -> Consistency:
    pairs = np.bincount(group, minlength=len(labels))
    present = np.flatnonzero(pairs)
    per_group = np.bincount(group, overlaps, minlength=len(labels))[present] / pairs[present]
    return Consistency(
        value=float(per_group.mean()) if len(present) else float("nan"),
        groups=[labels[one] for one in present],
        per_group=per_group,
        pairs=pairs[present],
        left_out=len(labels) - len(present),
    )
