"""Consistency@k as an ``evaluate`` module; the definition stands in
``fashion_rq_bench.measures.consistency``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import datasets

import fashion_rq_bench.errors as errors
import fashion_rq_bench.measures.consistency as library
import fashion_rq_bench.metrics._base as base

_DESCRIPTION = """
Consistency@k: do paraphrases retrieve the same products? The mean pairwise Jaccard overlap of the
top-k products of a group's queries, then the mean over groups. Where scores are given, ties are
broken by a hash of seed, query and product, so that a constant scorer gets what chance gives.
"""

_CITATION = """
FASHION-RQ: sections 4 and 5 (Query Paraphrase Robustness).
"""

_INPUTS = """
Args:
    predictions: for each query what was retrieved: a list of product ids, best first; or a mapping
        from product id to score, or a list of {"product_id": …, "score": …}, where ties may occur.
    references: for each query the group whose need it words.
    k: cut-off (10), or a list of cut-offs.
    query_ids: for each query its id, used to break ties; by default its position.
    seed: seed for ties (0).
    samples: tie orders to average over (1).
    intents: for each query its intent, or a list of intents; adds the figures by intent.
    return_per_group: also give one value per group.
Returns:
    "consistency@10" (one for each k): mean in [0, 1] over groups of at least two queries;
    "groups": how many these are; "left_out": how many groups have one query;
    with intents also "consistency@10_same_intent" and "consistency@10_other_intent".
Examples:
    >>> metric = evaluate.load("consistency_at_k")
    >>> metric.compute(predictions=[["a", "b"], ["b", "c"]], references=["g", "g"], k=2)
    {'consistency@2': 0.333..., 'groups': 1, 'left_out': 0}
"""

_RELATIONS = ("same_intent", "other_intent")


def _pairs(row: Any, index: int) -> Iterable[tuple[Any, Any]]:
    """Product id and score of every retrieved product of one query."""
    if isinstance(row, Mapping):
        return row.items()
    if isinstance(row, str) or not hasattr(row, "__len__"):
        raise errors.MetricInputError(
            f"predictions of row {index} must be a list of product ids, or of ids with scores.",
            given=row,
        )
    if len(row) and all(isinstance(item, Mapping) for item in row):
        return [(item.get("product_id"), item.get("score")) for item in row]
    return [(item, -rank) for rank, item in enumerate(row)]


def _score(value: Any, row: int) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if number - number != 0:  # NaN or infinite
        raise errors.MetricInputError(
            f"score in predictions of row {row} must be a finite number.", given=value
        )
    return number


class ConsistencyAtK(base.ValidatedMetric):
    """Consistency@k."""

    texts = (_DESCRIPTION, _CITATION, _INPUTS)
    features_of_input = datasets.Features(
        {
            "predictions": datasets.List(
                {"product_id": datasets.Value("string"), "score": datasets.Value("float64")}
            ),
            "references": datasets.Value("string"),
        }
    )

    def checked(self, predictions: Any, references: Any) -> tuple[list[Any], list[Any]]:
        """See :meth:`ValidatedMetric.checked`."""
        if len(predictions) != len(references):
            raise errors.MetricInputError(
                "predictions and references must be equally long.",
                given=f"{len(predictions)} predictions, {len(references)} references",
            )
        rows = [
            [
                {
                    "product_id": base.identifier(product, index, "product_id in predictions"),
                    "score": _score(score, index),
                }
                for product, score in _pairs(row, index)
            ]
            for index, row in enumerate(predictions)
        ]
        groups = [base.identifier(one, index, "references") for index, one in enumerate(references)]
        return rows, groups

    def _compute(
        self,
        predictions: list[list[dict[str, Any]]],
        references: list[str],
        *,
        k: int | Sequence[int] = 10,
        query_ids: Sequence[str] | None = None,
        seed: int = 0,
        samples: int = 1,
        intents: Any = None,
        return_per_group: bool = False,
    ) -> dict[str, Any]:
        scores = [[item["score"] for item in row] for row in predictions]
        ids = [[item["product_id"] for item in row] for row in predictions]
        result: dict[str, Any] = {}
        per_group: dict[str, dict[str, float]] = {}
        for cutoff in k if isinstance(k, Sequence) else [k]:
            for relation in ("all", *(_RELATIONS if intents is not None else ())):
                found = library.consistency(
                    scores,
                    ids,
                    references,
                    cutoff,
                    query_ids=query_ids,
                    seed=seed,
                    samples=samples,
                    intents=intents,
                    relation=relation,
                )
                name = f"consistency@{cutoff}" + (f"_{relation}" if relation != "all" else "")
                result[name] = found.value
                per_group[name] = dict(zip(found.groups, found.per_group.tolist(), strict=True))
                if relation == "all":
                    counts = {"groups": len(found.groups), "left_out": found.left_out}
        result |= counts
        return result | ({"per_group": per_group} if return_per_group else {})
