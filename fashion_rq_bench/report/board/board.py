"""All results of one edition side by side, aligned by query, and their figures with draws.

In:  an edition, and a folder that ``fashion-rq evaluate`` wrote: ``results/*.parquet``, and
     ``full-catalog/results/*.parquet`` of the models that searched the whole corpus.
Out: a :class:`Board`: who was scored, and per task and metric a :class:`Measured`: figures,
     bootstrap draws, values per query.

Results of another edition in the same folder are left alone: ids are never mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fashion_rq_bench.editions.edition import Edition, in_its_domain
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.evaluation.home import at_home, embedder
from fashion_rq_bench.evaluation.outcome import FLOOR, REFERENCE
from fashion_rq_bench.evaluation.task_scores import MAIN_METRICS
from fashion_rq_bench.evaluation.whole_catalog import MAIN_METRIC, RETRIEVAL
from fashion_rq_bench.report.board.measured import (
    Measured,
    Units,
    cells_of,
    mean_of,
    pooled_of,
    split,
)
from fashion_rq_bench.report.board.pooled import is_pooled
from fashion_rq_bench.schema.tables import RESULTS, TASK_CONFIGS
from fashion_rq_bench.support.files import read_parquet

__all__ = ["Board", "Measured", "Scored", "at_home", "embedder", "read_board"]

Floats = NDArray[np.float64]
_CATALOG = "full-catalog"


@dataclass(frozen=True)
class Scored:
    """Who was scored.

    Attributes:
        name: as given to ``fashion-rq evaluate``.
        model_id: hash of everything that decides the scores.
        role: "model", "floor" or "reference".
        at_home: the edition's hierarchy was built from this model or from a part of it.
        label: the name, with the start of the id where two ids share it.
    """

    name: str
    model_id: str
    role: str
    at_home: bool
    label: str


@dataclass(frozen=True, eq=False)
class Board:
    """The results of one edition.

    Attributes:
        edition: which.
        models: who was scored: models by name, then the floor and the reference.
        units: per task its units over queries and over groups.
    """

    edition: Edition
    models: tuple[Scored, ...]
    units: dict[str, tuple[Units, ...]]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks that have results, in the paper's order."""
        return tuple(self.units)

    @property
    def main(self) -> dict[str, str]:
        """The metric by which each task ranks models, of tasks that have results."""
        known = {**MAIN_METRICS, RETRIEVAL: MAIN_METRIC}
        return {task: known[task] for task in self.tasks if self.has(task, known.get(task, ""))}

    def places(self, role: str = "model") -> list[int]:
        """Positions of the models of a role."""
        return [place for place, one in enumerate(self.models) if one.role == role]

    def has(self, task: str, metric: str) -> bool:
        """Whether :meth:`measure` knows this metric."""
        return any(units.offers(metric) for units in self.units.get(task, ()))

    def metrics(self, task: str) -> list[str]:
        """Names of a task's metrics as they were stored."""
        return [name for units in self.units.get(task, ()) for name in units.values]

    def query_ids(self, task: str) -> list[str]:
        """Ids of a task's queries, in the order of :attr:`Measured.values`."""
        return self.units[task][0].ids

    def prefixes(self, task: str) -> NDArray[np.str_]:
        """Clusters of a task's queries."""
        return self.units[task][0].prefixes

    def select(self, names: Sequence[str]) -> Board:
        """The board of some models, in the order named (a label, a name, or ``name@id``).

        Raises:
            ConfigError: no such model, with the nearest match; or a name that several ids share.
        """
        places = list(dict.fromkeys(self._place(name) for name in names))
        return replace(
            self,
            models=tuple(self.models[place] for place in places),
            units={
                task: tuple(
                    replace(one, values={m: v[places] for m, v in one.values.items()})
                    for one in units
                )
                for task, units in self.units.items()
            },
        )

    def _place(self, name: str) -> int:
        found = [i for i, one in enumerate(self.models) if name in (one.label, one.name)]
        if not found and "@" in name:
            start, _, model_id = name.rpartition("@")
            found = [
                i
                for i, one in enumerate(self.models)
                if one.name == start and model_id and one.model_id.startswith(model_id)
            ]
        if len(found) == 1:
            return found[0]
        allowed = [self.models[i].label for i in found] or [one.label for one in self.models]
        raise ConfigError(
            "Several runs share this name." if found else "This model has no results here.",
            given=name,
            allowed=allowed,
            fix="Name one with the start of its id."
            if found
            else "To score another: fashion-rq evaluate MODEL --edition EDITION.",
        )

    def measure(self, task: str, metric: str, rows: NDArray[np.bool_] | None = None) -> Measured:
        """One metric of all models.

        Args:
            task, metric: as in the results; T1's ranking metrics also by attribute, such as
                ``ndcg@10_color``, over the queries that express it.
            rows: (N,) which queries count; all if None.

        Raises:
            ConfigError: the task or metric does not exist, with the nearest match.
        """
        if task not in self.units:
            raise ConfigError("There are no results of this task.", given=task, allowed=self.units)
        units = next((one for one in self.units[task] if one.offers(metric)), None)
        if units is None:
            known = [name for name in self.metrics(task) if "confusion_" not in name]
            raise ConfigError(f"Task {task!r} has no such metric.", given=metric, allowed=known)
        if is_pooled(metric) and cells_of(metric)[0] in units.values:
            return pooled_of(units, metric, rows)
        if metric in units.values:
            return mean_of(units, units.values[metric], rows)
        base, attribute = split(metric)
        asked = ~np.isnan(units.values[f"attr_{attribute}"])
        return mean_of(units, units.values[base], asked if rows is None else asked & rows)


