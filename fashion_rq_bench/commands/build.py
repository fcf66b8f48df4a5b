"""``fashion-rq build`` and its stages; ``fashion-rq demo``.

In:  a catalog and settings (shipped configuration, options, ``--set``).
Out: an edition's folder, or a stage's output under OUT/.work.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fashion_rq_bench import _config
from fashion_rq_bench._optional import require
from fashion_rq_bench.commands._shown import Json, Shown, print_shown, say

__all__ = ["build", "build_values", "register"]

Catalog = Annotated[
    str,
    typer.Option(
        help="Kaggle folder; CSV, Parquet or JSONL file; datasets name; or synthetic:ROWS."
    ),
]
Out = Annotated[Path, typer.Option(help="The edition's folder; stage outputs go to OUT/.work.")]
Configuration = Annotated[
    str | None,
    typer.Option("--config", help="A shipped configuration (mini, myntra, myntra-416) or TOML."),
]
Name = Annotated[str | None, typer.Option(help="What the edition is called, on its card.")]
Embedder = Annotated[
    str | None, typer.Option(help="lsa, minilm, a Hub id or a folder: what makes the hierarchy.")
]
Modality = Annotated[str | None, typer.Option(help="text, image or fused.")]
TextEncoder = Annotated[
    str | None, typer.Option(help="The encoder that attribute matches are declared under.")
]
Map = Annotated[
    list[str] | None,
    typer.Option("--map", help="Our column = yours, e.g. title=name; or a TOML file. Repeatable."),
]
MaxAnchors = Annotated[
    int | None, typer.Option(help="Keep so many anchors, stratified by article type.")
]
Seed = Annotated[int | None, typer.Option(help="The seed of every stage.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Any setting as SECTION.KEY=VALUE, e.g. rqvae.epochs=5. Repeatable."
    ),
]
Reuse = Annotated[
    str | None,
    typer.Option(help="Take semantic IDs and string vectors from this edition."),
]
Remote = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run code from the encoder's repository.")
]

_VERBS = {
    "build": ("edition", "Build an edition from a catalog; goes on where it stopped."),
    "catalog": ("catalog", "Read a catalog and say what became of every row."),
    "embedding": ("embedding", "Build up to the product embeddings."),
    "rqvae": ("rqvae", "Build up to the semantic IDs of the RQ-VAE."),
    "hierarchy": ("hierarchy", "Build up to the clusters, their purity and coverage."),
    "context": ("context", "Build up to what sets each cluster apart."),
    "queries": ("queries", "Build up to the queries and their intents."),
    "tasks": ("tasks", "Build up to the four tasks and their checks."),
    "edition": ("edition", "The last stage; the same as build."),
}
"""Verb -> the stage it runs to, and its help."""


def register(app: typer.Typer) -> None:
    """Add ``build``, one verb per stage, and ``demo``."""
    for verb, (until, text) in _VERBS.items():
        app.command(verb, help=text)(_command(until))
    app.command("demo")(demo)


def _command(until: str) -> Any:
    """All verbs run the same pipeline, up to their stage."""

    def command(
        catalog: Catalog,
        out: Out,
        config: Configuration = None,
        name: Name = None,
        embedder: Embedder = None,
        modality: Modality = None,
        text_encoder: TextEncoder = None,
        map_: Map = None,
        max_anchors: MaxAnchors = None,
        seed: Seed = None,
        reuse: Reuse = None,
        settings: Settings = None,
        trust_remote_code: Remote = False,
        as_json: Json = False,
    ) -> None:
        flags: dict[str, Any] = {
            "name": name,
            "seed": seed,
            "text_encoder": text_encoder,
            "reuse": reuse,
            "embedding": {
                "encoder": embedder,
                "modality": modality,
                "trust_remote_code": trust_remote_code or None,
            },
            "tasks": {"max_anchors": max_anchors},
        }
        values = build_values(config, flags, map_ or [], settings or [])
        print_shown(build(catalog, out, values, until=until), as_json)

    return command


def demo(
    out: Out = Path("out/demo"),
    rows: Annotated[int, typer.Option(min=500, help="Products in the synthetic catalog.")] = 3000,
    seed: Annotated[int, typer.Option(help="Seed of the catalog and of every stage.")] = 0,
    as_json: Json = False,
) -> None:
    """Build a small edition from a synthetic catalog, offline, and score three retrievers on it."""
    from fashion_rq_bench.commands.evaluate import score

    values = build_values("mini", {"seed": seed}, [], [])
    built = build(f"synthetic:{rows}", out, values, until="edition")
    scored = score(["bm25", "lsa", "minilm"], str(out), None, None)
    both = {"build": built.data, "evaluation": scored.data}
    print_shown(Shown(built.parts + scored.parts, both), as_json)


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
            say(f"{name} ...")
        else:
            done = "already done" if run.reused else f"done in {run.seconds:.1f} s"
            say(f"{name}: {done}")

    plan = pipeline.STAGES[: pipeline.STAGES.index(until) + 1] if until in pipeline.STAGES else ()
    say(f"Building {out} from {source}: {', '.join(plan)}.")
    result = pipeline.build(source, out, config, until=until, report=report)
    return Shown(*stage_summary(result))
