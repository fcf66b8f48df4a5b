"""Results of made-up models on the tiny edition, written as ``fashion-rq evaluate`` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.evaluation.results import RunKey, rankings_table, store
from fashion_rq_bench.evaluation.task_scores import score_task
from fashion_rq_bench.schema.tables import TASK_CONFIGS
from helpers.scored import strings_for
from helpers.tiny import CONFIG, tiny_tables, write_tiny

MODELS = {"good": 0.3, "lsa": 0.6, "bad_one|$x$<b>": 2.0, "random": 50.0, "oracle": 0.1}
"""Names, one with what Markdown, LaTeX and HTML would act on, and how much noise each gets."""


def edition_from(out: Path, encoder: str, name: str = "tiny") -> Edition:
    """The tiny edition, as if its hierarchy had been built from an encoder."""
    tables = tiny_tables()
    tables["strings"] = strings_for(tables)
    write_tiny(out, tables, name=name, config=CONFIG | {"embedding": {"encoder": encoder}})
    return Edition.open(out)


def write_results(
    folder: Path, edition: Edition, models: Mapping[str, float] = MODELS, model_id: str = "0" * 16
) -> None:
    """Grades with noise as scores, for every model."""
    collection = Collection.read(edition)
    for seed, (name, noise) in enumerate(models.items()):
        scores = np.random.default_rng(seed).normal(0, noise, len(collection.pairs.query_index))
        ranking = collection.task("ranking")
        scores[collection.pairs.rows["ranking"]] += ranking.grades
        key = RunKey(edition.id, name, model_id)
        tasks = {task: score_task(collection, task, scores) for task in TASK_CONFIGS}
        store(folder, key, rankings_table(key, collection, scores), tasks)
