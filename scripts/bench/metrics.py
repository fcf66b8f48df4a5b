"""Time our ranking metrics against public peers, on the same data, in one process.

    python scripts/bench/metrics.py [--rounds N] [--quick] [--cpu]

The task is nDCG@5, nDCG@10, Recall@5, Recall@10 and AP, per query. Peers that are not installed are
left out (pip install ranx ir-measures). Rounds are interleaved, so that a busy machine slows all
alike; on a very busy one use --cpu, which counts CPU time, summed over threads. What is compiled is
compiled before the clock starts. Peers that take dictionaries are timed with the conversion from
arrays, and without it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec

for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # tuned for other machines, slow for numpy
    os.environ.pop(name, None)

import numpy as np  # noqa: E402  # after the environment is set
from numpy.typing import NDArray  # noqa: E402

from fashion_rq_bench.measures import ranking  # noqa: E402
from fashion_rq_bench.measures.consistency import consistency  # noqa: E402

METRICS = ("ndcg", "recall", "average_precision")
CUTOFFS = (5, 10)
TREC = {"ndcg_cut.5,10", "recall.5,10", "map"}
RELEVANT = 3 * [3] + 4 * [2] + 4 * [1]  # a T1 pool: 3 Exact, 4 Sibling, 4 Related, the rest 0
WANTED = {  # ratios that the project promises
    ("9,000 x 1,000", "pytrec_eval, conversion included"): 20.0,
    ("2,477 x 15", "pytrec_eval, conversion included"): 8.0,
    ("9,000 x 1,000", "ranx, compiled, evaluation only"): 1.0,
    ("2,477 x 15", "ranx, compiled, evaluation only"): 1.0,
}

Values = NDArray[np.float64]
Dicts = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Data:
    """Random scores of (queries, candidates); with ties, rounded to two digits."""

    queries: int
    candidates: int
    tied: bool = False

    @property
    def name(self) -> str:
        """Size, as printed."""
        return f"{self.queries:,} x {self.candidates:,}"

    @cached_property
    def scores(self) -> Values:
        """Uniform random scores."""
        scores = np.random.default_rng(0).random((self.queries, self.candidates))
        return np.round(scores, 2) if self.tied else scores

    @cached_property
    def grades(self) -> NDArray[np.int64]:
        """Eleven relevant candidates at random places."""
        grades = np.zeros((self.queries, self.candidates), np.int64)
        grades[:, : len(RELEVANT)] = RELEVANT
        return np.random.default_rng(1).permuted(grades, axis=1)

    def dicts(self) -> tuple[Dicts, dict[str, dict[str, int]]]:
        """The same as a run and its judgements, as pytrec_eval and ranx want them."""
        products = [f"p{column}" for column in range(self.candidates)]
        run, qrels = {}, {}
        for row, (scores, grades) in enumerate(
            zip(self.scores.tolist(), self.grades.tolist(), strict=True)
        ):
            run[f"q{row}"] = dict(zip(products, scores, strict=True))
            qrels[f"q{row}"] = {p: g for p, g in zip(products, grades, strict=True) if g}
        return run, qrels


def ours(data: Data, ties: ranking.Ties) -> dict[str, Values]:
    return ranking.score(data.scores, data.grades, METRICS, CUTOFFS, ties=ties)


def peers(data: Data) -> Iterator[tuple[str, Callable[[], object]]]:
    """Name and call of every peer that is installed."""
    run, qrels = data.dicts()
    if find_spec("pytrec_eval"):
        import pytrec_eval

        def trec() -> object:
            some_run, some_qrels = data.dicts()
            return pytrec_eval.RelevanceEvaluator(some_qrels, TREC).evaluate(some_run)

        yield "pytrec_eval, conversion included", trec
        yield (
            "pytrec_eval, dictionaries ready",
            lambda: pytrec_eval.RelevanceEvaluator(qrels, TREC).evaluate(run),
        )
    if find_spec("ranx"):
        yield from ranx_calls(data, run, qrels)
    if find_spec("ir_measures"):
        import ir_measures

        wanted = [ir_measures.parse_measure(m) for m in ("nDCG@5", "nDCG@10", "R@5", "R@10", "AP")]
        yield (
            "ir_measures, dictionaries ready",
            lambda: list(ir_measures.iter_calc(wanted, qrels, run)),
        )


def ranx_calls(
    data: Data, run: Dicts, qrels: dict[str, dict[str, int]]
) -> Iterator[tuple[str, Callable[[], object]]]:
    from ranx import Qrels, Run, evaluate

    wanted = ["ndcg@5", "ndcg@10", "recall@5", "recall@10", "map"]
    some_run, some_qrels = Run(run), Qrels(qrels)

    def whole() -> object:
        more_run, more_qrels = data.dicts()
        return evaluate(Qrels(more_qrels), Run(more_run), wanted)

    yield "ranx, compiled, evaluation only", lambda: evaluate(some_qrels, some_run, wanted)
    yield "ranx, compiled, conversion included", whole


@dataclass(frozen=True)
class Clock:
    """How often to measure, and by which clock."""

    rounds: int
    now: Callable[[], float]


def timed(calls: dict[str, Callable[[], object]], clock: Clock) -> dict[str, float]:
    """Median over interleaved rounds of each call's seconds.

    A round takes the best of as many repetitions as fit into a twentieth of a second, since the
    first call after another's finds neither its code nor its data in the caches.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(clock.rounds):
        for name, call in calls.items():
            best, spent = float("inf"), 0.0
            while spent < 0.05:
                start = clock.now()
                call()
                spent += (elapsed := clock.now() - start)
                best = min(best, elapsed)
            seconds[name].append(best)
    return {name: statistics.median(values) for name, values in seconds.items()}


