"""``load_dataset("fashion-rq-bench", config)`` by bare name.

In:  the modules ``datasets.load`` and ``datasets.inspect``, once imported.
Out: their ``dataset_module_factory`` finds the edition of that name on disk; every other name goes
     through untouched.

``datasets`` has no entry point for names; this one function is where all of ``load_dataset``,
``load_dataset_builder``, ``get_dataset_config_names`` and their kin turn a name into files. A
folder of that name in the working directory is a dataset of its own, and wins.
"""

from __future__ import annotations

import functools
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fashion_rq_bench.editions.edition import MANIFEST, Edition
from fashion_rq_bench.errors import EditionError
from fashion_rq_bench.hub.import_hook import wrap
from fashion_rq_bench.schema.tables import NAME
from fashion_rq_bench.support.files import digest

__all__ = ["extend"]

if TYPE_CHECKING:
    from fashion_rq_bench.hub.import_hook import Factory

_FACTORY = "dataset_module_factory"


def extend(module: ModuleType) -> None:
    """Wrap the module's ``dataset_module_factory``; a second call changes nothing.

    Raises:
        AttributeError: if this version of ``datasets`` has no such function.
    """
    wrap(module, _FACTORY, _extended)


def _extended(factory: Factory) -> Factory:
    @functools.wraps(factory)
    def dataset_module_factory(path: str, *args: Any, **options: Any) -> Any:
        if path != NAME or Path(path).is_dir():
            return factory(path, *args, **options)
        edition = Edition.open(NAME)
        args, options = _without_revision(edition, args, options)
        found = factory(str(edition.path), *args, **options)
        found.builder_kwargs["dataset_name"] = NAME
        found.hash = digest(found.hash, *_stamps(edition))[:16]
        return found

    return dataset_module_factory


def _without_revision(
    edition: Edition, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Take the revision out: a folder has one revision only, its edition id."""
    revision = args[0] if args else options.get("revision")
    if revision not in (None, "main", edition.id):
        raise EditionError(
            f"The edition at hand ({edition.name}) is not of this revision.",
            given=str(revision),
            allowed=[edition.id],
            fix="Leave the revision out, or point FASHION_RQ_BENCH_DATA to the edition you mean.",
        )
    return (None, *args[1:]), {key: value for key, value in options.items() if key != "revision"}


def _stamps(edition: Edition) -> list[str]:
    """Size and time of every file: `datasets` would serve a replaced edition's old rows."""
    stats = {name: (edition.path / name).stat() for name in [*edition.manifest["files"], MANIFEST]}
    return [f"{name}:{stat.st_size}:{stat.st_mtime_ns}" for name, stat in sorted(stats.items())]
