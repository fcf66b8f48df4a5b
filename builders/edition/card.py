"""The card of an edition: README.md with the metadata that `datasets` and the Hub read.

In:  the tables, the manifest and the reports of an edition.
Out: the text of README.md, from the template ``dataset_card.md``.

Whatever comes from a catalog, a configuration or a model is escaped, so that no product title can
put markup or a link on the card. Describes the configs of the paper's section 4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape as escape_html
from pathlib import Path
from string import Template
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from fashion_rq_bench.schema.grades import GRADE_NAMES
from fashion_rq_bench.schema.tables import CONFIGS, SPLIT, features
from fashion_rq_bench.support.optional import require

__all__ = ["escape", "quality_of", "render_card"]

Tables = Mapping[str, pa.Table]

_TEMPLATE = Path(__file__).parents[2] / "dataset_card.md"
"""Beside ``builders/`` in the repo, and beside ``fashion_rq_bench/builders/`` where installed."""

_LONGEST = 160
_EXAMPLES = 3
_SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"))
_ABOUT = {
    "ranking": "T1: a query and its pool with grades",
    "classification": "T2: query-product pairs to be told apart by grade",
    "sibling": "T3: the product of the query's leaf among its siblings",
    "paraphrase": "T4: queries of one cluster and the pool they share",
    "corpus": "every product of the catalog",
    "queries": "every query, with its wishes as structured intents",
    "clusters": "every qualifying cluster, with the evidence its queries were written from",
    "strings": "attribute values and texts with their vectors, for exact matching anywhere",
}


def escape(value: object) -> str:
    """Text as one line that Markdown and HTML show as it is, cut at 160 characters."""
    line = " ".join(str(value).split())
    short = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
    marked = re.sub(r"([\\`*_{}\[\]()#+!|~$:@-])", r"\\\1", short)
    return escape_html(marked, quote=False)


def render_card(tables: Tables, manifest: Mapping[str, Any], reports: Mapping[str, Any]) -> str:
    """README.md of an edition.

    Args:
        tables: config to table, checked.
        manifest: as in ``edition.json``, with the data files in it.
        reports: stage to what it measured.

    Returns:
        YAML front matter (``configs`` and ``dataset_info`` among it) and Markdown.
    """
    catalog = manifest["provenance"]["catalog"]
    parts = {
        "metadata": yaml.safe_dump(_metadata(tables, manifest), sort_keys=False),
        "title": escape(f"FASHION-RQBENCH {manifest['name']}"),
        "facts": _facts(tables, manifest),
        "configs": _configs(tables),
        "examples": _examples(tables),
        "labels": _label_shares(tables["classification"]),
        "quality": "\n\n".join(
            [_quality(quality_of(reports)), *_checked(reports.get("queries", {}))]
        ),
        "provenance": _rows(("", ""), _flat(manifest["provenance"])),
        "license": f"Licence of the catalog: {escape(catalog['license'])}. Texts and values of the "
        "products stay under it; check it before you pass this edition on.",
        "configuration": _rows(("setting", "value"), _flat(_used(manifest["config"]))),
    }
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(parts)


def _metadata(tables: Tables, manifest: Mapping[str, Any]) -> dict[str, Any]:
    rows = tables["corpus"].num_rows
    return {
        "license": manifest["provenance"]["catalog"]["license"],
        "language": ["en"],
        "pretty_name": f"FASHION-RQBENCH {manifest['name']}",
        "annotations_creators": ["machine-generated"],
        "task_categories": ["text-retrieval", "text-ranking", "text-classification"],
        "tags": ["fashion", "e-commerce", "retrieval", "benchmark", "semantic-ids"],
        "size_categories": [next((name for most, name in _SIZES if rows < most), "n>1M")],
        "configs": [_config_entry(config) for config in CONFIGS],
        "dataset_info": [_info_entry(config, tables[config], manifest) for config in CONFIGS],
    }


def _config_entry(config: str) -> dict[str, Any]:
    files = [{"split": SPLIT, "path": f"{config}/{SPLIT}-*.parquet"}]
    default = {"default": True} if config == CONFIGS[0] else {}
    return {"config_name": config, "data_files": files, **default}


def _info_entry(config: str, table: pa.Table, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """``dataset_info`` of a config, as `datasets` writes it.

    The description carries the files' hashes: `datasets` keys its cache of a folder by this entry
    alone, and would otherwise serve the rows of the edition that stood there before.
    """
    datasets = require("datasets", "build")
    files = [manifest["files"][name] for name in manifest["configs"][config]["files"]]
    splits = datasets.SplitDict()
    splits.add(datasets.SplitInfo(SPLIT, num_bytes=table.nbytes, num_examples=table.num_rows))
    info = datasets.DatasetInfo(
        features=features(config, manifest["dim"]),
        splits=splits,
        download_size=sum(file["bytes"] for file in files),
        dataset_size=table.nbytes,
    )
    hashes = " ".join(file["sha256"] for file in files)
    description = f"Edition {manifest['id']}, SHA-256 {hashes}"
    return {"config_name": config, "description": description, **info._to_yaml_dict()}


def _facts(tables: Tables, manifest: Mapping[str, Any]) -> str:
    encoder = manifest["encoder"]
    facts = [
        ("edition id", f"`{manifest['id']}`"),
        ("products", f"{tables['corpus'].num_rows:,}"),
        ("queries", f"{tables['queries'].num_rows:,}"),
        ("qualifying clusters", _levels(tables["clusters"])),
        ("text encoder of `match`", f"{escape(encoder['name'])} at {escape(encoder['revision'])}"),
    ]
    return _table(("", ""), facts)


def _levels(clusters: pa.Table) -> str:
    counts = clusters.group_by("level").aggregate([("level", "count")]).sort_by("level")
    per_level = [f"{row['level_count']:,} at level {row['level']}" for row in counts.to_pylist()]
    return ", ".join(per_level)


def _configs(tables: Tables) -> str:
    rows = [
        (f"`{config}`", f"{tables[config].num_rows:,}", _ABOUT[config], _columns(tables[config]))
        for config in CONFIGS
    ]
    return _table(("config", "rows", "what a row is", "columns"), rows)


def _columns(table: pa.Table) -> str:
    return ", ".join(f"`{name}`" for name in table.column_names)


def _examples(tables: Tables) -> str:
    """A few queries, evenly spaced, with the text of their first Exact product."""
    ranking, corpus = tables["ranking"], tables["corpus"]
    step = max(1, ranking.num_rows // _EXAMPLES)
    rows = []
    for row in ranking[::step].slice(0, _EXAMPLES).to_pylist():
        exact = next(item for item in row["candidates"] if item["grade"] == len(GRADE_NAMES) - 1)
        place = pc.index(corpus["product_id"], exact["product_id"]).as_py()
        rows.append((escape(row["query"]), escape(corpus["text"][place].as_py())))
    return _table(("query", "an Exact product"), rows)


def _label_shares(classification: pa.Table) -> str:
    labels = classification["label"].to_numpy()
    shares = [f"{name} {(labels == grade).mean():.1%}" for grade, name in enumerate(GRADE_NAMES)]
    return f"Of the {len(labels):,} labelled pairs of `classification`: {', '.join(shares)}."


def quality_of(reports: Mapping[str, Any]) -> Mapping[str, Any]:
    """Floor, reference and wishes met: measured by the tasks stage; empty if not measured."""
    found: Mapping[str, Any] = reports.get("tasks", {}).get("quality", {})
    return found


def _quality(quality: Mapping[str, Any]) -> str:
    """Two tables: per task and metric floor and reference, per grade the wishes met."""
    if not quality:
        return "Not measured for this edition."
    floor, reference = (dict(_flat(quality.get(name, {}))) for name in ("floor", "reference"))
    scores = [
        (escape(name), _shown(floor.get(name, "")), _shown(reference.get(name, "")))
        for name in dict.fromkeys([*floor, *reference])
    ]
    parts = [_table(("measure", "floor", "reference"), scores)]
    wishes = quality.get("wishes", {})
    if wishes:
        columns = list(dict.fromkeys(name for row in wishes.values() for name in row))
        rows = [
            (escape(grade), *(_shown(row.get(name, "")) for name in columns))
            for grade, row in wishes.items()
        ]
        parts.append(_table(("grade", *map(escape, columns)), rows))
    return "\n\n".join(parts)


def _checked(report: Mapping[str, Any]) -> Iterable[str]:
    """What the verifier found of the queries, as a sentence or two; nothing if it was not run."""
    checks = report.get("checks") or report.get("quality")
    if not checks:
        return
    drafts = report.get("revision", {}).get("first_draft", {})
    first = f" ({drafts['fits_siblings_as_well']:.1%} of the first drafts)" if drafts else ""
    coverage = checks["coverage"]
    yield (
        f"{checks['fits_siblings_as_well']:.1%}{first} of the queries fit the products of sibling "
        f"clusters as well as their own. Of {coverage['required_types']:,} product types that make "
        f"up 5% of a cluster or more, {coverage['gaps']:,} have no query that finds them."
    )


def _used(config: Mapping[str, Any]) -> dict[str, Any]:
    """Without the language model's settings where the grammar wrote the queries."""
    generator = config.get("queries", {}).get("generator")
    return {name: part for name, part in config.items() if name != "llm" or generator == "llm"}


def _flat(value: object, path: str = "") -> Iterable[tuple[str, object]]:
    """Leaves of nested mappings, each under its dotted path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else str(key))
    elif value is not None and value != () and value != []:
        yield path, value


def _rows(head: Sequence[str], rows: Iterable[tuple[str, object]]) -> str:
    return _table(head, [(escape(name), escape(_shown(value))) for name, value in rows])


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "undefined" if math.isnan(value) else f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value)
    return str(value)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
