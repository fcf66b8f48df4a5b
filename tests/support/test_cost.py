"""Costs and prices: counted where something is encoded, NaN with a reason elsewhere."""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from helpers.scored import write_scored
from scipy import sparse

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.evaluation import price_forecast as pricing
from fashion_rq_bench.evaluation import run as evaluation
from fashion_rq_bench.evaluation.price_forecast import price_run
from fashion_rq_bench.evaluation.run import evaluate, price
from fashion_rq_bench.retrievers.registry import resolve
from fashion_rq_bench.support.files import read_json
from fashion_rq_bench.support.metering import Cost, encoding, load_record, metering, store_record


@pytest.fixture(scope="module")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    return write_scored(tmp_path_factory.mktemp("tiny") / "edition")


class Words:
    """Counts words as tokens."""

    def count_tokens(self, texts: Sequence[str]) -> int:
        return sum(len(text.split()) for text in texts)


class Slow:
    """A retriever that takes a while per character, and once at the start."""

    name = identity = "slow"

    def __init__(self, per_character: float = 2e-5, once: float = 0.05) -> None:
        self._rate, self._once = per_character, once

    def score(self, collection: Collection) -> np.ndarray:
        time.sleep(self._once)
        self._once = 0.0
        pairs = collection.pairs
        products = set(collection.texts.take(pairs.products).to_pylist())
        for role, texts in (("query", set(pairs.queries)), ("document", products)):
            listed = sorted(texts)
            with encoding(Words(), role, listed) as note:
                time.sleep(self._rate * sum(map(len, listed)))
                note(np.zeros((len(listed), 8), dtype=np.float32))
        return np.arange(len(pairs.query_index), dtype=float)


def test_nothing_is_counted_outside_a_meter() -> None:
    with encoding(Words(), "query", ["a b"]) as note:
        note(np.zeros((1, 4)))
    with metering() as meter:
        pass
    assert meter.by_role == {}
    cost = Cost.of(meter)
    assert cost.items == 0
    assert math.isnan(cost.items_per_s)
    assert cost.tokens_missing == cost.vectors_missing == "nothing was encoded"


def test_items_tokens_and_bytes_are_counted_by_role() -> None:
    with metering() as meter:
        with encoding(Words(), "query", ["a b", "c"]) as note:
            note(np.zeros((2, 4), dtype=np.float32))
        with encoding(Words(), "document", ["d e f"]) as note:
            time.sleep(0.01)
            note(np.zeros((1, 4), dtype=np.float32))
    cost = Cost.of(meter, predicted_seconds=1.0)
    assert (cost.items, cost.tokens) == (3, 6.0)
    assert cost.vector_bytes_per_product == 16.0
    assert 0.01 <= cost.encode_seconds <= cost.seconds
    assert cost.items_per_s == pytest.approx(3 / cost.encode_seconds)
    assert cost.tokens_per_s == pytest.approx(6 / cost.encode_seconds)
    assert cost.tokens_missing == cost.vectors_missing == ""
    assert cost.peak_memory_bytes > 1e6


def test_a_model_without_tokenizer_or_vectors_says_so() -> None:
    with metering() as meter, encoding(object(), "pair", [("a", "b")]) as note:
        note(None)
    cost = Cost.of(meter)
    assert math.isnan(cost.tokens)
    assert cost.tokens_missing == "the model has no tokenizer"
    assert cost.vectors_missing == "the model keeps no vector per product"


def test_bytes_of_sparse_and_token_vectors() -> None:
    matrix = sparse.csr_array(np.eye(3, dtype=np.float32))
    with metering() as meter:
        with encoding(object(), "document", ["a", "b", "c"]) as note:
            note(matrix)
        with encoding(object(), "document", ["d"]) as note:
            note([np.zeros((5, 2), dtype=np.float32)])
    expected = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes + 40
    assert meter.by_role["document"].vector_bytes == expected


def test_an_encoder_that_fails_is_not_counted() -> None:
    with metering() as meter, pytest.raises(ModelError), encoding(Words(), "query", ["a"]):
        raise ModelError("no")
    assert meter.by_role == {}


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    with metering() as meter:
        pass
    cost = Cost.of(meter)
    store_record(cost, tmp_path / "cost.json")
    assert read_json(tmp_path / "cost.json")["tokens"] is None
    again = load_record(Cost, tmp_path / "cost.json")
    assert repr(again) == repr(cost)
    (tmp_path / "cost.json").write_text("{", encoding="utf-8")
    assert load_record(Cost, tmp_path / "cost.json") is None
    assert load_record(Cost, tmp_path / "nothing.json") is None


