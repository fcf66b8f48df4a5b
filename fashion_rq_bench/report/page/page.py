"""The leaderboard page: one HTML file that needs no network.

In:  an edition and the folder of results that ``fashion-rq evaluate`` wrote for it.
Out: HTML with a sortable table of every model's figures (paper, Tables 2 and 3) and a query
     explorer. Text of catalog, queries and models is data: it can neither close the script nor
     become markup, and the page's policy lets it run and load nothing but its own code.

Equal results give equal bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from fashion_rq_bench._version import __version__
from fashion_rq_bench.editions.edition import Edition, in_its_domain
from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.evaluation.results import RunKey
from fashion_rq_bench.report.board.board import Scored, read_board
from fashion_rq_bench.report.page.data import table_data
from fashion_rq_bench.report.page.explorer import explorer
from fashion_rq_bench.support.files import read_parquet, to_json, write_text

__all__ = ["PageConfig", "page", "write_page"]

_DATA = Path(__file__).parent / "static"
_SCRIPTS = ("leaderboard.js", "leaderboard_explorer.js")


@dataclass(frozen=True)
class PageConfig:
    """Settings of the page.

    Attributes:
        max_queries: queries that the explorer holds; the page says how many there are in all.

    Raises:
        ConfigError: for fewer than one.
    """

    max_queries: int = 3000

    def __post_init__(self) -> None:
        if self.max_queries < 1:
            raise ConfigError("The page needs at least one query.", given=self.max_queries)


@in_its_domain
def write_page(
    edition: Edition, results: Path, path: Path, *, config: PageConfig | None = None
) -> None:
    """Write the leaderboard page, whole or not at all.

    Args:
        edition: what the models were scored on.
        results: folder with ``results/`` and ``rankings/`` as ``fashion-rq evaluate`` writes it;
            runs on other editions are left out.
        path: of the HTML file.
        config: the defaults if None.

    Raises:
        InputError: there are no results of this edition, or a file cannot be read.
        EditionError: the edition is damaged, or a ranking lacks some of its pairs.
    """
    write_text(page(_content(edition, results, config or PageConfig())), path)


def page(content: dict[str, Any]) -> str:
    """The page as HTML around its data.

    Args:
        content: JSON-able, as the page's script reads it.
    """
    style = _read("leaderboard.css")
    script = "\n".join(map(_read, _SCRIPTS))
    parts = {
        "{{SCRIPT_HASH}}": _hash(script),
        "{{STYLE_HASH}}": _hash(style),
        "{{STYLE}}": style,
        "{{SCRIPT}}": script,
        "{{DATA}}": _embedded(content),
    }
    html = _read("leaderboard.html")
    for place, part in parts.items():  # the data last: it may hold anything
        html = html.replace(place, part)
    return html


def _read(name: str) -> str:
    return (_DATA / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As the policy names an inline script or style."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _embedded(content: dict[str, Any]) -> str:
    """JSON that is safe in a script element: no "<" (so no "</script>" or "<!--"), ASCII only."""
    strict = json.loads(to_json(content, indent=None))
    text = json.dumps(strict, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _content(edition: Edition, results: Path, config: PageConfig) -> dict[str, Any]:
    board, collection = read_board(edition, results), Collection.read(edition)
    rankings = [_ranking(results, edition, one) for one in board.models]
    return {
        "edition": {
            "name": edition.name,
            "id": edition.id,
            "encoder": edition.encoder["name"],
            "products": len(collection.product_ids),
            "queries": len(collection.pairs.query_ids),
            "clusters": len(set(collection.task("ranking").prefixes)),
        },
        "version": __version__,
        "board": table_data(board),
        "explorer": explorer(collection, board, rankings, config.max_queries),
    }


def _ranking(results: Path, edition: Edition, one: Scored) -> pa.Table:
    path = results / "rankings" / RunKey(edition.id, one.name, one.model_id).file
    try:
        return read_parquet(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"The ranking of {one.label!r} cannot be read: {error}.",
            fix="Delete its file from the results and evaluate the model again.",
        ) from error
