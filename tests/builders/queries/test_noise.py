"""Queries typed in haste: what is changed, what never is, and how the variant is asked for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fashion_rq_bench.builders.pipeline.run import BuildConfig
from fashion_rq_bench.builders.queries.grammar.noise import typed_in_haste
from fashion_rq_bench.commands.build import build_values

QUERY = "I am looking for a pair of Black running shoes by Skechers, please!"


def variants(count: int = 300) -> list[str]:
    return [typed_in_haste(QUERY, np.random.default_rng(n), ["skechers"]) for n in range(count)]


def test_what_haste_does() -> None:
    found = variants()
    assert found == variants()  # the seed decides
    assert all(text == text.lower() and "," not in text and "!" not in text for text in found)
    assert all("skechers" in text.split() for text in found)
    openings = {text.startswith("i am looking for") for text in found}
    assert openings == {True, False}
    words = {word for text in found for word in text.split()}
    assert {"runinng", "runing", "runnning"} <= words  # swapped, left out, doubled
    assert any("a pair of" in text for text in found)
    assert any("a pair of" not in text for text in found)


@given(st.text(max_size=60), st.integers(0, 2**32 - 1))
def test_at_most_one_word_is_misspelt_and_none_appears(text: str, seed: int) -> None:
    hasty = typed_in_haste(text, np.random.default_rng(seed))
    assert len(hasty.split()) <= len(text.lower().split())
    stripped = {word.rstrip(".?!:,") for word in text.lower().split()}
    assert sum(word not in stripped for word in hasty.split()) <= 1


def test_the_share_is_a_setting() -> None:
    values = build_values(None, {}, [], ["queries.noise=0.25"])
    assert BuildConfig.from_mapping(values).queries.noise == 0.25
    assert BuildConfig().queries.noise == 0.0
