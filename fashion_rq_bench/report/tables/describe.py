"""``fashion-rq describe``: an edition's statistics beside the paper's (Tables 1, 6, 7, 8; 8.0.3).

In:  an opened edition.
Out: a dictionary for ``--json``, and rich tables for a terminal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fashion_rq_bench.editions.edition import Edition, in_its_domain
from fashion_rq_bench.report.tables.paper import paper
from fashion_rq_bench.report.tables.statistics import counted, statistics
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.grades import GRADE_NAMES
from fashion_rq_bench.schema.tables import TASK_CONFIGS

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["describe", "description_tables"]

Facts = dict[str, Any]

_OVERVIEW = {
    "products": "products",
    "master_categories": "master categories",
    "sub_categories": "subcategories",
    "article_types": "article types",
    "clusters": "qualifying clusters",
    "queries": "queries",
    "unique_queries": "unique queries",
    "query_words": "words per query",
    "queries_per_cluster": "queries per cluster",
}
_COVERAGE = {
    "required_types": "product types to be covered",
    "gaps": "of them not covered",
    "minor_types": "minor product types",
    "minor_gaps": "of them not covered by name",
}
_SATISFIED = {
    "exact": "own products that satisfy all wishes",
    "sibling": "siblings' products that do",
}
_REVISED = {
    "replaced": "sent back and replaced",
    "kept_though_failing": "kept though failing, for want of a better",
    "clusters_at_minimum": "clusters at their minimum by it",
}
_TASK_TITLES = dict(zip(TASK_CONFIGS, ("T1", "T2", "T3", "T4"), strict=True))


@in_its_domain
def describe(edition: Edition) -> Facts:
    """Statistics of an edition, the paper's beside them, and what its labels can be followed to.

    Args:
        edition: as ``Edition.open`` gives it.

    Returns:
        ``edition`` (id, name), the keys of :func:`~.statistics.statistics`; as the build reported
        them, empty if it did not: ``checks`` and ``revision`` (what the verifier found of the
        queries, and what was sent back, replaced and dropped), ``anchors`` (what became one, and
        what did not and why) and ``quality`` (floor, oracle reference, wish satisfaction); and
        ``paper`` with the paper's figures under the same keys.

    Raises:
        EditionError: if a config cannot be read.
    """
    built, written = (edition.report.get(stage, {}) for stage in ("tasks", "queries"))
    return {
        "edition": {"id": edition.id, "name": edition.name, "path": str(edition.path)},
        **statistics(edition.table),
        "checks": written.get("checks") or written.get("quality", {}),
        "revision": written.get("revision", {}),
        "anchors": built.get("anchors", {}),
        "quality": built.get("quality", {}),
        "paper": dict(paper()),
    }


def description_tables(facts: Facts) -> Iterator[Table]:
    """Tables of :func:`describe`'s facts, "here" beside "paper" (– where it gives no figure)."""
    paper = facts["paper"]
    about = f"{facts['edition']['name']} ({facts['edition']['id']})"
    yield _beside(f"Table 1. {about}", _overview(), facts["overview"], paper.get("overview", {}))
    yield _levels(facts["levels"], paper["levels"])
    yield _tasks(facts["tasks"], paper.get("tasks", {}))
    yield _labels(facts["labels"], paper.get("labels", {}))
    yield _tags(facts["tags"], paper.get("tags", {}))
    yield _coverage(facts["coverage"], paper.get("coverage", {}))
    if facts["checks"]:
        yield _checks(facts["checks"], facts["revision"])
    if facts["anchors"]:
        yield _anchors(facts["anchors"])
    if facts["quality"]:
        yield from _quality(facts["quality"])


def _overview() -> dict[str, str]:
    """Headings of Table 1: what every shop has, with the domain's own kinds in their place."""
    plurals = domain().table("plurals")
    own = {f"{name}s": plurals.get(name, f"{name}s") for name in counted()}
    places = list(_OVERVIEW.items())
    return dict([*places[:4], *own.items(), *places[4:]])


def _table(title: str, *columns: str) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left")
    for place, name in enumerate(columns):
        table.add_column(escape(name), justify="right" if place else "left")
    return table


def _beside(title: str, names: Mapping[str, str], here: Facts, paper: Mapping[str, Any]) -> Table:
    table = _table(title, "", "here", "paper")
    for key, name in names.items():
        _add(table, name, _text(here.get(key)), _text(paper.get(key)))
    return table


def _add(table: Table, *cells: str) -> None:
    """Add a row; names out of a catalog must not be read as markup."""
    from rich.markup import escape

    table.add_row(*map(escape, cells))


def _text(value: object) -> str:
    """A number, or a spread as "mean (min–max)", for people; – for what is not known."""
    if isinstance(value, Mapping):
        return f"{_text(value['mean'])} ({_text(value['min'])}–{_text(value['max'])})"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float) and not math.isnan(value):
        return f"{value:,.2f}" if value < 10 else f"{value:,.1f}"
    return "–"


def _share(value: object) -> str:
    return f"{value:.1%}" if isinstance(value, float) and not math.isnan(value) else "–"


def _part(counts: Mapping[str, int], value: str) -> str:
    """A count and its share of all counts."""
    if value not in counts:
        return "–"
    return f"{counts[value]:,} ({_share(counts[value] / sum(counts.values()))})"


def _sizes(facts: Mapping[str, Any]) -> str:
    if "smallest" not in facts:
        return _text(facts.get("mean_size"))
    spread = {"mean": facts["mean_size"], "min": facts["smallest"], "max": facts["largest"]}
    return _text(spread)


