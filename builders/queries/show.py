"""A cluster to read: what it holds, what sets it apart, what is asked for it.

In:  a row of CLUSTERS, some of its products, its queries.
Out: a rich renderable; text from catalogs and queries is shown as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fashion_rq_bench.builders.queries.say.evidence import Evidence, Signature, evidence_of
from fashion_rq_bench.schema.domain import domain

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

__all__ = ["render_cluster"]

_MOST = 8


def render_cluster(
    cluster: Mapping[str, Any],
    items: Sequence[Mapping[str, Any]],
    queries: Sequence[Mapping[str, Any]],
) -> RenderableType:
    """Show one cluster.

    Args:
        cluster: a row of schema CLUSTERS.
        items: products of the cluster, with the columns of CATALOG.
        queries: rows of schema QUERIES.
    """
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    evidence = evidence_of(cluster)
    title = f"{evidence.key} · level {evidence.level} · {evidence.size} products"
    title += f" · {evidence.article_type} {evidence.purity:.0%}"
    return Panel(
        Group(_items(items), Text(), _facts(evidence), Text(), _queries(queries)), title=Text(title)
    )


def _table(title: str, columns: Sequence[str]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, padding=(0, 1))
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def _row(table: Table, *cells: object) -> None:
    from rich.text import Text

    table.add_row(*(Text("" if cell is None else str(cell)) for cell in cells))


def _items(items: Sequence[Mapping[str, Any]]) -> Table:
    shown = [domain().role(role) for role in ("type", "color", "person", "brand")]
    names = ["title", *(one.column for one in shown if one), "price"]
    headings = {one.name: one.heading or one.name for one in domain().columns}
    table = _table("Products", [headings[name] for name in names])
    for item in items[:_MOST]:
        _row(table, *(item.get(name) for name in names))
    return table


def _facts(evidence: Evidence) -> Table:
    table = _table("What sets it apart", ("fact", "coverage", "precision", "exclusivity"))
    for signature in evidence.discriminating[:_MOST]:
        _row(table, _pairs(signature), *_figures(signature))
    for attribute, value, against, delta in _strongest(evidence):
        _row(table, f"{attribute} {value}: {delta:+.0f} points against {against}", "", "", "")
    return table


def _pairs(signature: Signature) -> str:
    return ", ".join(f"{attribute} {value}" for attribute, value in signature.pairs)


def _figures(signature: Signature) -> tuple[str, str, str]:
    return (
        f"{signature.coverage:.2f}",
        f"{signature.precision:.2f}",
        f"{signature.exclusivity:.2f}",
    )


def _strongest(evidence: Evidence) -> list[tuple[str, str, str, float]]:
    return sorted(evidence.exclusivity, key=lambda one: -abs(one[3]))[:_MOST]


def _queries(queries: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("Queries", ("query", "intent"))
    for query in queries:
        _row(table, query["query"], " | ".join(_intent(intent) for intent in query["intents"]))
    return table


def _intent(intent: Mapping[str, Any]) -> str:
    said = {name: value for name, value in intent.items() if value}
    return ", ".join(
        f"{name} {' or '.join(value) if isinstance(value, list) else value}"
        for name, value in said.items()
    )
