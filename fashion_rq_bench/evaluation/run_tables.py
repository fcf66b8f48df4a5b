"""Tables of single runs: the whole-corpus task, what a run cost, and what it would cost.

In:  an ``EvaluationResult``, or prices by model.
Out: rich tables that fit a terminal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from fashion_rq_bench.evaluation.whole_catalog import RETRIEVAL

if TYPE_CHECKING:
    from fashion_rq_bench.evaluation.outcome import EvaluationResult
    from fashion_rq_bench.evaluation.price_forecast import Price
    from fashion_rq_bench.support.metering import Cost

__all__ = ["catalog_table", "cost_table", "price_table"]

_COLUMNS = {
    "ndcg@10": "nDCG@10",
    "recall@20": "R@20",
    "recall@100": "R@100",
    "recall_sibling@100": "R≥2@100",
    "rel": "Rel",
    "consistent_ndcg@10": "cons. nDCG@10",
    "consistent_recall@20": "cons. R@20",
}


def catalog_table(result: EvaluationResult) -> Table:
    """Models of the whole-corpus task, in the order scored."""
    table = Table(title=f"Whole corpus: {escape(result.edition_name)} ({result.edition_id[:12]})")
    table.add_column("model")
    for title in _COLUMNS.values():
        table.add_column(title, justify="right")
    for run in result.runs:
        if RETRIEVAL in run.means:
            found = run.means[RETRIEVAL]
            values = [found[name].value if name in found else math.nan for name in _COLUMNS]
            table.add_row(escape(run.key.model), *(_share(value) for value in values))
    return table


def cost_table(result: EvaluationResult) -> Table:
    """What each run cost; "-" for what cannot be known, with the reason in its record."""
    table = Table(title="Cost")
    table.add_column("model")
    for title in ("wall s", "predicted", "items/s", "tokens/s", "peak memory", "bytes/product"):
        table.add_column(title, justify="right")
    for run in result.runs:
        for cost, of in ((run.cost, ""), (run.catalog_cost, " (whole corpus)")):
            if cost is not None and run.role == "model":
                table.add_row(escape(run.key.model) + of, *_cost_cells(cost))
    return table


def _cost_cells(cost: Cost) -> list[str]:
    peak = cost.peak_memory_bytes if math.isnan(cost.peak_gpu_bytes) else cost.peak_gpu_bytes
    return [
        _number(cost.seconds, 1),
        _number(cost.predicted_seconds, 1),
        _number(cost.items_per_s),
        _number(cost.tokens_per_s),
        _bytes(peak),
        _number(cost.vector_bytes_per_product),
    ]


def price_table(prices: Mapping[str, Price]) -> Table:
    """What runs would cost, without vectors on disk."""
    table = Table(title="Predicted from a slice")
    table.add_column("model")
    for title in ("seconds", "at first", "items", "in the slice", "slices took s", "vectors"):
        table.add_column(title, justify="right")
    for model, price in prices.items():
        table.add_row(
            escape(model),
            _number(price.seconds, 1),
            _number(price.once_seconds, 1),
            _number(price.items or math.nan),
            _number(price.slice_items or math.nan),
            _number(price.slice_seconds, 1),
            _bytes(price.vector_bytes),
        )
    return table


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"[value < 1 :]


def _number(value: float, digits: int = 0) -> str:
    return "-" if math.isnan(value) else f"{value:,.{digits}f}"


def _bytes(value: float) -> str:
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return "-" if math.isnan(value) else f"{value:.1f} GB"