def agree(data: Data) -> None:
    """Stop if pytrec_eval's figures and ours differ."""
    if not find_spec("pytrec_eval"):
        return
    import pytrec_eval

    run, qrels = data.dicts()
    theirs = pytrec_eval.RelevanceEvaluator(qrels, TREC).evaluate(run)
    ids = np.tile([f"p{column}" for column in range(data.candidates)], (data.queries, 1))
    found = ranking.score(data.scores, data.grades, METRICS, CUTOFFS, ties="trec", ids=ids)
    names = {"ndcg@5": "ndcg_cut_5", "recall@10": "recall_10", "average_precision": "map"}
    for our_name, their_name in names.items():
        want = [theirs[f"q{row}"][their_name] for row in range(data.queries)]
        np.testing.assert_allclose(found[our_name], want, atol=1e-9, rtol=0)


def compare(data: Data, clock: Clock) -> None:
    print(f"\n{data.name}{', tied scores' if data.tied else ''}")
    agree(data)
    calls: dict[str, Callable[[], object]] = {
        "ours, ties expected": lambda: ours(data, "expected"),
        "ours, ties as trec_eval": lambda: ours(data, "trec"),
    }
    calls |= dict(peers(data)) if not data.tied else dict(list(peers(data))[:1])
    seconds = timed(calls, clock)
    base = seconds["ours, ties expected"]
    for name, value in seconds.items():
        wanted = WANTED.get((data.name, name))
        note = "" if wanted is None else f"  (promised: {wanted:g})"
        print(f"  {name:36s} {value * 1e3:10.2f} ms  {value / base:8.1f} x ours{note}")
    share = base / seconds["ours, ties as trec_eval"]
    print(f"  ties expected / ties as trec_eval: {share:.2f}  (promised: at most 2)")


def compare_ndcg_alone(data: Data, clock: Clock) -> None:
    if not find_spec("sklearn"):
        return
    from sklearn.metrics import ndcg_score

    seconds = timed(
        {
            "ours": lambda: ranking.ndcg(data.scores, data.grades, k=10),
            "scikit-learn": lambda: ndcg_score(data.grades, data.scores, k=10),
        },
        clock,
    )
    ratio = seconds["scikit-learn"] / seconds["ours"]
    print(f"\nnDCG@10 alone, {data.name}: scikit-learn takes {ratio:.1f} x ours")


def compare_consistency(clock: Clock) -> None:
    """416 groups of six paraphrases over pools of 15."""
    rng = np.random.default_rng(2)
    scores, groups = rng.random((2496, 15)), np.repeat(np.arange(416), 6).tolist()
    ids = np.repeat(rng.integers(0, 44_446, (416, 1)) + np.arange(15), 6, axis=0)

    def with_sets() -> float:
        tops = [
            set(row[order]) for row, order in zip(ids, np.argsort(-scores)[:, :10], strict=True)
        ]
        overlaps = [
            len(tops[6 * group + i] & tops[6 * group + j])
            / len(tops[6 * group + i] | tops[6 * group + j])
            for group in range(416)
            for i in range(6)
            for j in range(i)
        ]
        return sum(overlaps) / len(overlaps)

    np.testing.assert_allclose(consistency(scores, ids, groups).value, with_sets())
    seconds = timed({"ours": lambda: consistency(scores, ids, groups), "sets": with_sets}, clock)
    print(
        f"\nConsistency@10, 416 groups of 6: ours {seconds['ours'] * 1e3:.1f} ms, "
        f"Python sets take {seconds['sets'] / seconds['ours']:.1f} x that"
    )


def memory() -> None:
    print("\nMemory beyond the input, as a multiple of it")
    for queries in (1000, 2000, 4000):
        data = Data(queries, 1000)
        size = data.scores.nbytes + data.grades.nbytes
        tracemalloc.start()
        ours(data, "expected")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"  {data.name:14s} {peak / size:6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds of measurement")
    parser.add_argument("--quick", action="store_true", help="leave the large data out")
    parser.add_argument("--cpu", action="store_true", help="CPU time, for a busy machine")
    options = parser.parse_args()
    clock = Clock(options.rounds, time.process_time if options.cpu else time.perf_counter)
    small = Data(2477, 15)
    compare(small, clock)
    compare(Data(2477, 15, tied=True), clock)
    compare_ndcg_alone(small, clock)
    compare_consistency(clock)
    if not options.quick:
        compare(Data(9000, 1000), clock)
        compare(Data(9000, 1000, tied=True), clock)
        memory()


if __name__ == "__main__":
    main()
