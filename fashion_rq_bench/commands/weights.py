"""``fashion-rq weights train``, ``fit`` and ``show``: attribute weights of one's own (paper 8.0.5).

In:  pairs with relevance (ESCI, a log, or drawn from a catalog), then an edition or a catalog.
Out: a cross-encoder's folder; a weights file that ``attr_relevance`` reads; its tables.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fashion_rq_bench.commands._shown import Json, Shown, add_group, opened, print_shown, say

if TYPE_CHECKING:
    import pyarrow as pa

    from fashion_rq_bench.builders.weights.cross_encoder import CrossEncoderConfig, Trained
    from fashion_rq_bench.builders.weights.derive import FitData

__all__ = ["register"]

Catalog = Annotated[
    str | None, typer.Option(help="A catalog, as for build: queries are drawn from it.")
]
Edition = Annotated[str | None, typer.Option(help="An edition: a folder or a name.")]
Seed = Annotated[int, typer.Option(help="Of everything drawn.")]

Pairs = Annotated[
    Path | None, typer.Option(help="Parquet of your own: columns query, text, relevant (0, 1).")
]
Small = Annotated[
    bool, typer.Option("--small", help="MiniLM, 300 steps of 8 pairs: minutes without a GPU.")
]
Base = Annotated[
    str | None, typer.Option(help="A Hub id, a folder or minilm; else ModernBERT-large.")
]


def register(app: typer.Typer) -> None:
    """Add the group ``weights``."""
    text = "Attribute weights: train a cross-encoder, fit weights with it, show them."
    add_group(app, "weights", text, train, fit, show)


def train(
    out: Annotated[Path, typer.Option(help="Folder for the model.")],
    esci: Annotated[Path | None, typer.Option(help="Folder of ESCI's two Parquet files.")] = None,
    pairs: Pairs = None,
    catalog: Catalog = None,
    edition: Edition = None,
    small: Small = False,
    base: Base = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Optimiser steps.")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Pairs per step.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Its peak.")] = None,
    max_length: Annotated[
        int | None, typer.Option(min=8, help="Tokens of query and text together.")
    ] = None,
    queries: Annotated[
        int, typer.Option(min=1, help="Queries drawn from a catalog or an edition.")
    ] = 2_500,
    seed: Seed = 42,
    as_json: Json = False,
) -> None:
    """Train a cross-encoder on ESCI, on your own pairs, or on relevance drawn from a catalog."""
    from fashion_rq_bench.builders.weights import training_pairs
    from fashion_rq_bench.builders.weights.cross_encoder import (
        CrossEncoderConfig,
        train_cross_encoder,
    )
    from fashion_rq_bench.builders.weights.derive import check_model
    from fashion_rq_bench.builders.weights.sanity import read_sanity
    from fashion_rq_bench.builders.weights.text_oracle import load_cross_encoder

    given = {"esci": esci, "pairs": pairs, "catalog": catalog, "edition": edition}
    table, told = _training_pairs(given, queries, seed)
    read_sanity()  # asked at the end: what is wrong with it shows before a long training
    parts = dict(zip(("train", "valid"), training_pairs.split_by_query(table), strict=True))
    config = CrossEncoderConfig.small() if small else CrossEncoderConfig()
    config = _changed(config, base, steps, batch_size, learning_rate, max_length, seed)
    say(f"Training {config.base} on {len(parts['train'])} pairs from {told['source']}.")
    trained = train_cross_encoder(parts["train"], parts["valid"], out, config, data=told)
    sanity = asdict(check_model(load_cross_encoder(out)))
    print_shown(_trained_shown(trained, training_pairs.count_pairs_table(parts), sanity), as_json)


def _changed(
    config: CrossEncoderConfig,
    base: str | None,
    steps: int | None,
    batch_size: int | None,
    learning_rate: float | None,
    max_length: int | None,
    seed: int,
) -> CrossEncoderConfig:
    """The settings with what was given on the command line."""
    changes: dict[str, Any] = {
        "base": base,
        "max_steps": steps,
        "batch_size": batch_size,
        "micro_batch": math.gcd(batch_size, 32) if batch_size else None,
        "learning_rate": learning_rate,
        "max_length": max_length,
    }
    given = {name: value for name, value in changes.items() if value is not None}
    return replace(config, seed=seed, **given)


def _training_pairs(
    given: dict[str, Any], queries: int, seed: int
) -> tuple[pa.Table, dict[str, Any]]:
    """The pairs of the one source given, and what to tell of it."""
    from fashion_rq_bench.builders.weights import esci, synthetic, training_pairs

    source = _only_one(given)
    if source == "esci":
        return esci.read_esci(given["esci"]), {"source": "ESCI", "description": True}
    if source == "pairs":
        told = {"source": given["pairs"].name, "description": True}
        return training_pairs.read_pairs(given["pairs"]), told
    config = synthetic.SyntheticConfig(n_queries=queries, seed=seed)
    products, name = _products(source, given[source])
    drawn = synthetic.draw_queries(products, config)
    texts = synthetic.product_texts(products, bare_share=config.bare_share, seed=seed)
    told = {"source": f"relevance drawn from {name}", "description": False, **asdict(config)}
    return synthetic.draw_pairs(drawn, products, texts, config), told


def _products(kind: str, source: str) -> tuple[pa.Table, str]:
    """The products of an edition or a catalog, and its name."""
    if kind == "catalog":
        from fashion_rq_bench.builders.catalog import read_catalog
        from fashion_rq_bench.builders.weights.derive import catalog_name

        return read_catalog(source).table, catalog_name(source)
    edition = opened(source)
    return edition.table("corpus"), edition.name


def _only_one(given: dict[str, Any]) -> str:
    from fashion_rq_bench.errors import ConfigError

    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise ConfigError(
            "Give exactly one source.",
            given=[f"--{name}" for name in named],
            allowed=[f"--{name}" for name in given],
        )
    return named[0]


def _trained_shown(trained: Trained, counts: list[dict[str, Any]], sanity: dict[str, Any]) -> Shown:
    from fashion_rq_bench.report.tables.weights import loss_lines, pairs_table, sanity_line

    quality = asdict(trained.quality)
    parts = [
        pairs_table(counts),
        *loss_lines(trained.losses, quality),
        sanity_line(sanity),
        f"Model: {trained.path}",
    ]
    data = {
        "model": str(trained.path),
        "pairs": counts,
        "losses": trained.losses,
        "quality": quality,
        "sanity": sanity,
    }
    return Shown(parts, data)


def fit(
    model: Annotated[Path, typer.Argument(help="Folder of a model from weights train.")],
    out: Annotated[Path, typer.Option(help="The weights file.")] = Path("weights.json"),
    edition: Edition = None,
    catalog: Catalog = None,
    queries: Annotated[int, typer.Option(min=1, help="Queries drawn from a catalog.")] = 4_000,
    sanity: Annotated[Path | None, typer.Option(help="Another sanity set (CSV) than ours.")] = None,
    max_twins: Annotated[int, typer.Option(min=1, help="Pairs of twins per attribute.")] = 1_000,
    queries_per_twin: Annotated[
        int, typer.Option(min=1, help="Queries per product of a pair of twins.")
    ] = 3,
    pairs: Annotated[int, typer.Option(min=12, help="Pairs of the regression.")] = 6_205,
    bootstrap: Annotated[int, typer.Option(min=1, help="Resamples of the intervals.")] = 2_000,
    seed: Seed = 7,
    as_json: Json = False,
) -> None:
    """Check a model on the sanity set, then fit weights on an edition's queries or a catalog."""
    from fashion_rq_bench.builders.weights.ablation import AblationConfig
    from fashion_rq_bench.builders.weights.derive import derive
    from fashion_rq_bench.builders.weights.fit import WeightsConfig, write_weights
    from fashion_rq_bench.builders.weights.ridge import RidgeConfig

    data = _fit_data(edition, catalog, queries, seed)
    config = WeightsConfig(
        ablation=AblationConfig(
            queries_per_twin=queries_per_twin, max_twins=max_twins, bootstrap=bootstrap, seed=seed
        ),
        ridge=RidgeConfig(n_pairs=pairs, seed=seed),
    )
    say(f"Fitting on {len(data.queries)} queries and {len(data.products)} products.")
    derived = derive(model, data, config, sanity=sanity)
    write_weights(derived.weights, out, derived.provenance)
    print_shown(_file_shown(out, [f"Weights file: {out}"]), as_json)


def _fit_data(edition: str | None, catalog: str | None, queries: int, seed: int) -> FitData:
    from fashion_rq_bench.builders.weights.derive import from_catalog, from_edition
    from fashion_rq_bench.builders.weights.synthetic import SyntheticConfig

    if catalog is None:
        return from_edition(opened(edition or "mini"))
    _only_one({"edition": edition, "catalog": catalog})
    return from_catalog(catalog, SyntheticConfig(n_queries=queries, seed=seed))


def show(
    file: Annotated[Path, typer.Argument(help="A weights file.")], as_json: Json = False
) -> None:
    """Print a weights file: weights, both estimates, intervals, tiers, what it was fitted on."""
    print_shown(_file_shown(file, []), as_json)


def _file_shown(path: Path, more: list[str]) -> Shown:
    from fashion_rq_bench.relevance.weights_file import read_weights_file
    from fashion_rq_bench.report.tables.weights import weights_tables

    content = read_weights_file(path)
    return Shown([*weights_tables(content), *more], content)