def test_memory_of_a_block_is_its_own() -> None:
    with metering() as large:
        np.ones(40_000_000)  # 320 MB
    with metering() as small:
        pass
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("this system cannot forget an earlier peak")
    assert large.peak_memory_bytes - small.peak_memory_bytes > 200e6


def test_a_slice_prices_the_whole(edition: Edition) -> None:
    collection = Collection.read(edition)
    found = price_run(Slow(), collection)
    texts = set(collection.texts.take(collection.pairs.products).to_pylist())
    characters = sum(map(len, texts)) + sum(map(len, set(collection.pairs.queries)))
    assert found.items == len(texts) + len(set(collection.pairs.queries))
    assert found.slice_items < found.items
    assert found.seconds == pytest.approx(0.05 + 2e-5 * characters, rel=0.5)
    assert found.once_seconds >= 0.05
    assert found.vector_bytes == len(texts) * 32
    searched = price_run(Slow(), collection, full_catalog=True)
    assert searched.items == len(set(collection.texts.to_pylist())) + len(
        set(collection.pairs.queries)
    )


def test_what_every_call_pays_again_is_not_scaled_up(
    edition: Edition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that learns from the corpus whenever it is asked, inside its encoder."""

    class Learning(Slow):
        def score(self, collection: Collection) -> np.ndarray:
            with encoding(Words(), "query", ["a"]):
                time.sleep(0.05)
            return super().score(collection)

    monkeypatch.setattr(pricing, "_LEAST", 3)
    found = price_run(Learning(per_character=0.0, once=0.0), Collection.read(edition))
    assert 0.05 < found.seconds < 0.2  # scaled up it would be 0.4


def test_a_run_says_how_close_its_price_came(
    edition: Edition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()
    monkeypatch.setattr(
        evaluation,
        "resolve",
        lambda name, **settings: slow if name == "slow" else resolve(name, **settings),
    )
    prices = price(["slow", "bm25"], edition, out=tmp_path)
    assert list(prices) == ["slow", "bm25"]
    assert prices["bm25"].items == 0
    assert not (tmp_path / "results").exists()
    slow_run, bm25_run, *_ = evaluate(["slow", "bm25"], edition, out=tmp_path).runs
    assert slow_run.cost is not None
    assert bm25_run.cost is not None
    assert slow_run.cost.predicted_seconds == pytest.approx(prices["slow"].seconds)
    assert slow_run.cost.seconds < 10 * slow_run.cost.predicted_seconds
    assert bm25_run.cost.predicted_seconds > 0
    again = evaluate(["slow"], edition, out=tmp_path)
    assert again.runs[0].reused
    assert repr(again.runs[0].cost) == repr(slow_run.cost)
    assert again.cost_table().row_count == 1


def test_a_run_that_read_vectors_from_disk_is_not_compared(
    edition: Edition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()
    monkeypatch.setattr(
        evaluation,
        "resolve",
        lambda name, **settings: slow if name == "slow" else resolve(name, **settings),
    )
    price(["slow"], edition, out=tmp_path)
    monkeypatch.setattr(
        Slow, "score", lambda self, collection: np.zeros(len(collection.pairs.query_index))
    )
    run = evaluate(["slow"], edition, out=tmp_path).runs[0]
    assert run.cost is not None
    assert math.isnan(run.cost.predicted_seconds)


def test_slices_hold_whole_pools(edition: Edition) -> None:
    collection = Collection.read(edition)
    part = collection.slice(5)
    for task, pools in part.pools.items():
        whole = collection.task(task)
        assert len(pools.query_ids) == 5
        for row, query_id in enumerate(pools.query_ids):
            place = whole.query_ids.index(query_id)
            ours = pools.product_index[pools.offsets[row] : pools.offsets[row + 1]]
            theirs = whole.product_index[whole.offsets[place] : whole.offsets[place + 1]]
            assert np.array_equal(ours, theirs)
    assert len(part.product_ids) == len(collection.product_ids)
    assert len(collection.slice(10**6).task("ranking").query_ids) == 24


def test_help_starts_within_half_a_second() -> None:
    """Processor time of the fastest of three starts, which other work on the machine disturbs
    least."""
    code = "from fashion_rq_bench.cli import app; app(['--help'], standalone_mode=False)"
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spent) < 0.5
