"""What each stage of a build reads, calls and writes.

In:  the folders of the stages before it.
Out: its own folder filled; the stages' functions themselves touch no file.

One method per stage of the paper's sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from fashion_rq_bench.builders.catalog import read_catalog, write_catalog
from fashion_rq_bench.builders.catalog.text import product_text
from fashion_rq_bench.builders.context.stage import context
from fashion_rq_bench.builders.edition.string_vectors import strings
from fashion_rq_bench.builders.edition.write import write_edition
from fashion_rq_bench.builders.embedding import embed
from fashion_rq_bench.builders.hierarchy.clusters import hierarchy
from fashion_rq_bench.builders.pipeline.config import BuildConfig
from fashion_rq_bench.builders.pipeline.sources import kept_semantic_ids, known_strings
from fashion_rq_bench.builders.queries import generate, generate_with_llm, steering_report
from fashion_rq_bench.builders.tasks.stage import candidate_pools, tasks
from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.encoders.by_name import load_text_encoder
from fashion_rq_bench.errors import EditionError
from fashion_rq_bench.relevance.similarity import StringTable
from fashion_rq_bench.schema.tables import TASK_CONFIGS, corpus_schema
from fashion_rq_bench.support.files import read_json, read_parquet, write_json, write_parquet

__all__ = ["Fills", "answers"]

Folders = Mapping[str, Path]


def answers(work: Path) -> Path:
    """Where the language model's answers are kept."""
    return work / "cache" / "llm"


@dataclass(frozen=True)
class Fills:
    """Each method reads the tables of earlier stages and writes its own into ``to``."""

    source: str | Path
    out: Path
    work: Path
    config: BuildConfig

    def catalog(self, done: Folders, to: Path) -> None:
        """Fill the folder of the stage of this name."""
        write_catalog(read_catalog(self.source, self.config.catalog), to)

    def embedding(self, done: Folders, to: Path) -> None:
        """Fill the folder of the stage of this name."""
        folder = Path(self.source)
        images = folder if folder.is_dir() else folder.parent
        catalog = _table(done, "catalog", "catalog")
        cache = self.work / "cache"
        made = embed(catalog, self.config.embedding, cache=cache, images=images)
        write_parquet(made, to / "embeddings.parquet")

    def rqvae(self, done: Folders, to: Path) -> None:
        """Fill the folder of the stage of this name."""
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
        """Fill the folder of the stage of this name."""
        ids, catalog = _table(done, "rqvae", "semantic_ids"), _table(done, "catalog", "catalog")
        made = hierarchy(ids, catalog, self.config.hierarchy)
        write_parquet(made.clusters, to / "clusters.parquet")
        write_json(made.statistics, to / "statistics.json")

    def context(self, done: Folders, to: Path) -> None:
        """Fill the folder of the stage of this name."""
        made = context(
            _table(done, "catalog", "catalog"),
            _table(done, "rqvae", "semantic_ids"),
            _table(done, "hierarchy", "clusters"),
            _table(done, "embedding", "embeddings"),
            self.config.context,
        )
        write_parquet(made, to / "clusters.parquet")

    def queries(self, done: Folders, to: Path) -> None:
        """Fill the folder of the stage of this name."""
        evidence = (
            _table(done, "context", "clusters"),
            _table(done, "catalog", "catalog"),
            _table(done, "rqvae", "semantic_ids"),
        )
        config = self.config.queries
        if config.generator == "llm":
            cache = answers(self.work)
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
        """Fill the folder of the stage of this name."""
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
        """Fill the folder of the stage of this name."""
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
