"""The user study's two ends: blinded sampling, and reading what raters answer (paper, section 9).

In:  queries of several sources; later the raters' exported files.
Out: a :class:`Study` of hidden ids in a random order, its key kept apart; :class:`Ratings`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.support.files import digest, read_json, write_json

__all__ = [
    "HIGHEST",
    "LOWEST",
    "RATINGS_FORMAT",
    "SCALES",
    "STUDY_FORMAT",
    "Ratings",
    "Study",
    "StudyConfig",
    "read_queries",
    "read_ratings",
    "read_study",
    "sample_study",
    "write_study",
]

SCALES = ("naturalness", "intent_clarity")
LOWEST, HIGHEST = 1, 5
"""Ends of the Likert scales: very unnatural or vague, very natural or clear."""

RATINGS_FORMAT = "fashion-rq-ratings/1"
STUDY_FORMAT = "fashion-rq-study/1"
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class StudyConfig:
    """How queries are drawn; the paper's figures.

    Attributes:
        per_source: queries per source.
        sample_seed: of the draw from each source.
        order_seed: of the interleaving and the hidden ids.
    """

    per_source: int = 20
    sample_seed: int = 42
    order_seed: int = 2026

    def __post_init__(self) -> None:
        if self.per_source < 1:
            raise ConfigError("per_source must be at least 1.", given=self.per_source)


@dataclass(frozen=True)
class Study:
    """Queries to be rated, in the order in which every rater sees them.

    Attributes:
        study_id: hash of the queries and their hidden ids.
        ids: hidden ids; they and their order say nothing of the source.
        queries: text of each.
        sources: source of each; for the analyst's eyes alone.
    """

    study_id: str
    ids: tuple[str, ...]
    queries: tuple[str, ...]
    sources: tuple[str, ...]


def sample_study(sources: Mapping[str, Sequence[str]], config: StudyConfig | None = None) -> Study:
    """Draw queries, interleave them and hide where they come from.

    Args:
        sources: name to pool of queries, e.g. {"RQBENCH": …, "CHAT": …, "LLM": …}; a source's draw
            does not depend on the others.
        config: how many, which seeds.

    Raises:
        InputError: if there are no sources, a pool is too small, or a query (but for case and
            spacing) occurs in two sources: a rater would see it twice.
    """
    config = config or StudyConfig()
    if not sources:
        raise InputError("A study needs at least one source of queries.")
    drawn: list[tuple[str, str]] = []
    for name, pool in sources.items():
        distinct = list({_plain(query): query.strip() for query in pool if query.strip()}.values())
        if len(distinct) < config.per_source:
            raise InputError(
                f"The source {name!r} has too few distinct queries.",
                given=len(distinct),
                fix=f"Give at least {config.per_source}, or lower per_source.",
            )
        rng = np.random.default_rng([config.sample_seed, *name.encode()])
        rows = rng.choice(len(distinct), size=config.per_source, replace=False)
        drawn += [(distinct[row], name) for row in sorted(rows.tolist())]
    _refuse_twice([query for query, _ in drawn])
    rng = np.random.default_rng(config.order_seed)
    order = rng.permutation(len(drawn)).tolist()
    ids = [f"q{number:05d}" for number in rng.choice(100_000, len(drawn), replace=False).tolist()]
    queries = tuple(drawn[row][0] for row in order)
    study_id = digest(*ids, *queries)[:12]
    return Study(study_id, tuple(ids), queries, tuple(drawn[row][1] for row in order))


def _plain(query: str) -> str:
    return " ".join(query.casefold().split())


def _refuse_twice(queries: Sequence[str]) -> None:
    seen: set[str] = set()
    for query in queries:
        if _plain(query) in seen:
            raise InputError("A query was drawn from two sources.", given=query)
        seen.add(_plain(query))


def read_queries(path: Path) -> list[str]:
    """A pool of queries: a text file with one per line (blank ones are passed over), or an edition.

    Args:
        path: of the file, or an edition's folder; ``mini`` is the embedded edition.

    Raises:
        InputError: if the file cannot be read.
        EditionError: if the folder is no edition.
    """
    if path.is_dir() or (path == Path("mini") and not path.exists()):
        return [
            str(query) for query in Edition.open(path).table("queries", ["query"])[0].to_pylist()
        ]
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"These queries cannot be read: {error}.", given=str(path)) from error
    return [line.strip() for line in lines if line.strip()]


def write_study(study: Study, path: Path) -> None:
    """Write the key (JSON): hidden id, query and source. It must not reach a rater."""
    write_json({"format": STUDY_FORMAT, **asdict(study)}, path)


def read_study(path: Path) -> Study:
    """Read what :func:`write_study` wrote.

    Raises:
        InputError: if it is no study, or not a whole one.
    """
    content = _json(path, STUDY_FORMAT)
    ids, queries, sources = (_strings(content.get(n)) for n in ("ids", "queries", "sources"))
    if not len(set(ids)) == len(ids) == len(queries) == len(sources) > 0:
        raise InputError(
            f"{path.name} is no whole key: it needs equally many ids, queries and sources, and "
            "every id once.",
            fix="Take the file that was written when the queries were drawn.",
        )
    return Study(str(content.get("study_id")), ids, queries, sources)


def _strings(value: object) -> tuple[str, ...]:
    """A list of strings as a tuple; empty for anything else."""
    items = value if isinstance(value, list) else []
    return tuple(items) if all(isinstance(one, str) for one in items) else ()


def _json(path: Path, expected: str) -> dict[str, Any]:
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"This file cannot be read ({reason}).", given=str(path)) from error
    found = content.get("format") if isinstance(content, dict) else type(content).__name__
    if found != expected:
        raise InputError(f"{path.name} is another kind of file.", given=found, allowed=[expected])
    return dict(content)


# ---------------------------------------------------------------- ratings


@dataclass(frozen=True)
class Ratings:
    """What raters answered.

    Attributes:
        raters: names, in the files' order.
        values: per scale (queries, raters) ratings from 1 to 5, NaN where there is none.
        unparseable: answers that are no rating from 1 to 5, as (rater, hidden id, scale, answer).
        missing: answers that are not there, over all scales.
        unknown: answers to ids that the study does not have.
    """

    raters: tuple[str, ...]
    values: Mapping[str, Matrix]
    unparseable: tuple[tuple[str, str, str, str], ...]
    missing: int
    unknown: int


def read_ratings(paths: Sequence[Path], study: Study) -> Ratings:
    """Read the files that raters exported.

    Raises:
        InputError: if a file is no export of this study, or one rater's name comes twice.
    """
    shape = (len(study.ids), len(paths))
    values = {scale: np.full(shape, np.nan) for scale in SCALES}
    raters: list[str] = []
    bad: list[tuple[str, str, str, str]] = []
    answered = unknown = 0
    for column, path in enumerate(paths):
        rater, answers = _export(path, study)
        raters.append(rater)
        unknown += len(answers.keys() - set(study.ids))
        for (row, hidden), scale in product(enumerate(study.ids), SCALES):
            given = answers.get(hidden, {}).get(scale)
            rating = _rating(given)
            answered += given is not None
            if rating is not None:
                values[scale][row, column] = rating
            elif given is not None:
                bad.append((rater, hidden, scale, str(given)))
    if twice := sorted({name for name in raters if raters.count(name) > 1}):
        raise InputError("Two files come from one rater.", given=twice[0])
    missing = len(SCALES) * shape[0] * shape[1] - answered
    return Ratings(tuple(raters), values, tuple(bad), missing, unknown)


def _export(path: Path, study: Study) -> tuple[str, dict[str, dict[str, Any]]]:
    """A file's rater and answers by hidden id."""
    content = _json(path, RATINGS_FORMAT)
    if content.get("study") != study.study_id:
        raise InputError(
            f"{path.name} belongs to another study.",
            given=content.get("study"),
            allowed=[study.study_id],
        )
    answers = content.get("ratings")
    if not isinstance(answers, list) or not all(isinstance(one, dict) for one in answers):
        raise InputError(f"{path.name} holds no list of ratings.", given=type(answers).__name__)
    by_id = {str(one.get("id")): one for one in answers}
    if len(by_id) < len(answers):
        raise InputError(f"{path.name} answers a query twice.", fix="Ask the rater which counts.")
    return str(content.get("rater") or "").strip() or path.stem, by_id


def _rating(given: object) -> float | None:
    """A whole number from 1 to 5, also as a string; None for anything else."""
    try:
        number = float(given) if isinstance(given, str | int | float) else float("nan")
    except ValueError:
        return None
    whole = number in range(LOWEST, HIGHEST + 1) and not isinstance(given, bool)
    return number if whole else None
