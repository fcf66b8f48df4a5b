"""Queries of a domain without a lexicon, frames or persons: shoes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import helpers
import numpy as np
import pyarrow as pa
import pytest

from fashion_rq_bench.builders.queries.check.parser import parse_intent
from fashion_rq_bench.builders.queries.check.phrasebook import phrasebook
from fashion_rq_bench.builders.queries.check.verify import form_faults
from fashion_rq_bench.builders.queries.grammar.verbalizer import verbalize
from fashion_rq_bench.builders.queries.say.candidate_wishes import candidates, wish_incidence
from fashion_rq_bench.builders.queries.say.plan import Plan, can_name_person, intents_of
from fashion_rq_bench.schema.domain import load_domain, using

BOOTS = Plan(
    ("Boots",),
    {"color": ("Black",), "closure": ("lace up",), "brand": ("Kora",), "heel": ("high",)},
)


@pytest.fixture(autouse=True)
def shoes() -> Iterator[None]:
    with using(load_domain(Path(helpers.__file__).parent / "domains" / "shoes.toml")):
        yield


def catalog() -> pa.Table:
    row = {
        "master_category": "Footwear",
        "sub_category": "Shoes",
        "article_type": "Boots",
        "heel": "high",
        "closure": ["lace up"],
        "color": ["Black"],
        "brand": "Kora",
        "material": ["leather"],
    }
    return pa.Table.from_pylist([row] * 6)


def test_every_wish_is_said_by_its_value() -> None:
    texts = list(islice(verbalize(BOOTS, np.random.default_rng(0)), 80))
    assert len(set(texts)) > 20
    for text in texts:
        folded = text.lower().replace("-", " ")
        for words in ("boot", "black", "lace up", "kora", "high heel"):
            assert words in folded, text
        assert not form_faults(text), text


def test_intents_hold_the_domain_s_attributes() -> None:
    (intent,) = intents_of(BOOTS)
    assert intent["product_type"] == "boots"
    assert intent["heel"] == "high"
    assert intent["closure"] == ["lace up"]
    assert intent["lining"] is None
    assert not can_name_person(BOOTS)


def test_wishes_come_from_the_attributes() -> None:
    values = wish_incidence(catalog())
    found = {one.wish.attribute for one in candidates(values, np.arange(6), broad=False)}
    assert found == {"product_type", "heel", "closure", "color", "brand", "lining"}


def test_the_parser_reads_them_back() -> None:
    book = phrasebook(catalog())
    (intent,) = parse_intent("black laced boots by Kora with a high heel, not leather", book)
    assert (intent["product_type"], intent["heel"], intent["closure"]) == (
        "boots",
        "high",
        ["lace up"],
    )
    assert (intent["brand"], intent["lining"]) == (["Kora"], None)
    assert parse_intent("boots of high quality under 500", book)[0]["heel"] is None
