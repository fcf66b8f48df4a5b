"""What the ``evaluate`` modules of this package share.

In:  predictions and references as users have them.
Out: checked rows that Arrow stores exactly, and means with the number of queries they are over.

The modules are thin: definitions and mathematics stand in ``fashion_rq_bench``. This module is
imported by them only, since importing ``evaluate`` takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import datasets
import evaluate
import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.errors import MetricInputError
from fashion_rq_bench.measures._ragged import Ragged, check_same_rows, number_rows
from fashion_rq_bench.measures.ranking import mean

__all__ = ["RankingMetric", "ValidatedMetric", "check_equally_long", "identifier", "summary"]


class ValidatedMetric(evaluate.Metric):  # type: ignore[misc]  # evaluate has no types
    """A metric whose inputs are checked before Arrow sees them.

    It keeps its inputs in memory where one process computes: evaluate's cache files are locked, and
    locks of processes that share a home collide.

    Attributes:
        texts: description, citation and inputs, as ``evaluate`` shows them.
        features_of_input: what Arrow stores of predictions and references; a tuple of several.
    """

    texts: tuple[str, str, str]
    features_of_input: Any

    def _info(self) -> evaluate.MetricInfo:
        description, citation, inputs = self.texts
        features = self.features_of_input
        return evaluate.MetricInfo(
            description=description,
            citation=citation,
            inputs_description=inputs,
            features=list(features) if isinstance(features, tuple) else features,
        )

    def __init__(
        self, config_name: str | None = None, keep_in_memory: bool = False, **options: Any
    ) -> None:
        alone = options.get("num_process", 1) == 1
        super().__init__(config_name, keep_in_memory=keep_in_memory or alone, **options)

    def checked(self, predictions: Any, references: Any) -> tuple[list[Any], list[Any]]:
        """Predictions and references as lists that fit ``self.features``.

        Raises:
            MetricInputError: naming row, field and value.
        """
        raise NotImplementedError

    def add_batch(self, *, predictions: Any = None, references: Any = None, **extra: Any) -> None:
        """Add predictions and references of some queries."""
        for name, value in (("predictions", predictions), ("references", references)):
            if value is None:
                raise MetricInputError(f"{name} are missing.", fix=f"Pass {name}=[…].")
        good_predictions, good_references = self.checked(predictions, references)
        super().add_batch(predictions=good_predictions, references=good_references, **extra)

    def add(self, *, prediction: Any = None, reference: Any = None, **extra: Any) -> None:
        """Add prediction and reference of one query."""
        self.add_batch(
            predictions=None if prediction is None else [prediction],
            references=None if reference is None else [reference],
            **extra,
        )

    def compute(
        self, *, predictions: Any = None, references: Any = None, **options: Any
    ) -> dict[str, Any] | None:
        """Compute the metric over what was added and what is given."""
        if predictions is None and references is None and not len(self) and self.num_process == 1:
            raise MetricInputError(
                "There is nothing to compute.", fix="Pass predictions=[…] and references=[…]."
            )
        result: dict[str, Any] | None = super().compute(
            predictions=predictions, references=references, **options
        )
        return result


class RankingMetric(ValidatedMetric):
    """A metric over scores and grades, one list of each per query.

    Attributes:
        label: of its values, which also carry their cut-off, such as ``ndcg@10``.
        k: the cut-off, if none is asked for.
        measure: a function of :mod:`fashion_rq_bench.measures.ranking`, whose options are the
            metric's own.
    """

    label: str
    k: int | None = 10
    measure: Callable[..., NDArray[np.float64]]

    features_of_input = datasets.Features(
        {
            "predictions": datasets.List(datasets.Value("float64")),
            "references": datasets.List(datasets.Value("float64")),
        }
    )

    def checked(self, predictions: Any, references: Any) -> tuple[list[Any], list[Any]]:
        """See :meth:`ValidatedMetric.checked`."""
        scores = number_rows(predictions, "predictions")
        grades = number_rows(references, "references", minimum=0)
        check_same_rows(scores, grades, "references")
        return _lists(scores), _lists(grades)

    def _compute(
        self,
        predictions: list[Any],
        references: list[Any],
        *,
        return_per_query: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        k = options.pop("k", self.k)
        values = self.measure(predictions, references, k, **options)
        cutoffs, columns = ([k], values[:, None]) if values.ndim == 1 else (k, values)
        names = [self.label if one is None else f"{self.label}@{one}" for one in cutoffs]
        named = dict(zip(names, columns.T, strict=True))
        return summary(named, return_per_query=return_per_query)


def _lists(rows: Ragged) -> list[Any]:
    split = np.split(rows.values.astype(np.float64), rows.offsets[1:-1])
    return [row.tolist() for row in split]


def check_equally_long(predictions: Any, references: Any) -> None:
    """Refuse predictions and references of unequal number, or none at all."""
    if len(predictions) != len(references) or not len(predictions):
        raise MetricInputError(
            "predictions and references must be equally long and not empty.",
            given=f"{len(predictions)} predictions, {len(references)} references",
        )


def identifier(value: Any, row: int, field: str) -> str:
    """An id as a string; integers are kept exactly.

    Raises:
        MetricInputError: for anything else, None among it.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    raise MetricInputError(
        f"{field} of row {row} must be a string or an integer, not {type(value).__name__}.",
        given=value,
    )


def summary(values: Mapping[str, NDArray[np.float64]], *, return_per_query: bool) -> dict[str, Any]:
    """Means by name, the queries they are over (``n``), those left out as undefined.

    Args:
        values: name to one value per query; all are undefined for the same queries.
        return_per_query: also give ``per_query``, the values as lists, NaN where undefined.
    """
    means = {name: mean(one) for name, one in values.items()}
    first = next(iter(means.values()))
    result: dict[str, Any] = {name: one.value for name, one in means.items()}
    result |= {"n": first.n, "undefined": first.undefined}
    if return_per_query:
        result["per_query"] = {name: one.tolist() for name, one in values.items()}
    return result
