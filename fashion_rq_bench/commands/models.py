"""``fashion-rq models``: the retrievers known by name.

In:  nothing.
Out: a table of the records of the paper's baselines (Tables 11-13), and the other names.
"""

from __future__ import annotations

from dataclasses import asdict

import typer

from fashion_rq_bench.commands._shown import Json, Shown, print_shown

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add ``models``."""
    app.command()(models)


def models(as_json: Json = False) -> None:
    """Print the retrievers known by name, and how each baseline is run."""
    from rich.table import Table

    from fashion_rq_bench.encoders.baselines import BASELINES
    from fashion_rq_bench.retrievers.lexical import BM25Config
    from fashion_rq_bench.retrievers.registry import RETRIEVER_NAMES

    table = Table(title="Baselines of the paper's Tables 11-13")
    for heading in ("name", "model", "kind", "pooling", "tokens", "dtype", "commit"):
        table.add_column(heading, overflow="fold")
    for record in BASELINES.values():
        tokens = str(record.max_length)
        if record.query_length is not None:
            tokens = f"{record.query_length} / {tokens}"
        commit = (record.revision or "none verified")[:13]
        row = (record.name, record.model, record.kind, record.pooling, tokens, record.dtype, commit)
        table.add_row(*row)
    others = ", ".join(name for name in RETRIEVER_NAMES if name not in BASELINES)
    rest = f"Also: {others}, any Hub id or folder, KIND:FOLDER, BASELINE:FOLDER, rrf:A+B."
    records = {name: asdict(record) for name, record in BASELINES.items()}
    data = {"bm25": asdict(BM25Config()), "baselines": records}
    print_shown(Shown([table, rest], data), as_json)