def _levels(here: list[Facts], paper: list[Facts]) -> Table:
    table = _table(
        "Tables 1 and 6. Clusters per level",
        *("level", "prefixes", "size", "purity", "qualifying", "size", "purity", "coverage"),
        *("codes", "perplexity"),
    )
    figures = {facts["level"]: facts for facts in paper}
    for facts in here:
        _level_row(table, str(facts["level"]), facts)
        if facts["level"] in figures:
            _level_row(table, "paper", figures[facts["level"]])
    return table


def _level_row(table: Table, name: str, facts: Facts) -> None:
    every, good = facts["all"], facts["qualifying"]
    _add(
        table,
        name,
        *(_text(every["clusters"]), _sizes(every), _share(every.get("purity"))),
        *(_text(good["clusters"]), _sizes(good), _share(good.get("purity"))),
        *(_share(facts.get("coverage")), _text(facts.get("codes_used"))),
        _text(facts.get("perplexity")),
    )


def _tasks(here: Facts, paper: Facts) -> Table:
    columns = ("queries", "pairs", "candidates", "leaf clusters", "queries per group")
    table = _table("Table 7. Tasks", "task", *columns)
    for task, title in _TASK_TITLES.items():
        for name, facts in ((f"{title} {task}", here[task]), ("paper", paper.get(task, {}))):
            keys = ("queries", "pairs", "pool", "anchors", "group")
            _add(table, name, *(_text(facts.get(key)) for key in keys))
    return table


def _labels(here: Facts, paper: Facts) -> Table:
    grades = tuple(reversed(GRADE_NAMES))
    table = _table("Table 8. Labels", "task", *grades)
    for task in ("ranking", "classification"):
        named = ((f"{_TASK_TITLES[task]} {task}", here[task]), ("paper", paper.get(task, {})))
        for name, shares in named:
            _add(table, name, *(_share(shares.get(grade)) for grade in grades))
    return table


def _tags(here: Facts, paper: Facts) -> Table:
    table = _table("Attributes that ranking queries express", "attribute", "here", "", "paper", "")
    for name, count in here["counts"].items():
        theirs = paper.get("counts", {}).get(name)
        part = theirs / paper["queries"] if theirs is not None else None
        shares = (count / max(here["queries"], 1), part)
        _add(table, name, _text(count), _share(shares[0]), _text(theirs), _share(shares[1]))
    _add(table, "per query", _text(here["per_query"]), "", _text(paper.get("per_query")), "")
    return table


def _coverage(here: Facts, paper: Facts) -> Table:
    table = _table("Catalog coverage", "", "here", "paper")
    for key, name in (("products_used", "products in any task"), ("share_used", "of the catalog")):
        show = _share if key == "share_used" else _text
        _add(table, name, show(here[key]), show(paper.get(key)))
    person = domain().role("person")
    for key in ("master_categories", *([f"{person.column}s"] if person else [])):
        for value in here[key]:
            cells = (_part(facts.get(key, {}), value) for facts in (here, paper))
            _add(table, f"T2 pairs, {value}", *cells)
    for key in ("min", "median", "mean", "max"):
        theirs = paper.get("price", {}).get(key)
        _add(table, f"price, {key}", _text(here["price"][key]), _text(theirs))
    return table


def _checks(checks: Facts, revision: Facts) -> Table:
    """What the verifier found of the queries that stayed, beside their first drafts."""
    table = _table("Queries, as the verifier found them", "", "first drafts", "here")
    drafts = revision.get("first_draft", {})
    for key, name in (("queries", "queries"), ("unique", "unique queries")):
        _add(table, name, _text(drafts.get(key)), _text(checks.get(key)))
    for key, name in _COVERAGE.items():
        cells = (_text(found.get("coverage", {}).get(key)) for found in (drafts, checks))
        _add(table, name, *cells)
    for tier, name in _SATISFIED.items():
        cells = (_share(found.get("satisfied", {}).get(tier)) for found in (drafts, checks))
        _add(table, name, *cells)
    fits = (_share(found.get("fits_siblings_as_well")) for found in (drafts, checks))
    _add(table, "queries that fit sibling clusters as well", *fits)
    for reason in sorted({*drafts.get("failures", {}), *checks.get("failures", {})}):
        counts = (
            _text(found["failures"].get(reason, 0) if found else None) for found in (drafts, checks)
        )
        _add(table, f"queries found faulty: {reason}", *counts)
    for key, name in _REVISED.items():
        if key in revision:
            _add(table, name, "", _text(revision[key]))
    return table


def _anchors(anchors: Facts) -> Table:
    """What became of the qualifying leaves, as the build counted it."""
    table = _table("Anchors", "", "leaf clusters")
    for name, count in _flat(anchors, ": "):
        _add(table, name.replace("_", " "), _text(count))
    return table


def _quality(quality: Facts) -> Iterator[Table]:
    """What a model's scores are to be read between, and wishes met by grade."""
    floor, reference = (dict(_flat(quality.get(key, {}), " ")) for key in ("floor", "reference"))
    table = _table(
        "How far the labels can be followed", "metric", "random floor", "oracle reference"
    )
    for name in floor | reference:
        _add(table, name, _metric(floor.get(name)), _metric(reference.get(name)))
    yield table
    wishes = quality.get("wishes")
    if not wishes:
        return
    table = _table("T1 pairs that satisfy every wish", "grade", "pairs", "satisfied", "unknown")
    for grade, facts in wishes.items():
        shares = (_share(facts["satisfied"]), _share(facts["unknown"]))
        _add(table, grade, _text(facts["pairs"]), *shares)
    yield table


def _flat(facts: Mapping[str, Any], between: str, path: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested mappings, each named by its path."""
    for key, value in facts.items():
        name = f"{path}{between}{key}" if path else key
        if isinstance(value, Mapping):
            yield from _flat(value, between, name)
        else:
            yield name, value


def _metric(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) and not math.isnan(value) else "–"
