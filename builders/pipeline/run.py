"""The whole build: catalog in, edition out.

In:  a catalog (path, ``synthetic:ROWS`` or a ``datasets`` name), a BuildConfig, an output folder.
Out: the edition in that folder; every stage's own output in ``OUT/.work/``.

Implements the four steps of the paper's section 3 (representation, purification, relational
context, queries) and the task construction of section 4. The stages themselves are pure; this
module only reads and writes their tables. A stage that finished before is not run again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from filelock import FileLock, Timeout

from fashion_rq_bench.builders.catalog import read_catalog, write_catalog
from fashion_rq_bench.builders.catalog.text import product_text
from fashion_rq_bench.builders.context.stage import context
from fashion_rq_bench.builders.edition.string_vectors import strings
from fashion_rq_bench.builders.edition.write import write_edition
from fashion_rq_bench.builders.embedding import embed
from fashion_rq_bench.builders.hierarchy.clusters import hierarchy
from fashion_rq_bench.builders.pipeline.config import BuildConfig
from fashion_rq_bench.builders.pipeline.sources import (
    domain_digest,
    fingerprint,
    kept_semantic_ids,
    known_strings,
)
from fashion_rq_bench.builders.pipeline.stages import Stage, StageRun, Workshop
from fashion_rq_bench.builders.queries import (
    generate,
    generate_with_llm,
    price_job,
    steering_report,
)
from fashion_rq_bench.builders.tasks.stage import candidate_pools, tasks
from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.encoders.by_name import load_text_encoder
from fashion_rq_bench.errors import BuildError, ConfigError, EditionError, InputError
from fashion_rq_bench.relevance.similarity import StringTable
from fashion_rq_bench.schema.domain import load_domain, using
from fashion_rq_bench.schema.tables import TASK_CONFIGS, corpus_schema
from fashion_rq_bench.support.files import (
    digest,
    read_json,
    read_parquet,
    write_json,
    write_parquet,
)

__all__ = ["STAGES", "BuildConfig", "BuildResult", "StageRun", "build", "price_queries"]

Folders = Mapping[str, Path]

_PACKAGE = "fashion_rq_bench.builders"

STAGES = (
    "catalog",
    "embedding",
    "rqvae",
    "hierarchy",
    "context",
    "queries",
    "tasks",
    "edition",
)


@dataclass(frozen=True)
class BuildResult:
    """What a build did: the stages in order, and the edition's id where it got that far."""

    out: Path
    runs: tuple[StageRun, ...]
    edition_id: str | None


def build(
    source: str | Path,
    out: Path,
    config: BuildConfig,
    *,
    until: str = "edition",
    report: Callable[[str, StageRun | None], None] = lambda name, run: None,
) -> BuildResult:
    """Build an edition, or stop after the stage ``until``.

    Args:
        source: what :func:`read_catalog` accepts.
        out: the edition's folder; stage outputs go to ``out/.work``.
        config: every knob.
        until: the last stage to run, one of ``STAGES``.
        report: called with (stage, None) before and (stage, run) after each stage.

    Raises:
        ConfigError: if ``until`` names no stage.
        CatalogError, BuildError, ModelError: from the stages; nothing half-written stays.
    """
    if until not in STAGES:
        raise ConfigError("There is no stage of this name.", given=until, allowed=STAGES)
    work = out / ".work"
    _check_writable(out)
    with _locked(work), using(load_domain(config.domain)) as sold:
        workshop = Workshop(work, domain=domain_digest(sold))
        for stage in _stages(source, out, work, config):
            report(stage.name, None)
            report(stage.name, workshop.run(stage))
            if stage.name == until:
                break
    return BuildResult(out, tuple(workshop.runs.values()), _edition_id(workshop))


def price_queries(
    source: str | Path,
    out: Path,
    config: BuildConfig,
    *,
    report: Callable[[str, StageRun | None], None] = lambda name, run: None,
) -> dict[str, Any]:
    """What the language model's queries would cost: builds up to the context, asks no model.

    Args:
        source, out, config, report: as for :func:`build`.

    Returns:
        See :func:`~.queries.llm.price_job`; answers kept by an earlier run cost nothing.

    Raises:
        ConfigError: if the queries are the grammar's, which asks no model.
    """
    if config.queries.generator != "llm":
        raise ConfigError(
            "Only queries of a language model have a price.",
            given=config.queries.generator,
            allowed=["llm"],
            fix="Add --generator llm.",
        )
    context = build(source, out, config, until="context", report=report).runs[-1]
    clusters = read_parquet(context.folder / "clusters.parquet")
    cache = _answers(out / ".work")
    with using(load_domain(config.domain)):
        return price_job(clusters, config.llm, cache=cache, queries=config.queries)


