"""``fashion-rq study sample``, ``page`` and ``analyse``: have people rate queries (section 9).

In:  pools of queries; later the files that raters saved.
Out: the key, a page for the raters, the analysis as table and plot.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fashion_rq_bench.commands._shown import Json, Shown, add_group, print_shown

__all__ = ["register"]

Key = Annotated[Path, typer.Argument(help="The key that study sample wrote.")]


def register(app: typer.Typer) -> None:
    """Add the group ``study``."""
    text = "User study: draw queries blindly, make the rating page, analyse the answers."
    add_group(app, "study", text, sample, page, analyse)


def sample(
    sources: Annotated[
        list[str],
        typer.Argument(help="NAME=PATH each: a text file of queries, or an edition's folder."),
    ],
    key: Annotated[Path, typer.Option(help="The key to write; keep it from raters.")],
    page_file: Annotated[
        Path | None, typer.Option("--page", help="Also write the raters' page.")
    ] = None,
    per_source: Annotated[int, typer.Option(min=1, help="Queries drawn per source.")] = 20,
    sample_seed: Annotated[int, typer.Option(help="Of the draw from each source.")] = 42,
    order_seed: Annotated[int, typer.Option(help="Of the order and the hidden ids.")] = 2026,
    as_json: Json = False,
) -> None:
    """Draw queries of each source, mix them and hide where they come from."""
    from fashion_rq_bench.people import user_study

    pools = {name: user_study.read_queries(path) for name, path in _named(sources).items()}
    config = user_study.StudyConfig(per_source, sample_seed, order_seed)
    study = user_study.sample_study(pools, config)
    _refuse_other_key(key, study.study_id)
    user_study.write_study(study, key)
    told = [f"Key: {key} ({len(study.ids)} queries of {len(pools)} sources). Keep it from raters."]
    if page_file:
        told.append(_write_page(key, page_file))
    data = {"study": study.study_id, "queries": len(study.ids), "key": str(key)}
    print_shown(Shown(told, data | {"page": str(page_file) if page_file else None}), as_json)


def _named(sources: list[str]) -> dict[str, Path]:
    from fashion_rq_bench.errors import ConfigError

    found: dict[str, Path] = {}
    for one in sources:
        name, _, path = one.partition("=")
        if not name.strip() or not path:
            raise ConfigError("A source is NAME=PATH.", given=one, fix="E.g. CHAT=chat.txt.")
        if name.strip() in found:
            raise ConfigError("Two sources have one name.", given=name.strip())
        found[name.strip()] = Path(path)
    return found


def _refuse_other_key(key: Path, study_id: str) -> None:
    """A key is all that tells what raters saw: never write another study's over it."""
    from fashion_rq_bench.errors import InputError
    from fashion_rq_bench.people.user_study import read_study

    if key.exists() and (there := read_study(key).study_id) != study_id:
        raise InputError(
            "There is another study's key already.",
            given=str(key),
            fix=f"Its answers (study {there}) could not be read without it: choose another --key.",
        )


def page(
    key: Key,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("rate.html"),
    as_json: Json = False,
) -> None:
    """Write the page on which raters answer: one file, no network, no sources in it."""
    print_shown(Shown([_write_page(key, out)], {"page": str(out)}), as_json)


def _write_page(key: Path, out: Path) -> str:
    from fashion_rq_bench.people.rating_page import write_rating_page
    from fashion_rq_bench.people.user_study import read_study

    write_rating_page(read_study(key), out)
    return f"Page for raters: {out}. They open it, answer, and send back the file it saves."


def analyse(
    key: Key,
    answers: Annotated[
        list[Path], typer.Argument(help="Files that raters saved, or folders of them.")
    ],
    unit: Annotated[str, typer.Option(help="query or rating: what counts as one.")] = "query",
    level: Annotated[float, typer.Option(help="Of the tests; intervals are at 1 - level.")] = 0.05,
    out: Annotated[Path | None, typer.Option(help="Write the tables (Markdown).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the means (.png, .svg, .pdf).")] = None,
    as_json: Json = False,
) -> None:
    """Means with intervals, reliability, tests, and what is wrong with the answers."""
    from rich.text import Text

    from fashion_rq_bench.people.study_report import plot_study, study_table
    from fashion_rq_bench.people.user_study import analyse as analyse_study
    from fashion_rq_bench.people.user_study import checked_unit, read_ratings, read_study
    from fashion_rq_bench.support.files import write_text

    study = read_study(key)
    found = analyse_study(
        study, read_ratings(_files(answers), study), unit=checked_unit(unit), level=level
    )
    table = study_table(found)
    if out:
        write_text(table, out)
    if plot:
        plot_study(found, plot)
    written = [f"Written: {path}" for path in (out, plot) if path]
    print_shown(Shown([Text(table, no_wrap=True), *written], asdict(found)), as_json)


def _files(answers: list[Path]) -> list[Path]:
    from fashion_rq_bench.errors import InputError

    found = []
    for path in answers:
        inside = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise InputError("This folder holds no .json file of a rater.", given=str(path))
        found += inside
    return found
