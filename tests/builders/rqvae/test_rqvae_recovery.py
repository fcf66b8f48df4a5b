"""The quantiser against a hierarchy that is known, and the study's own arithmetic."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from helpers.paths import ROOT

from fashion_rq_bench.builders.rqvae import RQVAEConfig
from fashion_rq_bench.schema.tables import ranking_schema

sys.path.insert(0, str(ROOT / "scripts" / "study"))

from quantiser.downstream import label_noise
from quantiser.page import as_csv, interval, page
from quantiser.runs import Result, same_groups
from recovery import WEIGHTS, noisy, planted_vectors, v_measures

CONFIG = RQVAEConfig(
    codebook_size=6,
    items_per_prefix=0,
    hidden=(64,),
    latent=16,
    exclusivity=(0.0,),
    labels=((), (), ()),
    min_leaf=1,
    epochs=20,
    min_steps=1,
    batch_size=128,
    held_out=0.1,
)


def test_a_planted_tree_is_recovered_and_lost_smoothly_with_noise() -> None:
    leaf = np.random.default_rng(0).integers(54, size=1500)
    nodes = [leaf // 9, leaf // 3, leaf]  # 6 groups of 3 types of 3 leaves
    truth = pa.table({f"level_{n + 1}": node for n, node in enumerate(nodes)})
    vectors = planted_vectors(nodes, width=32)
    found = np.array(
        [
            v_measures(
                noisy(vectors, n * WEIGHTS[-1]), [[], [], []], truth, replace(CONFIG, seed=0)
            )
            for n in (0.0, 2.0, 8.0)
        ]
    )
    assert found[0].min() >= 0.9
    assert found[0, 0] > 0.99
    assert (np.diff(found, axis=0) < 0.02).all()
    assert found[-1, -1] < 0.7  # noise of eight times a leaf's own vector hides the leaves


def ranking(*pools: list[tuple[int, float]]) -> pa.Table:
    rows = [
        {
            "query_id": f"q{n}",
            "query": "q",
            "candidates": [
                {"product_id": f"p{i}", "grade": grade, "match": match}
                for i, (grade, match) in enumerate(pool)
            ],
        }
        for n, pool in enumerate(pools)
    ]
    columns = {name: [row.get(name) for row in rows] for name in ranking_schema().names}
    return pa.table(columns, schema=ranking_schema())


def test_label_noise_by_hand() -> None:
    # Pairs of different grades: (3, 2) in order, (3, 0) in order, (2, 0) equal; then (3, 1) wrong.
    table = ranking([(3, 0.9), (2, 0.5), (0, 0.5)], [(3, 0.2), (1, 0.8), (1, 0.1)])
    noise, equal = label_noise(table)
    assert noise == pytest.approx(1 / 5)
    assert equal == pytest.approx(1 / 5)


def test_intervals_are_students() -> None:
    mean, half = interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(4.302653 / np.sqrt(3), rel=1e-5)
    assert np.isnan(interval([1.0])[1])


def test_equal_trees_agree_whatever_their_codes() -> None:
    codes = np.random.default_rng(0).integers(4, size=(50, 3)).astype(np.uint16)
    assert same_groups(codes, 3 - codes) == [1.0, 1.0, 1.0]
    assert abs(same_groups(codes, codes[::-1])[0]) < 0.2


def test_the_page_shows_means_intervals_and_pairs() -> None:
    levels = {f"{name}_{n}": 0.5 for n in (1, 2, 3) for name in ("coverage", "article_type")}
    codes = np.zeros((4, 3), dtype=np.uint16)
    rows = {
        name: {
            seed: Result(levels | {"coverage_3": level + 0.1 * seed}, codes) for seed in (0, 1, 2)
        }
        for name, level in (("default", 0.8), ("λ = 0", 0.6))
    }
    text = page(rows, "lsa", 4, "")
    assert "0.900 ± 0.248" in text
    assert "| coverage | 0.000 ± 0.000 | 0.000 ± 0.000 | 0.200 ± 0.000 |" in text
    assert as_csv(rows).splitlines()[1] == "default,0,article_type_1,0.5"