def _answers(work: Path) -> Path:
    return work / "cache" / "llm"


def _edition_id(workshop: Workshop) -> str | None:
    last = workshop.runs.get("edition")
    return str(read_json(last.folder / "id.json")["id"]) if last else None


@contextmanager
def _locked(work: Path) -> Iterator[None]:
    """Hold the output folder for this build alone; the lock goes with the process that holds it."""
    try:
        work.mkdir(parents=True, exist_ok=True)
        with FileLock(work / "lock", timeout=0):
            yield
    except Timeout as error:
        raise BuildError(
            "Another build is writing to this folder.",
            given=str(work.parent),
            fix="Wait for it, or give another --out.",
        ) from error


def _check_writable(out: Path) -> None:
    try:
        (out / ".work").mkdir(parents=True, exist_ok=True)
        (out / ".work" / "lock").touch()
    except OSError as error:
        raise InputError(
            f"The output folder cannot be written: {error.strerror}.",
            given=str(out),
            fix="Give a folder you may write to: --out PATH.",
        ) from error


def _stages(source: str | Path, out: Path, work: Path, config: BuildConfig) -> list[Stage]:
    """The eight stages, in order."""
    fills = _Fills(source, out, work, config)
    reused = digest(Edition.open(config.reuse).id) if config.reuse else ""
    declared = digest(config.text_encoder, reused)
    before = {name: STAGES[: STAGES.index(name)] for name in STAGES}
    whole = (*(getattr(config, name) for name in STAGES[:-1]), config.llm)
    table: list[tuple[str, tuple[str, ...], object, str]] = [
        ("catalog", (), config.catalog, fingerprint(source)),
        ("embedding", ("catalog",), config.embedding, ""),
        ("rqvae", before["rqvae"], (config.rqvae, config.hierarchy), reused),
        ("hierarchy", ("catalog", "rqvae"), config.hierarchy, ""),
        ("context", before["context"], config.context, ""),
        ("queries", ("catalog", "rqvae", "context"), _query_settings(config), ""),
        ("tasks", ("catalog", "rqvae", "hierarchy", "queries"), config.tasks, declared),
        (
            "edition",
            before["edition"],
            whole,
            digest(config.name, config.license, str(config.source)),
        ),
    ]
    stages = [
        Stage(name, f"{_PACKAGE}.{name}", needs, settings, getattr(fills, name), fingerprint)
        for name, needs, settings, fingerprint in table
    ]
    return [*stages[:-1], dataclasses.replace(stages[-1], intact=fills.published)]


def _query_settings(config: BuildConfig) -> object:
    return (config.queries, config.llm) if config.queries.generator == "llm" else config.queries


