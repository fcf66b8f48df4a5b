"""The evaluation as a table like the paper's Table 2.

In:  an :class:`~fashion_rq_bench.evaluation.outcome.EvaluationResult`.
Out: a rich table; the best model of a column is bold, the second underlined. The random floor and
     the attribute oracle stand below a rule and do not compete.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from rich import box
from rich.markup import escape
from rich.table import Table

from fashion_rq_bench.evaluation.task_scores import CONSISTENT
from fashion_rq_bench.support.grid import Mark, figure, marks

if TYPE_CHECKING:
    from fashion_rq_bench.evaluation.outcome import EvaluationResult, ModelRun

__all__ = ["COLUMNS", "Column", "evaluation_table"]


class Column(NamedTuple):
    """A column of Table 2: a task's metric and its heading."""

    task: str
    metric: str
    heading: str


COLUMNS = (
    Column("ranking", "ndcg@10", "T1\nnDCG\n@10"),
    Column("ranking", "recall@10", "T1\nRec\n@10"),
    Column("classification", "accuracy", "T2\nAcc\n"),
    Column("classification", "macro_f1", "T2\nF1\n"),
    Column("sibling", "ndcg@3", "T3\nnDCG\n@3"),
    Column("sibling", "recall@3", "T3\nRec\n@3"),
    Column("paraphrase", "consistency@5", "T4\nCons\n@5"),
    Column("paraphrase", "consistency@10", "T4\nCons\n@10"),
    Column("ranking", "rel", "\nRel\n"),
)
"""Table 2's columns, and Rel of the top product (Table 3)."""

_TITLES = {"floor": "random floor", "reference": "oracle"}
_HOME = " †"


def evaluation_table(result: EvaluationResult, *, consistent: bool = False) -> Table:
    """Table 2 for one edition.

    Every figure is a mean over queries (T2: over pairs; consistency: over paraphrase groups;
    macro-F1: over the four classes), in [0, 1]; "–" is undefined.

    Args:
        result: the evaluation.
        consistent: the form that leaves out lower-tier pairs which satisfy every wish.
    """
    columns, table = _columns(result, consistent), _empty(result, consistent)
    table.add_column("model", overflow="fold")
    for column in columns:
        table.add_column(column.heading, justify="right", no_wrap=True)
    models = [run for run in result.runs if run.role == "model"]
    styles = [marks([_value(run, column) for run in models]) for column in columns]
    for row, run in enumerate(models):
        cells = [
            _styled(_value(run, column), styles[place][row]) for place, column in enumerate(columns)
        ]
        name = escape(run.key.model) + (_HOME if run.at_home else "")
        table.add_row(name, *cells, end_section=run is models[-1])
    for run in result.runs:
        if run.role != "model":
            cells = [_styled(_value(run, column), "") for column in columns]
            table.add_row(_TITLES[run.role], *cells, style="dim")
    return table


def _columns(result: EvaluationResult, consistent: bool) -> list[Column]:
    columns = [column for column in COLUMNS if column.task in result.tasks]
    if not consistent:
        return columns
    return [one._replace(metric=CONSISTENT + one.metric) for one in columns if one.metric != "rel"]


def _empty(result: EvaluationResult, consistent: bool) -> Table:
    form = ", consistent form" if consistent else ""
    return Table(
        title=f"{escape(result.edition_name)} (edition {result.edition_id[:12]}{form})",
        title_justify="left",
        caption=_caption(result),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )


def _value(run: ModelRun, column: Column) -> float:
    mean = run.means.get(column.task, {}).get(column.metric)
    return math.nan if mean is None else mean.value


def _styled(value: float, mark: Mark) -> str:
    style = {"best": "bold", "second": "underline", "": ""}[mark]
    return f"[{style}]{figure(value)}[/{style}]" if style else figure(value)


def _caption(result: EvaluationResult) -> str:
    home = [run for run in result.runs if run.at_home]
    lines = ["The oracle ranks by the query's own attributes: a reference, not a bound."]
    if home:
        lines.append(
            "† competes at home: the edition's hierarchy was built from this model's vectors."
        )
    return "\n".join(lines)
