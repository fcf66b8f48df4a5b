"""The whole build: catalog in, edition out.

In:  a catalog (path, ``synthetic:ROWS`` or a ``datasets`` name), a BuildConfig, an output folder.
Out: the edition in that folder; every stage's own output in ``OUT/.work/``.

Implements the four steps of the paper's section 3 (representation, purification, relational
context, queries) and the task construction of section 4. The stages themselves are pure; what each
reads and writes stands in ``fills.py``. A stage that finished before is not run again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from fashion_rq_bench.builders.pipeline.config import BuildConfig
from fashion_rq_bench.builders.pipeline.fills import Fills, answers
from fashion_rq_bench.builders.pipeline.sources import domain_digest, fingerprint
from fashion_rq_bench.builders.pipeline.stages import Stage, StageRun, Workshop
from fashion_rq_bench.builders.queries import price_job
from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.errors import BuildError, ConfigError, InputError
from fashion_rq_bench.schema.domain import load_domain, using
from fashion_rq_bench.support.files import digest, read_json, read_parquet

__all__ = ["STAGES", "BuildConfig", "BuildResult", "StageRun", "build", "price_queries"]

_PACKAGE = "fashion_rq_bench.builders"

STAGES = ("catalog", "embedding", "rqvae", "hierarchy", "context", "queries", "tasks", "edition")


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
    cache = answers(out / ".work")
    with using(load_domain(config.domain)):
        return price_job(clusters, config.llm, cache=cache, queries=config.queries)


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
    fills = Fills(source, out, work, config)
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
