"""Reading a built edition.

In:  the path of an edition, or a name: "fashion-rq-bench", "mini", or the name of the edition that
     the environment variable ``FASHION_RQ_BENCH_DATA`` points to.
Out: an :class:`Edition`: its id, manifest and reports, and its configs as Arrow tables, read when
     asked for.

"mini" is the edition inside the package. "fashion-rq-bench" is the edition of the environment
variable where that is set, else "mini". The configs are those of the paper's section 4; their
schemas stand in ``schema.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path, PurePosixPath
from typing import Any, ParamSpec, TypeVar

import pyarrow as pa

from fashion_rq_bench.editions.carried_domain import declared_domain
from fashion_rq_bench.editions.contents import content_id
from fashion_rq_bench.errors import ConfigError, EditionError
from fashion_rq_bench.schema.attributes import Domain
from fashion_rq_bench.schema.domain import domain, using
from fashion_rq_bench.schema.tables import CONFIGS, NAME, SCHEMA_VERSION, schema_of
from fashion_rq_bench.support.files import file_sha256, read_json, read_parquet

__all__ = [
    "CATALOG_REPORT",
    "ENVIRONMENT",
    "MANIFEST",
    "REPORT",
    "Edition",
    "in_its_domain",
    "is_inside",
    "locate",
]

ENVIRONMENT = "FASHION_RQ_BENCH_DATA"
MANIFEST = "edition.json"
REPORT = "report.json"
CATALOG_REPORT = "catalog_report.json"

_MINI = Path(__file__).parent.parent / "data" / "mini"
_KEYS = {"schema_version", "id", "name", "dim", "encoder", "identity", "configs", "files"}


def locate(path_or_name: str | Path) -> Path:
    """Folder of an edition.

    A folder of that path wins over a name, so that ``./mini`` in the working directory is taken
    before the embedded edition.

    Raises:
        EditionError: if there is neither such a folder nor such a name.
    """
    path = Path(path_or_name).expanduser()
    if path.is_dir():
        return path
    names = _names()
    if str(path_or_name) in names:
        return names[str(path_or_name)]
    raise EditionError(
        "There is no edition of this name, and no folder of this path.",
        given=str(path_or_name),
        allowed=[*names, "the path of an edition"],
        fix=f"Build one with: fashion-rq build --catalog CATALOG --out {path_or_name}",
    )


def _names() -> dict[str, Path]:
    names = {NAME: _MINI, "mini": _MINI}
    registered = os.environ.get(ENVIRONMENT)
    if registered:
        folder = Path(registered).expanduser()
        names = {_name_in(folder): folder} | names | {NAME: folder}
    return names


def _name_in(folder: Path) -> str:
    try:
        return str(read_json(folder / MANIFEST)["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return folder.name


@dataclass(frozen=True)
class Edition:
    """A built benchmark on disk.

    Attributes:
        path: its folder.
        manifest: the content of ``edition.json``: id, name, schema version, encoder, configs,
            files with size and SHA-256, resolved configuration, provenance.
    """

    path: Path
    manifest: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def open(cls, path_or_name: str | Path = NAME) -> Edition:
        """Open an edition; reads its manifest only.

        Args:
            path_or_name: see :func:`locate`.

        Raises:
            EditionError: if it is missing, incomplete, or of another schema version.
        """
        path = locate(path_or_name)
        manifest = _read_manifest(path)
        version = manifest.get("schema_version")
        if version != SCHEMA_VERSION:
            raise EditionError(
                f"The edition at {path} is written under another schema version.",
                given=version,
                allowed=[SCHEMA_VERSION],
                fix="Rebuild it, or install the fashion-rq-bench that wrote it: "
                f"{manifest.get('written_by', 'unknown')}.",
            )
        missing = [name for name in manifest["files"] if not (path / name).is_file()]
        if missing:
            raise EditionError(
                f"The edition at {path} lacks {len(missing)} of its files, such as {missing[0]}.",
                fix="Copy it again whole, or rebuild it with the same --out.",
            )
        return cls(path, manifest)

    @property
    def id(self) -> str:
        """Hash of the content; results of different ids are not comparable."""
        return str(self.manifest["id"])

    @property
    def name(self) -> str:
        """The name it was built under."""
        return str(self.manifest["name"])

    @property
    def domain(self) -> Domain:
        """What it sells: the domain that it carries, fashion for an edition that carries none."""
        return declared_domain(self.manifest)

    @property
    def encoder(self) -> Mapping[str, Any]:
        """The declared text encoder of ``strings``: at least ``name`` and ``revision``."""
        found: Mapping[str, Any] = self.manifest["encoder"]
        return found

    @property
    def report(self) -> dict[str, Any]:
        """What the build measured: ``report.json``, by stage."""
        return self._json(REPORT)

    @property
    def catalog_report(self) -> dict[str, Any]:
        """Rows read, repaired and quarantined: ``catalog_report.json``."""
        return self._json(CATALOG_REPORT)

    def num_rows(self, config: str) -> int:
        """Rows of a config, from the manifest.

        Raises:
            ConfigError: if an edition has no such config.
        """
        schema_of(config)
        return int(self.manifest["configs"][config]["rows"])

    def table(self, config: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Read a config.

        Args:
            config: one of ``schema.CONFIGS``.
            columns: the columns to read, all by default.

        Raises:
            ConfigError: if an edition has no such config, or the config no such column.
            EditionError: if a file is damaged or of another schema.
        """
        with using(self.domain):
            expected = _selected(schema_of(config, int(self.manifest["dim"])), columns)
        try:
            shards = [
                read_parquet(self.path / name, expected.names) for name in self._shards(config)
            ]
            table = pa.concat_tables(shards)
        except (OSError, pa.ArrowException) as error:
            raise EditionError(
                f"The config {config!r} of the edition at {self.path} cannot be read: {error}.",
                fix="Copy the edition again whole, or rebuild it.",
            ) from error
        return self._conforming(table, expected, config)

    def verify(self) -> None:
        """Check every file's size and SHA-256, and that the rows give the id.

        Raises:
            EditionError: naming the first file that differs, or the id that the rows give.
        """
        for name, facts in self.manifest["files"].items():
            path = self.path / name
            if path.stat().st_size != facts["bytes"] or file_sha256(path) != facts["sha256"]:
                raise EditionError(
                    f"{name} of the edition at {self.path} is not as it was written.",
                    fix="Copy the edition again whole, or rebuild it.",
                )
        tables = {config: self.table(config) for config in CONFIGS}
        found = content_id(tables, self.manifest["identity"])
        if found != self.id:
            raise EditionError(
                f"The rows of the edition at {self.path} do not give its id.",
                given=found,
                allowed=[self.id],
            )

    def _shards(self, config: str) -> list[str]:
        shards: list[str] = self.manifest["configs"][config]["files"]
        return shards

    def _conforming(self, table: pa.Table, expected: pa.Schema, config: str) -> pa.Table:
        known = [name for name in expected.names if name in table.column_names]
        if not table.select(known).schema.equals(expected, check_metadata=False):
            raise EditionError(
                f"The config {config!r} of the edition at {self.path} has other columns or types "
                f"than schema version {SCHEMA_VERSION} asks for.",
                fix="Rebuild the edition.",
            )
        return table.select(known).cast(expected)

    def _json(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = read_json(self.path / name)
        return found


P = ParamSpec("P")
T = TypeVar("T")


def in_its_domain(function: Callable[P, T]) -> Callable[P, T]:
    """Run a function under the domain of the edition that it is given.

    The edition is the first argument that is one or has one, as a collection and a session do.
    """

    @wraps(function)
    def call(*args: P.args, **named: P.kwargs) -> T:
        given = (getattr(one, "edition", one) for one in (*args, *named.values()))
        found = next((one.domain for one in given if isinstance(one, Edition)), None)
        with using(found or domain()):
            return function(*args, **named)

    return call


def _selected(schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    if columns is None:
        return schema
    for name in columns:
        if name not in schema.names:
            raise ConfigError("There is no such column.", given=name, allowed=schema.names)
    return pa.schema([schema.field(name) for name in columns])


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = read_json(path / MANIFEST)
        complete = set(manifest) >= _KEYS and all(map(is_inside, manifest["files"]))
    except FileNotFoundError as error:
        raise EditionError(
            f"{path} holds no finished edition: it has no {MANIFEST}.",
            fix="Build it with `fashion-rq build`, or run the build again if it was interrupted.",
        ) from error
    except (OSError, ValueError, TypeError) as error:
        raise EditionError(f"{path / MANIFEST} cannot be read: {error}.") from error
    if not complete:
        raise EditionError(f"{path / MANIFEST} is not the manifest of an edition.")
    return dict(manifest)


def is_inside(name: str) -> bool:
    """Whether a file that a manifest names lies in the edition's own folder."""
    return not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts
