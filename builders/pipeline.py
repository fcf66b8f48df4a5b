"""The whole build: catalog in, edition out.

In:  a catalog (path, ``synthetic:ROWS`` or a ``datasets`` name), a BuildConfig, an output folder.
Out: the edition in that folder; every stage's own output in ``OUT/.work/``.

Implements the four steps of the paper's section 3 (representation, purification, relational
context, queries) and the task construction of section 4. The stages themselves are pure; this
module only reads and writes their tables. A stage that finished before is not run again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from filelock import FileLock, Timeout

from fashion_rq_bench import _config
from fashion_rq_bench._io import (
    digest,
    file_sha256,
    read_json,
    read_parquet,
    write_json,
    write_parquet,
)
from fashion_rq_bench.builders._stages import Stage, StageRun, Workshop
from fashion_rq_bench.builders.catalog import CatalogConfig, read_catalog, write_catalog
from fashion_rq_bench.builders.context import ContextConfig, context
from fashion_rq_bench.builders.edition import write_edition
from fashion_rq_bench.builders.embedding import EmbeddingConfig, embed
from fashion_rq_bench.builders.hierarchy import HierarchyConfig, hierarchy
from fashion_rq_bench.builders.queries import QueryConfig, generate
from fashion_rq_bench.builders.rqvae import RQVAEConfig, semantic_ids
from fashion_rq_bench.builders.strings import strings
from fashion_rq_bench.builders.tasks import TaskConfig, tasks
from fashion_rq_bench.edition import Edition
from fashion_rq_bench.errors import BuildError, ConfigError
from fashion_rq_bench.retrievers.encoders import EncoderConfig, load_text_encoder
from fashion_rq_bench.similarity import StringTable

__all__ = ["STAGES", "BuildConfig", "BuildResult", "build"]

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
class BuildConfig:
    """Every knob of a build, one section per stage.

    Attributes:
        name: the edition's name, shown on its card.
        seed: the seed of every stage whose own seed is not set in its section.
        text_encoder: the declared encoder of the ``strings`` table, part of the metric's identity.
        reuse: an edition whose semantic IDs and string vectors are taken over where they fit, so
            that its text and tasks can be rebuilt to the same bytes on any machine.
    """

    name: str = "custom"
    seed: int = 0
    text_encoder: str = "minilm"
    reuse: str | None = None
    catalog: CatalogConfig = field(default_factory=CatalogConfig)
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    rqvae: RQVAEConfig = field(default_factory=RQVAEConfig)
    hierarchy: HierarchyConfig = field(default_factory=HierarchyConfig)
    context: ContextConfig = field(default_factory=ContextConfig)
    queries: QueryConfig = field(default_factory=QueryConfig)
    tasks: TaskConfig = field(default_factory=TaskConfig)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> BuildConfig:
        """Build from nested values (TOML); the top-level seed reaches every section.

        Raises:
            ConfigError: on an unknown key or a value out of range, with the nearest match.
        """
        seed = values.get("seed", cls.seed)
        sections = {
            item.name: {"seed": seed, **values.get(item.name, {})}
            for item in dataclasses.fields(cls)
            if dataclasses.is_dataclass(item.default_factory) and _has_seed(item.default_factory)
        }
        return _config.from_mapping(cls, {**values, **sections})

    @classmethod
    def preset(cls, name: str) -> Mapping[str, Any]:
        """The values of a configuration that ships with the package, e.g. "myntra-416".

        Raises:
            ConfigError: if there is none of that name and no such file.
        """
        folder = Path(__file__).parent / "configs"
        named = folder / f"{name}.toml"
        if named.is_file():
            return _config.read_toml(named)
        if Path(name).suffix == ".toml" or Path(name).is_file():
            return _config.read_toml(Path(name))
        known = sorted(path.stem for path in folder.glob("*.toml"))
        raise ConfigError(
            "There is no configuration of this name.",
            given=name,
            allowed=known,
            fix="Or give the path of a TOML file.",
        )


def _has_seed(kind: object) -> bool:
    return any(item.name == "seed" for item in dataclasses.fields(kind))  # type: ignore[arg-type]


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
    with _locked(work):
        workshop = Workshop(work)
        for stage in _stages(source, out, work, config):
            report(stage.name, None)
            report(stage.name, workshop.run(stage))
            if stage.name == until:
                break
        edition_id = None
        if until == "edition":
            edition_id = _publish(workshop, out, config)
    return BuildResult(out, tuple(workshop.runs.values()), edition_id)


def _locked(work: Path) -> FileLock:
    try:
        work.mkdir(parents=True, exist_ok=True)
        lock = FileLock(work / "lock", timeout=0)
        lock.acquire()
        lock.release()
    except Timeout as error:
        raise BuildError(
            "Another build is writing to this folder.",
            given=str(work.parent),
            fix="Wait for it, or give another --out.",
        ) from error
    except OSError as error:
        raise BuildError(
            f"The output folder cannot be written: {error.strerror}.",
            given=str(work.parent),
            fix="Give a folder you may write to: --out PATH.",
        ) from error
    return lock


def _stages(source: str | Path, out: Path, work: Path, config: BuildConfig) -> list[Stage]:
    """The eight stages, in order, as closures over this build's settings."""
    fills = _Fills(source, work, config)
    base = "fashion_rq_bench.builders."
    reused = _reuse_fingerprint(config)
    table: list[tuple[str, tuple[str, ...], object, str]] = [
        ("catalog", (), config.catalog, _fingerprint(source)),
        ("embedding", ("catalog",), config.embedding, ""),
        ("rqvae", ("catalog", "embedding"), config.rqvae, reused),
        ("hierarchy", ("catalog", "rqvae"), config.hierarchy, ""),
        ("context", ("catalog", "embedding", "rqvae", "hierarchy"), config.context, ""),
        ("queries", ("catalog", "rqvae", "context"), config.queries, ""),
        (
            "tasks",
            ("catalog", "rqvae", "hierarchy", "queries"),
            config.tasks,
            digest(config.text_encoder, reused),
        ),
    ]
    return [
        Stage(name, base + name, needs, settings, getattr(fills, name), fingerprint)
        for name, needs, settings, fingerprint in table
    ]