@dataclass(frozen=True)
class _Fills:
    """Each method reads the tables of earlier stages and writes its own into ``to``."""

    source: str | Path
    out: Path
    work: Path
    config: BuildConfig

    def catalog(self, done: Folders, to: Path) -> None:
        write_catalog(read_catalog(self.source, self.config.catalog), to)

    def embedding(self, done: Folders, to: Path) -> None:
        folder = Path(self.source)
        images = folder if folder.is_dir() else folder.parent
        catalog = _table(done, "catalog", "catalog")
        cache = self.work / "cache"
        made = embed(catalog, self.config.embedding, cache=cache, images=images)
        write_parquet(made, to / "embeddings.parquet")

    def rqvae(self, done: Folders, to: Path) -> None:
        catalog = _table(done, "catalog", "catalog")
        if self.config.reuse:
            edition = Edition.open(self.config.reuse)
            kept = kept_semantic_ids(edition, catalog)
            write_parquet(kept, to / "semantic_ids.parquet")
            write_json(edition.report["rqvae"], to / "diagnostics.json")
            return
        from fashion_rq_bench.builders.rqvae import semantic_ids  # torch only where it is needed
        from fashion_rq_bench.builders.rqvae.checkpoint import save_model
        from fashion_rq_bench.builders.rqvae.diagnostics import write_diagnostics

        made = semantic_ids(
            catalog,
            _table(done, "embedding", "embeddings"),
            self.config.rqvae,
            checkpoint=self.work / "cache" / "rqvae",
            qualifying=self.config.hierarchy,
        )
        write_parquet(made.table, to / "semantic_ids.parquet")
        write_diagnostics(made.diagnostics, to)
        save_model(made.model, to)

    def hierarchy(self, done: Folders, to: Path) -> None:
        ids, catalog = _table(done, "rqvae", "semantic_ids"), _table(done, "catalog", "catalog")
        made = hierarchy(ids, catalog, self.config.hierarchy)
        write_parquet(made.clusters, to / "clusters.parquet")
        write_json(made.statistics, to / "statistics.json")

    def context(self, done: Folders, to: Path) -> None:
        made = context(
            _table(done, "catalog", "catalog"),
            _table(done, "rqvae", "semantic_ids"),
            _table(done, "hierarchy", "clusters"),
            _table(done, "embedding", "embeddings"),
            self.config.context,
        )
        write_parquet(made, to / "clusters.parquet")

    def queries(self, done: Folders, to: Path) -> None:
        evidence = (
            _table(done, "context", "clusters"),
            _table(done, "catalog", "catalog"),
            _table(done, "rqvae", "semantic_ids"),
        )
        config = self.config.queries
        if config.generator == "llm":
            cache = _answers(self.work)
            made = generate_with_llm(*evidence, self.config.llm, cache=cache, queries=config)
            write_json(made.run, to / "run.json")
            write_json(made.report, to / "report.json")
            write_parquet(made.table, to / "queries.parquet")
            return
        written = generate(*evidence, config)
        write_parquet(written.table, to / "queries.parquet")
        steered = steering_report(evidence[1])
        write_json({**written.report, "steering_texts": steered}, to / "report.json")

    def tasks(self, done: Folders, to: Path) -> None:
        catalog = _table(done, "catalog", "catalog")
        ids, clusters = _table(done, "rqvae", "semantic_ids"), _table(done, "hierarchy", "clusters")
        queries = _table(done, "queries", "queries")
        encoder = load_text_encoder(self.config.text_encoder)
        pools = candidate_pools(catalog, ids, clusters, queries, self.config.tasks)
        vectors = strings(
            catalog,
            queries,
            pools,
            encoder,
            reuse=known_strings(self.config.reuse),
            cache=self.work / "cache",
        )
        similarity = StringTable(vectors, encoder.name)
        made = tasks(catalog, ids, clusters, queries, similarity, self.config.tasks, pools=pools)
        for name in TASK_CONFIGS:
            write_parquet(getattr(made, name), to / f"{name}.parquet")
        write_parquet(vectors, to / "strings.parquet")
        declared = {"name": encoder.name, "revision": encoder.revision}
        write_json({**made.report, "encoder": declared}, to / "report.json")

    def edition(self, done: Folders, to: Path) -> None:
        catalog = _table(done, "catalog", "catalog")
        tables = {name: _table(done, "tasks", name) for name in (*TASK_CONFIGS, "strings")}
        tables["queries"] = _table(done, "queries", "queries")
        tables["clusters"] = _table(done, "context", "clusters")
        tables["corpus"] = _corpus(catalog, _table(done, "rqvae", "semantic_ids"))
        report = read_json(done["tasks"] / "report.json")
        edition_id = write_edition(
            self.out,
            tables,
            name=self.config.name,
            config=self.config.declared(),
            reports={
                "catalog": read_json(done["catalog"] / "catalog_report.json"),
                "rqvae": read_json(done["rqvae"] / "diagnostics.json"),
                "hierarchy": read_json(done["hierarchy"] / "statistics.json"),
                "queries": read_json(done["queries"] / "report.json"),
                "tasks": report,
            },
            provenance={"catalog": self._origin(), "encoder": report["encoder"]},
        )
        write_json({"id": edition_id}, to / "id.json")

    def _origin(self) -> dict[str, str]:
        """Where the catalog comes from, in words, and its licence, for the card."""
        if str(self.source).startswith("synthetic:"):
            return {"source": "a synthetic catalog made by this package", "license": "apache-2.0"}
        words = self.config.source or Path(self.source).name
        return {"source": words, "license": self.config.license}

    def published(self, folder: Path) -> bool:
        """Whether the edition that a finished run wrote still stands in the output folder."""
        try:
            edition = Edition.open(self.out)
            edition.verify()
        except EditionError:
            return False
        return edition.id == str(read_json(folder / "id.json")["id"])


def _table(done: Folders, stage: str, name: str) -> pa.Table:
    return read_parquet(done[stage] / f"{name}.parquet")


def _corpus(catalog: pa.Table, semantic_ids: pa.Table) -> pa.Table:
    text = product_text(catalog)
    columns = {**{name: catalog[name] for name in catalog.column_names}, "text": text}
    columns["semantic_id"] = semantic_ids["semantic_id"]
    return pa.table([columns[name] for name in corpus_schema().names], schema=corpus_schema())
