"""One stage of a build, kept or redone.

In:  a stage's name, its key (inputs, configuration, code) and the function that fills a folder.
Out: the finished folder ``WORK/NAME-KEY/``; it exists only if the stage finished.

This one idea is caching, resuming and reproducibility at once: a stage whose folder is there is
not run again, and a killed stage leaves only a ``.tmp`` folder, which the next run removes.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fashion_rq_bench.builders.pipeline.code_digest import code_digest
from fashion_rq_bench.support.files import digest, to_json, write_json
from fashion_rq_bench.support.settings import to_mapping

__all__ = ["Stage", "StageRun", "Workshop"]

Fill = Callable[[Mapping[str, Path], Path], None]


def _always(folder: Path) -> bool:
    return True


@dataclass(frozen=True)
class Stage:
    """What a stage depends on and how it fills its folder.

    Attributes:
        name: the CLI verb, also the module's name.
        module: dotted name of the module whose code (with its imports) enters the key.
        needs: names of the stages whose folders it reads.
        config: a frozen dataclass, or a tuple of them.
        fill: writes the stage's files into a folder, given the folders it needs.
        fingerprint: content of inputs that come from outside the build, in the key too.
        intact: whether what a finished run wrote outside its folder is still there.
    """

    name: str
    module: str
    needs: tuple[str, ...]
    config: object
    fill: Fill
    fingerprint: str = ""
    intact: Callable[[Path], bool] = _always


@dataclass(frozen=True)
class StageRun:
    """What became of a stage: where its files are, whether it ran, how long it took (seconds)."""

    name: str
    key: str
    folder: Path
    reused: bool
    seconds: float


@dataclass
class Workshop:
    """Runs stages in order inside one work folder; the domain's digest is in every key."""

    work: Path
    runs: dict[str, StageRun] = field(default_factory=dict)
    domain: str = ""

    def key(self, stage: Stage) -> str:
        """SHA-256 over name, configuration, code, outside inputs and the keys of needed stages."""
        configs = stage.config if isinstance(stage.config, tuple) else (stage.config,)
        settings = to_json([to_mapping(config) for config in configs])
        needs = [self.runs[name].key for name in stage.needs]
        outside = (self.domain, stage.fingerprint)
        return digest(stage.name, settings, code_digest(stage.module), *outside, *needs)

    def run(self, stage: Stage) -> StageRun:
        """Run ``stage`` unless its folder is there; record and return what became of it."""
        key = self.key(stage)
        folder = self.work / f"{stage.name}-{key[:16]}"
        started = time.perf_counter()
        reused = folder.is_dir() and stage.intact(folder)
        if not reused:
            shutil.rmtree(folder, ignore_errors=True)
            self._fill(stage, folder)
        run = StageRun(stage.name, key, folder, reused, time.perf_counter() - started)
        self.runs[stage.name] = run
        return run

    def _fill(self, stage: Stage, folder: Path) -> None:
        temporary = folder.with_name(folder.name + ".tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        try:
            stage.fill({name: self.runs[name].folder for name in stage.needs}, temporary)
            write_json({"stage": stage.name, "needs": list(stage.needs)}, temporary / "stage.json")
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        _sync(temporary)
        temporary.rename(folder)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
