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
from scipy.stats import hypergeom

from fashion_rq_bench.builders.pools import Pools, ragged_take
from fashion_rq_bench.builders.tree import Ints
from fashion_rq_bench.consistent import (
    Wishes,
    oracle_scores,
    wishes_satisfied,
)
from fashion_rq_bench.intents import expressed
from fashion_rq_bench.matching import PairMatches
from fashion_rq_bench.ranking import mean, ndcg, recall
from fashion_rq_bench.schema import GRADE_NAMES

__all__ = ["random_consistency", "reference", "wish_satisfaction"]

Facts = dict[str, Any]
Floats = npt.NDArray[np.float64]


def random_consistency(sizes: npt.ArrayLike, k: int) -> Floats:
    """Expected Jaccard overlap of two random top-k sets out of pools of these sizes, in [0, 1].

    Args:
        sizes: (G,) candidates per pool.
        k: cut-off; a pool of at most k candidates is retrieved whole, so its overlap is 1.
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    top = np.minimum(k, sizes)[:, None]
    shared = np.arange(k + 1)[None, :]
    chance = hypergeom.pmf(shared, sizes[:, None], top, top)
    return np.asarray((chance * shared / np.maximum(2 * top - shared, 1)).sum(axis=1))


def reference(pools: Pools, matches: PairMatches) -> Facts:
    """Floor, oracle reference and wish satisfaction of the four tasks.

    Args:
        pools: the pools.
        matches: of the pairs of :func:`~fashion_rq_bench.builders.pools.pool_pairs`, in its order.

    Returns:
        ``quality``: ``floor`` and ``reference`` (per task and metric), and ``wishes`` (per grade);
        ``wishes``: the same shares by number of wishes and by the anchor's product type;
        ``pairs_without_match``: T1 pairs whose query expresses no attribute.
    """
    scores = oracle_scores(matches)
    wishes = wish_satisfaction(pools, matches)
    ranked = int(np.diff(pools.offsets)[pools.query_anchor].sum())
    return {
        "quality": {
            "floor": _task_scores(pools, np.zeros_like(scores)) | {"paraphrase": _chance(pools)},
            "reference": _task_scores(pools, scores),
            "wishes": wishes.pop("all"),
        },
        "wishes": wishes,
        "pairs_without_match": int(np.isnan(matches.rel[:ranked]).sum()),
    }


def _task_scores(pools: Pools, scores: Floats) -> Facts:
    places, offsets = ragged_take(pools.offsets, pools.query_anchor)
    ranked, siblings = np.split(scores, [len(places)])
    grades = pools.grades[places]
    return {
        "ranking": _means(
            {
                "ndcg@10": ndcg(_rows(ranked, offsets), _rows(grades, offsets), 10),
                "recall@10": recall(_rows(ranked, offsets), _rows(grades, offsets), 10),
            }
        ),
    }


def _chance(pools: Pools) -> Facts:
    sizes = np.diff(pools.offsets)[np.bincount(pools.query_anchor) >= 2]
    return _means({f"consistency@{k}": random_consistency(sizes, k) for k in (5, 10)})


def _means(values: dict[str, Floats]) -> dict[str, float]:
    return {name: mean(array).value for name, array in values.items()}


def _rows(values: npt.NDArray[Any], offsets: Ints) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values))


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
