"""What our mteb tasks take beside encoding, against mteb's own scoring of the same tasks.

In:  an edition; in place of an encoder random unit vectors, drawn once per text beforehand.
Out: seconds of both and their ratio, over all four tasks of the benchmark.

mteb's own are the same pools as plain ``AbsTaskRetrieval`` tasks (T4's pool once per wording, T2's
four classes as grades), scored by mteb's evaluator. Both run through ``mteb.evaluate`` in one
process, in turns, after a first round that is not counted. The encoder's own time is measured
inside ``encode`` and subtracted from both. The ratio is that of the median processor times.

    python scripts/bench/harness.py --edition PATH --rounds 5
"""

from __future__ import annotations

import argparse
import logging
import statistics
import time
from collections.abc import Callable
from typing import Any

import datasets
import mteb
import numpy as np
from mteb.abstasks import AbsTaskRetrieval
from mteb.models.model_meta import ModelMeta

from fashion_rq_bench import mteb_tasks
from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.editions.pool_relevance import judge
from fashion_rq_bench.evaluation.task_scores import consistent_form
from fashion_rq_bench.mteb_tasks.tasks import TASKS

DIM = 384


class Stub:
    """Vectors by text, looked up; counts the processor time that this takes."""

    def __init__(self, vectors: dict[str, np.ndarray], number: int) -> None:
        self.vectors, self.seconds = vectors, 0.0
        named = {"name": f"bench/stub{number}", "revision": "1", "similarity_fn_name": "cosine"}
        self.mteb_model_meta = ModelMeta.create_empty(overwrites=named)

    def encode(self, inputs: Any, **settings: Any) -> np.ndarray:
        """Vectors of a data loader's texts."""
        start = time.process_time()
        found = np.stack([self.vectors[text] for batch in inputs for text in batch["text"]])
        self.seconds += time.process_time() - start
        return found

    def similarity(self, left: Any, right: Any) -> Any:
        """Cosines of all rows."""
        return left @ right.T

    def similarity_pairwise(self, left: Any, right: Any) -> Any:
        """Cosines of rows in pairs."""
        return (left * right).sum(axis=1)


def plain(task: Any) -> AbsTaskRetrieval:
    """The same data as a task that mteb scores by itself."""
    declared = type(task).metadata

    class Plain(AbsTaskRetrieval):
        metadata = declared.model_copy(
            update={"name": f"{declared.name}Plain", "main_score": "ndcg_at_3"}
        )
        k_values = task.k_values

        def load_data(self, **settings: Any) -> None:
            subset = task.dataset[task.hf_subsets[0]]
            self.dataset = {"default": {split: dict(one) for split, one in subset.items()}}
            self.data_loaded = True

    return Plain()


def vectors_of(edition: Edition) -> dict[str, np.ndarray]:
    """A random unit vector for every text of the edition."""
    collection = mteb_tasks.FashionRQRanking(edition=edition.path).collection
    texts = sorted({*collection.pairs.queries, *collection.texts.to_pylist()})
    drawn = np.random.default_rng(0).normal(size=(len(texts), DIM)).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return dict(zip(texts, drawn, strict=True))


def timed(tasks: list[Any], model: Stub) -> tuple[float, float]:
    """Processor and wall seconds of one evaluation, without those of the encoder."""
    wall, start = time.perf_counter(), time.process_time()
    mteb.evaluate(model, tasks=tasks, cache=None, show_progress_bar=False)
    spent = time.process_time() - start - model.seconds
    return spent, time.perf_counter() - wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--edition", default="mini")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cold", action="store_true", help="judge the pools anew each round")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    datasets.disable_progress_bars()
    mteb_tasks.register()
    edition = Edition.open(options.edition)
    ours = [task(edition=edition.path) for task in TASKS]
    for task in ours:
        task.load_data()
    theirs = [plain(task) for task in ours]
    for task in theirs:
        task.load_data()
    vectors = vectors_of(edition)
    sides: dict[str, tuple[list[Any], list[float], list[float]]] = {
        "ours": (ours, [], []),
        "mteb's own": (theirs, [], []),
    }
    for number in range(options.rounds + 1):
        for tasks, spent, wall in sides.values():
            if options.cold:
                _forget(judge, consistent_form)
            one = timed(tasks, Stub(vectors, number))
            if number:
                spent.append(one[0])
                wall.append(one[1])
    print(f"{edition.name} ({edition.id}), four tasks, {options.rounds} rounds, stubbed encoder")
    medians = []
    for side, (_, spent, wall) in sides.items():
        medians.append(statistics.median(spent))
        print(f"{side:11} {medians[-1]:6.2f} s processor, {statistics.median(wall):6.2f} s wall")
    print(f"ratio       {medians[0] / medians[1]:6.2f}")


def _forget(*functions: Callable[..., Any]) -> None:
    for function in functions:
        function.cache_clear()  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
