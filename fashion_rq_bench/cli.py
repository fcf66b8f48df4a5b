"""The ``fashion-rq`` command.

In:  a verb, its options, the user's files.
Out: tables on standard output (JSON with ``--json``), progress on standard error, files.

Exit codes: 0 done; 1 a bug of ours; 2 wrong usage; 3 input that cannot be used; 4 a missing extra;
5 a build whose result must not ship; 6 an unusable edition; 7 a model that failed; 130 interrupted.
A user's mistake gives one paragraph and no traceback. Heavy modules are imported inside the verbs.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from fashion_rq_bench import _cli
from fashion_rq_bench.errors import FashionRQError, InputError

__all__ = ["app", "main"]

app = typer.Typer(
    name="fashion-rq",
    help="Build fashion-retrieval benchmarks from a catalog, and score retrievers on them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Catalog = Annotated[
    str,
    typer.Option(
        help="Kaggle folder; CSV, Parquet or JSONL file; datasets name; or synthetic:ROWS."
    ),
]
Out = Annotated[Path, typer.Option(help="The edition's folder; stage outputs go to OUT/.work.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
EditionPath = Annotated[
    str, typer.Option("--edition", help="Folder of an edition; without it the embedded mini.")
]
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


def _register_build(verb: str, until: str, text: str) -> None:
    """One verb per stage: all run the same pipeline, up to that stage."""

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
        values = _cli.build_values(config, flags, map_ or [], settings or [])
        _print(_cli.build(catalog, out, values, until=until), as_json)

    command.__doc__ = text
    app.command(verb)(command)


_register_build("build", "edition", "Build an edition from a catalog; goes on where it stopped.")
_register_build("catalog", "catalog", "Read a catalog and say what became of every row.")
_register_build("embedding", "embedding", "Build up to the product embeddings.")
_register_build("rqvae", "rqvae", "Build up to the semantic IDs of the RQ-VAE.")
_register_build("hierarchy", "hierarchy", "Build up to the clusters, their purity and coverage.")
_register_build("context", "context", "Build up to what sets each cluster apart.")
_register_build("queries", "queries", "Build up to the queries and their intents.")
_register_build("tasks", "tasks", "Build up to the four tasks and their checks.")
_register_build("edition", "edition", "The last stage; the same as build.")


@app.command()
def demo(
    out: Out = Path("out/demo"),
    rows: Annotated[int, typer.Option(min=500, help="Products in the synthetic catalog.")] = 3000,
    seed: Annotated[int, typer.Option(help="Seed of the catalog and of every stage.")] = 0,
    as_json: Json = False,
) -> None:
    """Build a small edition from a synthetic catalog, offline, and score three retrievers on it."""
    _print(_cli.demo(out, rows, seed), as_json)


@app.command()
def evaluate(
    models: Annotated[list[str], typer.Argument(help="bm25, lsa, minilm, a Hub id or a folder.")],
    edition: EditionPath = "mini",
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; OUT/results beside the edition.")
    ] = None,
    tasks: Annotated[
        list[str] | None, typer.Option("--task", help="Only this task. Repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Score retrievers on an edition's four tasks."""
    _print(_cli.evaluate(models, edition, out, tasks), as_json)


@app.command()
def describe(edition: EditionPath = "mini", as_json: Json = False) -> None:
    """Print an edition's statistics beside the paper's Tables 1, 6, 7 and 8."""
    _print(_cli.describe(edition), as_json)


@app.command()
def show(
    edition: EditionPath = "mini",
    prefix: Annotated[str | None, typer.Option(help="One cluster, e.g. 12-3-40.")] = None,
    count: Annotated[int, typer.Option("-n", min=1, help="How many clusters.")] = 3,
    seed: Annotated[int, typer.Option(help="Which clusters.")] = 0,
    as_json: Json = False,
) -> None:
    """Print a few clusters with their products, evidence and queries, to read."""
    _print(_cli.show(edition, prefix, count, seed), as_json)


@app.command()
def activate(as_json: Json = False) -> None:
    """Let this environment resolve "fashion-rq-bench" without importing the package first."""
    _print(_cli.activate(), as_json)


@app.command()
def deactivate(as_json: Json = False) -> None:
    """Undo activate."""
    _print(_cli.deactivate(), as_json)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say what is installed, what is missing, and how to get it."""
    _print(_cli.doctor(), as_json)


@app.command()
def publish(
    repo: Annotated[str, typer.Argument(help="Dataset repository, owner/name.")],
    edition: EditionPath = "mini",
    private: Annotated[bool, typer.Option(help="Create the repository as private.")] = False,
    as_json: Json = False,
) -> None:
    """Upload an edition to the Hub; the token comes from HF_TOKEN or the Hub's own login."""
    _print(_cli.publish(edition, repo, private), as_json)


_PIPED_WIDTH = 120
"""Columns of tables that go to a file or a pipe, where there is no terminal to ask."""


def _print(shown: _cli.Shown, as_json: bool) -> None:
    if as_json:
        from fashion_rq_bench._io import to_json

        print(to_json(shown.data))
        return
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH)
    for part in shown.parts:
        console.print(part)


def _fail(problem: str, code: int) -> int:
    if "--json" in sys.argv:
        print(json.dumps({"error": problem, "exit_code": code}, ensure_ascii=False))
    else:
        print(f"Error: {problem}", file=sys.stderr)
    return code


class _Interrupted(BaseException):
    """Ctrl-C. Not a KeyboardInterrupt, which typer would turn into exit code 1."""


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    raise _Interrupted


def main() -> None:
    """Run the command; turn every user's mistake into one paragraph and an exit code."""
    signal.signal(signal.SIGINT, _interrupt)
    try:
        app()
    except FashionRQError as error:
        sys.exit(_fail(str(error), error.exit_code))
    except _Interrupted:
        text = "Interrupted. Finished work is kept: run the same command again to go on."
        sys.exit(_fail(text, 130))
    except BrokenPipeError:  # the reader of our output has gone, e.g. `head`
        sys.stderr.close()
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        text = f"The system refused: {error.strerror or error}{where}."
        sys.exit(_fail(text, InputError.exit_code))
