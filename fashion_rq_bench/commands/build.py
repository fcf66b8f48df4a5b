"""``fashion-rq build`` and its stages; ``fashion-rq demo``.

In:  a catalog and settings (shipped configuration, options, ``--set``).
Out: an edition's folder, or a stage's output under OUT/.work.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fashion_rq_bench.commands._shown import Json, Shown, print_shown, say
from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.support import settings as _config
from fashion_rq_bench.support.optional import require

if TYPE_CHECKING:
    from fashion_rq_bench.builders.pipeline.run import StageRun

__all__ = ["build", "build_values", "price", "register"]

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
Domain = Annotated[
    str | None, typer.Option(help="What is sold: fashion (default), or a domain's TOML file.")
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
    str | None, typer.Option(help="Take semantic IDs and string vectors from this edition.")
]
Remote = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run code from the encoder's repository.")
]
Generator = Annotated[
    str | None, typer.Option(help="Who writes the queries: grammar (offline, default) or llm.")
]
Model = Annotated[str | None, typer.Option(help="The language model, as its endpoint calls it.")]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        help="The language model's endpoint (OpenAI's protocol); its key is read from the "
        "environment, FASHION_RQ_LLM_API_KEY."
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        help="Most that the language model may cost; needs llm.input_price and llm.output_price."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Price the language model's calls and make none.")
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
        domain: Domain = None,
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
        generator: Generator = None,
        model: Model = None,
        base_url: BaseUrl = None,
        max_cost: MaxCost = None,
        dry_run: DryRun = False,
        as_json: Json = False,
    ) -> None:
        given = locals()
        values = build_values(config, _flags(given), map_ or [], settings or [])
        if dry_run:
            print_shown(price(catalog, out, values), as_json)
        else:
            print_shown(build(catalog, out, values, until=until), as_json)

    return command


def _flags(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options as the configuration nests them."""

    def some(*names: str) -> dict[str, Any]:
        return {name: given[name] for name in names}

    return {
        **some("name", "domain", "seed", "text_encoder", "reuse"),
        "embedding": {
            "encoder": given["embedder"],
            "modality": given["modality"],
            "trust_remote_code": given["trust_remote_code"] or None,
        },
        "tasks": some("max_anchors"),
        "queries": some("generator"),
        "llm": some("model", "base_url", "max_cost"),
    }


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
    """Settings from weakest to strongest: shipped configuration, environment, flags, ``--set``.

    Args:
        preset: name or path of a configuration, or None.
        flags: nested values of the options; None means not given.
        maps: ``--map`` items: ``ours=theirs`` or a TOML file.
        settings: ``--set`` items.

    Raises:
        ConfigError: if options of the language model are given and the grammar writes the queries.
    """
    _need_build()
    from fashion_rq_bench.builders.pipeline.run import BuildConfig
    from fashion_rq_bench.builders.queries.llm.config import environment_values

    values: dict[str, Any] = dict(BuildConfig.preset(preset)) if preset else {}
    if found := environment_values():
        values = _config.merge(values, {"llm": found})
    given = _given(flags)
    values = _config.merge(values, given)
    for item in maps:
        values = _config.merge(values, {"catalog": _column_map(item)})
    values = _config.merge(values, _config.parse_settings(settings))
    _check_model_is_asked(given, values)
    return values


def _check_model_is_asked(flags: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    if "llm" in flags and values.get("queries", {}).get("generator") != "llm":
        raise ConfigError(
            "Options of the language model do nothing while the grammar writes the queries.",
            given=", ".join(f"--{name.replace('_', '-')}" for name in flags["llm"]),
            fix="Add --generator llm.",
        )


def _given(flags: Mapping[str, Any]) -> dict[str, Any]:
    nested = {key: _given(value) for key, value in flags.items() if isinstance(value, Mapping)}
    plain = {
        key: value
        for key, value in flags.items()
        if value is not None and not isinstance(value, Mapping)
    }
    return plain | {key: value for key, value in nested.items() if value}


def _column_map(item: str) -> dict[str, Any]:
    if "=" not in item and not Path(item).exists():
        raise ConfigError(
            "--map takes OURS=THEIRS, or a TOML file.", given=item, fix="E.g. --map title=name."
        )
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
    from fashion_rq_bench.builders.pipeline import run as pipeline
    from fashion_rq_bench.report.tables.build import stage_summary

    config = pipeline.BuildConfig.from_mapping(values)
    plan = pipeline.STAGES[: pipeline.STAGES.index(until) + 1] if until in pipeline.STAGES else ()
    say(f"Building {out} from {source}: {', '.join(plan)}.")
    result = pipeline.build(source, out, config, until=until, report=_say_stage)
    for run in result.runs:
        if run.name == "queries" and not run.reused:
            _say_spending(run.folder / "run.json")
    return Shown(*stage_summary(result))


def price(source: str, out: Path, values: Mapping[str, Any]) -> Shown:
    """What the language model's queries would cost; no call is made."""
    _need_build()
    from fashion_rq_bench.builders.pipeline import run as pipeline
    from fashion_rq_bench.report.tables.llm_price import price_table

    config = pipeline.BuildConfig.from_mapping(values)
    facts = pipeline.price_queries(source, out, config, report=_say_stage)
    return Shown([price_table(facts)], facts)


def _say_stage(name: str, run: StageRun | None) -> None:
    if run is None:
        say(f"{name} ...")
    else:
        done = "already done" if run.reused else f"done in {run.seconds:.1f} s"
        say(f"{name}: {done}")


def _say_spending(path: Path) -> None:
    """What a run with a language model did; the grammar leaves no such file."""
    if not path.exists():
        return
    from fashion_rq_bench.support.files import read_json

    run = read_json(path)
    cost = "cost not known" if run["cost"] is None else f"cost {run['cost']:.4f}"
    tokens = run["prompt_tokens"] + run["completion_tokens"]
    retries = sum(run["retries"].values())
    say(
        f"language model: {run['calls']:,} calls, {run['kept_answers']:,} kept answers, "
        f"{retries:,} retries, {tokens:,} tokens, {cost}"
    )
