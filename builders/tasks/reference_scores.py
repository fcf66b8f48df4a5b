"""How far an edition's labels can be followed: floor, attribute-oracle reference, wishes met.

In:  pools and the matches of their pairs.
Out: per task what a random scorer gets and what ranking by R(q, p) gets; per grade the share of
     pairs that satisfy every wish of their query.

The metrics are those of the paper's section 5. The floor is an expectation over the actual pools,
not a sample. The oracle is a reference and no bound: a text can say more than ten attributes. A
model is to be read between the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fashion_rq_bench.builders.hierarchy.prefix_tree import Ints
from fashion_rq_bench.builders.tasks.candidate_pools import Pools, ragged_take
from fashion_rq_bench.measures.classification import (
    class_sizes,
    classes_by_rank,
    classification_report,
)
from fashion_rq_bench.measures.consistency import chance, consistency
from fashion_rq_bench.measures.ranking import mean, ndcg, recall
from fashion_rq_bench.relevance.intents import expressed
from fashion_rq_bench.relevance.pair_relevance import PairMatches
from fashion_rq_bench.relevance.satisfaction import Wishes, oracle_scores, wishes_satisfied
from fashion_rq_bench.schema.grades import GRADE_NAMES

__all__ = ["reference", "wish_satisfaction"]

_CONSISTENCY_AT = (5, 10)

Facts = dict[str, Any]
Floats = npt.NDArray[np.float64]


def reference(pools: Pools, matches: PairMatches, ids: pa.Array) -> Facts:
    """Floor, oracle reference and wish satisfaction of the four tasks.

    Args:
        pools: the pools.
        matches: of the pairs of ``candidate_pools.pool_pairs``, in its order.
        ids: (N,) product ids of the catalog.

    Returns:
        ``quality``: ``floor`` and ``reference`` (task to metric to mean), and ``wishes`` (per
        grade); ``wishes``: the same shares by number of wishes and by the anchor's product type;
        ``pairs_without_match``: T1 pairs whose query expresses no attribute.
    """
    scores = oracle_scores(matches)
    wishes = wish_satisfaction(pools, matches)
    ranked = int(np.diff(pools.offsets)[pools.query_anchor].sum())
    return {
        "quality": {
            "floor": _scores(pools, np.zeros_like(scores)) | {"paraphrase": _chance(pools)},
            "reference": _scores(pools, scores)
            | {"paraphrase": _consistency(pools, scores[:ranked], ids)},
            "wishes": wishes.pop("all"),
        },
        "wishes": wishes,
        "pairs_without_match": int(np.isnan(matches.rel[:ranked]).sum()),
    }


def _scores(pools: Pools, scores: Floats) -> Facts:
    """T1, T2 and T3 of one score per pair; of a constant score, what chance gives."""
    places, offsets = ragged_take(pools.offsets, pools.query_anchor)
    ranked, siblings = np.split(scores, [len(places)])
    grades = pools.grades[places]
    t1 = _rows(ranked, offsets), _rows(grades, offsets)
    t3 = (
        _rows(siblings, pools.sibling_offsets),
        _rows(pools.targets.astype(np.int8), pools.sibling_offsets),
    )
    return {
        "ranking": _means({"ndcg@10": ndcg(*t1, 10), "recall@10": recall(*t1, 10)}),
        "classification": _classification(pools, ranked),
        "sibling": _means({"ndcg@3": ndcg(*t3, 3), "recall@3": recall(*t3, 3)}),
    }


def _classification(pools: Pools, scores: Floats) -> Facts:
    places, offsets = ragged_take(pools.offsets, pools.query_anchor)
    kept = np.flatnonzero(pools.in_classification[places])
    small = np.searchsorted(kept, offsets)
    grades = pools.grades[places[kept]].astype(np.int64)
    sizes = class_sizes(_rows(grades, small))
    report = classification_report(grades, classes_by_rank(_rows(scores[kept], small), sizes))
    return {"accuracy": report.accuracy, "macro_f1": report.macro_f1}


def _consistency(pools: Pools, scores: Floats, ids: pa.Array) -> Facts:
    places, offsets = ragged_take(pools.offsets, pools.query_anchor)
    products = ids.take(pools.products[places])
    names = pools.queries["query_id"].to_pylist()
    return {
        f"consistency@{k}": consistency(
            _rows(scores, offsets),
            _rows(products, offsets),
            pools.query_anchor.tolist(),
            k,
            query_ids=names,
        ).value
        for k in _CONSISTENCY_AT
    }


def _chance(pools: Pools) -> Facts:
    sizes = np.diff(pools.offsets)[np.bincount(pools.query_anchor) >= 2]
    return _means({f"consistency@{k}": chance(sizes, k) for k in _CONSISTENCY_AT})


def _means(values: dict[str, Floats]) -> dict[str, float]:
    return {name: mean(array).value for name, array in values.items()}


def _rows(values: npt.NDArray[Any] | pa.Array, offsets: Ints) -> pa.Array:
    flat = values if isinstance(values, pa.Array) else pa.array(values)
    return pa.LargeListArray.from_arrays(pa.array(offsets), flat)


def wish_satisfaction(pools: Pools, matches: PairMatches) -> Facts:
    """Share of T1's pairs that satisfy every wish of their query, by grade.

    Args:
        pools, matches: as for :func:`reference`.

    Returns:
        ``all``, ``by_number_of_wishes`` and ``by_product_type``: grade to ``pairs`` (count),
        ``satisfied`` and ``unknown`` (shares in [0, 1], NaN without pairs; unknown is a wish of
        which the product says nothing).
    """
    places, offsets = ragged_take(pools.offsets, pools.query_anchor)
    query = np.repeat(np.arange(len(pools.queries)), np.diff(offsets))
    grades = pools.grades[places].astype(np.int64)
    wishes = wishes_satisfied(matches.take(np.arange(len(places))))
    asked = expressed(pools.queries["intents"]).sum(axis=1)
    types, kind = np.unique(np.array(pools.article_types, dtype=object), return_inverse=True)
    numbers = [str(number) for number in range(int(asked.max(initial=0)) + 1)]
    return {
        "all": _shares(np.zeros_like(grades), ["all"], grades, wishes)["all"],
        "by_number_of_wishes": _shares(asked[query], numbers, grades, wishes),
        "by_product_type": _shares(kind[pools.query_anchor][query], types.tolist(), grades, wishes),
    }


def _shares(group: Ints, names: list[str], grades: Ints, wishes: Wishes) -> dict[str, Facts]:
    """Counts and shares per group and grade; groups without pairs are left out."""
    cells, shape = group * len(GRADE_NAMES) + grades, (len(names), len(GRADE_NAMES))
    pairs, satisfied, unknown = (
        np.bincount(cells, weights, minlength=len(names) * len(GRADE_NAMES)).reshape(shape)
        for weights in (None, wishes.satisfied, wishes.unknown)
    )
    with np.errstate(invalid="ignore"):
        shares = {"satisfied": satisfied / pairs, "unknown": unknown / pairs}
    return {
        name: {
            grade: {"pairs": int(pairs[row, column])}
            | {key: float(share[row, column]) for key, share in shares.items()}
            for column, grade in reversed(list(enumerate(GRADE_NAMES)))
        }
        for row, name in enumerate(names)
        if pairs[row].any()
    }
