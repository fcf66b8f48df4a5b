"""A metric of all models: figures, bootstrap draws, intervals and differences.

In:  values of a task by metric, model and query (or paraphrase group).
Out: :class:`Measured`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.evaluation.task_scores import CONSISTENT, CUTS
from fashion_rq_bench.measures.statistics import (
    Differences,
    Resampling,
    differences,
    interval,
    resample,
)
from fashion_rq_bench.report.board.pooled import figures_of, is_pooled
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.grades import GRADE_NAMES

__all__ = ["Measured", "Units", "cells_of", "mean_of", "pooled_of", "split"]

Floats = NDArray[np.float64]
_CELLS = tuple(f"confusion_{one}_{other}" for one in GRADE_NAMES for other in GRADE_NAMES)


@dataclass(frozen=True, eq=False)
class Measured:
    """One metric of all models of a board, models in the board's order.

    Attributes:
        values: (M, N) per query or group, NaN where undefined.
        resampling: of the N units by cluster.
        figures: (M,) what a table shows; NaN where nothing is defined.
        draws: (B, M) bootstrap draws of the figures.
        n, undefined: (M,) units with a value and without.
        pooled: the figure comes from summed confusion matrices and is no mean of ``values``.
    """

    values: Floats
    resampling: Resampling
    figures: Floats
    draws: Floats
    n: NDArray[np.int64]
    undefined: NDArray[np.int64]
    pooled: bool

    @cached_property
    def interval(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the 95% intervals, shape (M,) each."""
        return interval(self.draws)

    def differences(
        self, pairs: Sequence[tuple[int, int]], *, by_cluster: bool = True
    ) -> Differences:
        """Compare models by position, see :func:`~measures.statistics.differences`."""
        return differences(
            self.values,
            self.resampling,
            pairs,
            figures=(self.figures, self.draws) if self.pooled else None,
            by_cluster=by_cluster,
        )


@dataclass(frozen=True, eq=False)
class Units:
    """Values of one task over its queries, or over its paraphrase groups."""

    ids: list[str]
    prefixes: NDArray[np.str_]
    values: dict[str, Floats]

    @cached_property
    def resampling(self) -> Resampling:
        """Of the units by cluster."""
        return resample(self.prefixes)

    def offers(self, metric: str) -> bool:
        """Whether it holds a metric, or all that the metric is computed from."""
        base, attribute = split(metric)
        return (
            metric in self.values
            or {base, f"attr_{attribute}"} <= set(self.values)
            or (is_pooled(metric) and cells_of(metric)[0] in self.values)
        )


def split(metric: str) -> tuple[str, str]:
    """``ndcg@10_color`` as ndcg@10 and color; the attribute is empty if there is none."""
    attribute = next((name for name in domain().names if metric.endswith(f"_{name}")), "")
    return metric.removesuffix(f"_{attribute}"), attribute


def mean_of(units: Units, values: Floats, rows: NDArray[np.bool_] | None) -> Measured:
    """The mean over some units: a mask of them, for all models or by model."""
    counted = np.ones_like(values, dtype=np.bool_)
    if rows is not None:
        counted &= rows
    values = np.where(counted, values, np.nan)
    n = (~np.isnan(values)).sum(axis=1)
    figures = np.divide(np.nansum(values, axis=1), n, out=np.full(len(n), np.nan), where=n > 0)
    draws = units.resampling.means(values.T)
    undefined = counted.sum(axis=1) - n
    return Measured(values, units.resampling, figures, draws, n, undefined, pooled=False)


def _form(metric: str) -> str:
    return next((form for form in (CUTS, CONSISTENT) if metric.startswith(form)), "")


def cells_of(metric: str) -> list[str]:
    """Names of the 16 cells that a pooled metric is computed from, in its form."""
    return [_form(metric) + cell for cell in _CELLS]


def pooled_of(units: Units, metric: str, rows: NDArray[np.bool_] | None) -> Measured:
    """A figure from summed confusion matrices; ``values`` are accuracies of queries."""
    start = _form(metric)
    cells = np.stack([units.values[name] for name in cells_of(metric)], axis=-1)  # (M, N, 16)
    if rows is not None:
        cells = np.where(rows[:, None], cells, 0.0)
    name, (models, queries, size) = metric.removeprefix(start), cells.shape
    flat = np.nan_to_num(cells).transpose(1, 0, 2).reshape(queries, models * size)
    totals = units.resampling.totals(flat).reshape(-1, models, size)
    n = (cells.sum(axis=-1) > 0).sum(axis=1)
    accuracy = units.values[f"{start}accuracy"]
    values = accuracy if name == "accuracy" else np.full_like(accuracy, np.nan)
    return Measured(
        values if rows is None else np.where(rows, values, np.nan),
        units.resampling,
        figures_of(name, np.nansum(cells, axis=1)),
        figures_of(name, totals),
        n,
        queries - n,
        pooled=True,
    )
