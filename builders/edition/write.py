"""Writing an edition: a folder that `datasets` loads with no code.

In:  the eight tables, a name, the resolved configuration, what the stages measured, and where the
     catalog and the vectors come from.
Out: ``CONFIG/test-*.parquet`` for every config, README.md (the card), report.json,
     catalog_report.json, croissant.json, and last of all edition.json, the manifest with the id.

Everything is checked and written beside the final place first. A build that fails leaves the
folder as it was; files that no edition wrote are never touched. Configs are those of the paper's
section 4.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from fashion_rq_bench._version import __version__
from fashion_rq_bench.builders.edition.card import render_card
from fashion_rq_bench.builders.edition.checks import check_tables
from fashion_rq_bench.builders.edition.croissant import croissant
from fashion_rq_bench.editions.carried_domain import carried_domain
from fashion_rq_bench.editions.contents import content_id
from fashion_rq_bench.editions.edition import CATALOG_REPORT, MANIFEST, REPORT, is_inside
from fashion_rq_bench.errors import BuildError, EditionError
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import CONFIGS, SCHEMA_VERSION, SPLIT
from fashion_rq_bench.support.files import (
    file_sha256,
    read_json,
    write_json,
    write_parquet,
    write_text,
)

__all__ = ["write_edition"]

_CARD = "README.md"
_CROISSANT = "croissant.json"
_STAGED = ".edition-new"
_JOURNAL = ".edition-files.json"
_SHARD_BYTES = 512 * 2**20
"""Arrow bytes per Parquet file, about a quarter of that on disk."""


def write_edition(
    out: Path,
    tables: Mapping[str, pa.Table],
    *,
    name: str,
    config: Mapping[str, Any],
    reports: Mapping[str, Any],
    provenance: Mapping[str, Any],
) -> str:
    """Write an edition into ``out``; one that is there already is replaced.

    Args:
        out: the folder; made if absent. Files in it that no edition wrote stay as they are.
        tables: config to table, all of ``schema.CONFIGS``, with the types of ``schema_of``.
        name: shown on the card, and the name `Edition.open` knows it by.
        config: the resolved configuration, JSON-able.
        reports: stage to what it measured, JSON-able. "catalog" becomes catalog_report.json, the
            rest report.json; the card shows the "quality" of "tasks" (floor, reference, wishes).
        provenance: "catalog" with ``source`` (words or a link) and ``license`` (a licence id of the
            Hub); "encoder" with ``name`` and ``revision`` of the text encoder behind ``strings``
            and ``match``; optionally "relevance", the version and weights behind ``match``; and
            whatever else the card should tell. Encoder and relevance enter the id.

    Returns:
        The edition id: hash of the content (``fashion_rq_bench.editions.contents``).

    Raises:
        BuildError: if a table is faulty or provenance incomplete; nothing is written.
        EditionError: if ``out`` cannot be written, or holds a file of ours that is not ours.
    """
    check_tables(tables)
    _check_provenance(provenance)
    manifest = _manifest(tables, name, config, provenance)
    _publish(out, tables, manifest, reports)
    return str(manifest["id"])


def _publish(
    out: Path, tables: Mapping[str, pa.Table], manifest: dict[str, Any], reports: Mapping[str, Any]
) -> None:
    """Write every file beside its place, then put all of them into place."""
    try:
        staged = _fresh(out / _STAGED)
        _stage(staged, tables, manifest, reports)
        _replace(out, staged, manifest)
    except OSError as error:
        raise EditionError(
            f"The edition cannot be written to {out}: {error.strerror or error}.",
            fix="Make the folder writable, or choose another with --out.",
        ) from error
    finally:
        shutil.rmtree(out / _STAGED, ignore_errors=True)


def _check_provenance(provenance: Mapping[str, Any]) -> None:
    needed = {"catalog": ("source", "license"), "encoder": ("name", "revision")}
    for section, keys in needed.items():
        for key in keys:
            if not provenance.get(section, {}).get(key):
                raise BuildError(f"The provenance of an edition must give {section}.{key}.")


def _manifest(
    tables: Mapping[str, pa.Table],
    name: str,
    config: Mapping[str, Any],
    provenance: Mapping[str, Any],
) -> dict[str, Any]:
    carried = carried_domain()
    identity = {key: provenance.get(key) for key in ("encoder", "relevance")}
    identity |= {"domain": domain().digest} if carried else {}
    return {
        "schema_version": SCHEMA_VERSION,
        "id": content_id(tables, identity),
        "name": name,
        "written_by": f"fashion-rq-bench {__version__}",
        "dim": tables["strings"].schema.field("vector").type.list_size,
        "encoder": dict(provenance["encoder"]),
        "identity": identity,
        "configs": {config: _config_entry(config, tables[config]) for config in CONFIGS},
        "files": {},
        "config": dict(config),
        "provenance": dict(provenance),
        **carried,
    }


def _config_entry(config: str, table: pa.Table) -> dict[str, Any]:
    shards = max(1, math.ceil(table.nbytes / _SHARD_BYTES))
    names = [f"{config}/{SPLIT}-{i:05d}-of-{shards:05d}.parquet" for i in range(shards)]
    return {"rows": table.num_rows, "files": names}


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)  # what a killed run left
    folder.mkdir(parents=True)
    return folder


def _stage(
    staged: Path,
    tables: Mapping[str, pa.Table],
    manifest: dict[str, Any],
    reports: Mapping[str, Any],
) -> None:
    """Write every file; fills in ``manifest["files"]`` on the way, since the card gives hashes."""
    for config in CONFIGS:
        for name, shard in _shards(tables[config], manifest["configs"][config]["files"]):
            write_parquet(shard, staged / name)
            _record(name, staged, manifest)
    rest = {stage: report for stage, report in reports.items() if stage != "catalog"}
    write_json(rest, staged / REPORT)
    write_json(reports.get("catalog", {}), staged / CATALOG_REPORT)
    write_json(croissant(manifest), staged / _CROISSANT)
    write_text(render_card(tables, manifest, reports), staged / _CARD)
    for name in (REPORT, CATALOG_REPORT, _CROISSANT, _CARD):
        _record(name, staged, manifest)
    write_json(manifest, staged / MANIFEST)


def _shards(table: pa.Table, names: list[str]) -> list[tuple[str, pa.Table]]:
    bounds = [table.num_rows * i // len(names) for i in range(len(names) + 1)]
    return [
        (name, table.slice(start, end - start))
        for name, start, end in zip(names, bounds, bounds[1:], strict=False)
    ]


def _record(name: str, staged: Path, manifest: dict[str, Any]) -> None:
    path = staged / name
    manifest["files"][name] = {"bytes": path.stat().st_size, "sha256": file_sha256(path)}


def _replace(out: Path, staged: Path, manifest: Mapping[str, Any]) -> None:
    """Put the staged files into place.

    Manifest and card go first and come last, so that at no time a reader finds half of each of two
    editions. The journal keeps what is ours if this is interrupted, and lets the next run finish.
    """
    new = [*manifest["files"], MANIFEST]
    ours = _ours(out)
    foreign = [name for name in new if (out / name).exists() and name not in ours]
    if foreign:
        raise EditionError(
            f"{out} holds a file that no edition wrote and that would be overwritten.",
            given=foreign[0],
            fix="Move it away, or choose another folder with --out.",
        )
    write_json(sorted({*ours, *new}), out / _JOURNAL)
    for name in (MANIFEST, _CARD):
        (out / name).unlink(missing_ok=True)
    for name in new:  # the card is the last of the files, the manifest comes after it
        (out / name).parent.mkdir(exist_ok=True)
        (staged / name).replace(out / name)
    for name in ours - set(new):
        (out / name).unlink(missing_ok=True)
    (out / _JOURNAL).unlink()


def _ours(out: Path) -> set[str]:
    """Files in ``out`` that an edition wrote: by its manifest, or the journal of a broken run."""
    names: set[str] = set()
    for source in (MANIFEST, _JOURNAL):
        try:
            found = read_json(out / source)
        except (OSError, ValueError):
            continue
        names |= {source, *(found["files"] if isinstance(found, dict) else found)}
    return {name for name in names if is_inside(name)} - {_JOURNAL}