@in_its_domain
def read_board(edition: Edition, results: Path) -> Board:
    """Read the results of an edition.

    Args:
        edition: whose results.
        results: the folder that ``fashion-rq evaluate`` was given as ``--out``.

    Raises:
        InputError: there are none, there are only those of other editions, or a file is damaged.
    """
    tables = [_read(path) for path in sorted((results / "results").glob("*.parquet"))]
    own = [one for one in tables if len(one) and one["edition_id"][0].as_py() == edition.id]
    if not own:
        others = sorted({str(one["edition_id"][0].as_py())[:12] for one in tables if len(one)})
        raise InputError(
            f"{results} holds no results of edition {edition.id[:12]} ({edition.name})"
            + (
                f", only of {', '.join(others)}; different editions do not compare."
                if others
                else "."
            ),
            fix=f"Score models with: fashion-rq evaluate bm25 lsa --edition {edition.path} "
            f"--out {results}",
        )
    searched = [_read(path) for path in sorted((results / _CATALOG / "results").glob("*.parquet"))]
    keyed = sorted(((_scored(table, edition), table) for table in own), key=_order)
    tables = [pa.concat_tables([table, *_more(table, searched)]) for _, table in keyed]
    found = {task for table in tables for task in pc.unique(table["task"]).to_pylist()}
    tasks = [*TASK_CONFIGS, *sorted(found - set(TASK_CONFIGS))]
    units = {task: _aligned(tables, task) for task in tasks if task in found}
    return Board(edition, _labelled([one for one, _ in keyed]), units)


def _more(table: pa.Table, searched: Sequence[pa.Table]) -> list[pa.Table]:
    """What the same model found in the whole corpus of the same edition."""
    keys = ("edition_id", "model", "model_id")
    return [
        other
        for other in searched
        if len(other) and all(other[key][0].as_py() == table[key][0].as_py() for key in keys)
    ]


def _order(item: tuple[Scored, pa.Table]) -> tuple[int, str, str]:
    one = item[0]
    return ("model", "floor", "reference").index(one.role), one.name, one.model_id


def _read(path: Path) -> pa.Table:
    try:
        table = read_parquet(path)
        if table.schema.equals(RESULTS):
            return table
        problem = "it has other columns"
    except (OSError, pa.ArrowException) as error:
        problem = str(error)
    raise InputError(
        f"{path} cannot be read as results: {problem}.",
        fix="Remove it and run fashion-rq evaluate again.",
    )


def _scored(table: pa.Table, edition: Edition) -> Scored:
    name, model_id = str(table["model"][0].as_py()), str(table["model_id"][0].as_py())
    role = {FLOOR: "floor", REFERENCE: "reference"}.get(name, "model")
    return Scored(name, model_id, role, at_home(name, embedder(edition)), name)


def _labelled(models: list[Scored]) -> tuple[Scored, ...]:
    names = [one.name for one in models]
    return tuple(
        replace(one, label=f"{one.name}@{one.model_id[:8]}") if names.count(one.name) > 1 else one
        for one in models
    )


def _aligned(tables: Sequence[pa.Table], task: str) -> tuple[Units, ...]:
    """A task's values of all models, first over queries, then over groups where it has them."""
    rows = [table.filter(pc.equal(table["task"], task)) for table in tables]
    by_group = [pc.match_substring(one["metric"], "consistency@") for one in rows]
    sides = [[one.filter(pc.invert(mask)) for one, mask in zip(rows, by_group, strict=True)]]
    sides += [[one.filter(mask) for one, mask in zip(rows, by_group, strict=True)]]
    return tuple(_matrix(side) for side in sides if any(map(len, side)))


def _matrix(tables: Sequence[pa.Table]) -> Units:
    whole = pa.concat_tables(tables).combine_chunks()
    ids, metrics = (
        whole[name].combine_chunks().dictionary_encode() for name in ("query_id", "metric")
    )
    unit, metric = ids.indices.to_numpy(), metrics.indices.to_numpy()
    model = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    shape = (len(metrics.dictionary), len(tables), len(ids.dictionary))
    values = np.full(shape, np.nan)
    values[metric, model, unit] = whole["value"].to_numpy()
    first = np.unique(unit, return_index=True)[1]
    prefixes = np.asarray(whole["prefix"].take(pa.array(first)).to_pylist(), dtype=np.str_)
    by_metric = dict(zip(metrics.dictionary.to_pylist(), values, strict=True))
    return Units(ids.dictionary.to_pylist(), prefixes, by_metric)
