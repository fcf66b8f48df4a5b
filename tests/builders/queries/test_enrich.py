"""The offline parser: known intents of grammar queries, hand-labelled queries, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.paths import ROOT
from helpers.shop import clusters, shop

from fashion_rq_bench.builders.queries.check.parser import parse_intent, parse_intents
from fashion_rq_bench.builders.queries.check.phrasebook import Phrasebook, phrasebook
from fashion_rq_bench.schema.domain import domain

HAND = ROOT / "tests" / "helpers" / "data" / "hand_queries.jsonl"


@pytest.fixture(scope="module")
def book() -> Phrasebook:
    return phrasebook(shop()[0])


def said(query: str, book: Phrasebook) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in intent.items() if value is not None}
        for intent in parse_intent(query, book)
    ]


def test_reads_attributes(book: Phrasebook) -> None:
    assert said("Men's black or blue striped cotton tees by Puma", book) == [
        {
            "product_type": "tshirts",
            "gender": "men",
            "color": ["black", "blue"],
            "pattern": ["striped"],
            "material": ["cotton"],
            "brand": ["Puma"],
        }
    ]


def test_negated_wishes_are_none(book: Phrasebook) -> None:
    assert said("a watch, not leather", book) == [{"product_type": "watches"}]
    assert said("anything but black, blue kurta", book) == [
        {"product_type": "kurtas", "color": ["blue"]}
    ]
    assert said("kurta without embroidery or prints in red", book)[0]["color"] == ["red"]


def test_companions_are_no_wishes(book: Phrasebook) -> None:
    found = said("red t-shirt to match my blue watch", book)
    assert found == [{"product_type": "tshirts", "color": ["red"]}]


def test_several_things(book: Phrasebook) -> None:
    found = said("gift set with a black watch and a red tee for my husband", book)
    person = {"gender": "men", "age_group": "adult"}
    assert found == [
        {"product_type": "watches", "color": ["black"], **person},
        {"product_type": "tshirts", "color": ["red"], **person},
    ]
    shared = said("red kurtas or tees from Puma", book)
    assert [one["color"] for one in shared] == [["red"], ["red"]]
    assert [one["brand"] for one in shared] == [["Puma"], ["Puma"]]


def test_brand_only_by_its_words(book: Phrasebook) -> None:
    assert "brand" not in said("kurta with long sleeves", book)[0]
    assert "brand" not in said("a w kurta", book)[0]
    assert said("a W kurta", book)[0]["brand"] == ["W"]
    assert said("adidas tees", book)[0]["brand"] == ["ADIDAS"]
    assert said("tees from united colors of benetton", book)[0]["brand"] == [
        "United Colors of Benetton"
    ]


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("watch under 500", "budget"),
        ("watch below Rs. 1,500", "mid-range"),
        ("watches above ₹2500", "premium"),
        ("watch between 800 and 1500 rupees", "mid-range"),
        ("watch under 5k", "premium"),
        ("cheap watch", "budget"),
        ("high-end watch", "premium"),
        ("watch", None),
    ],
)
def test_prices(text: str, tier: str | None, book: Phrasebook) -> None:
    assert parse_intent(text, book)[0]["price_hint"] == tier


def test_nothing_known(book: Phrasebook) -> None:
    for text in ("", "???", "asdf qwer", "\x00 ,;"):
        (intent,) = parse_intent(text, book)
        assert set(intent) == set(domain().names)
        assert not any(intent.values())


def values(intents: Iterable[dict[str, Any]], attribute: str) -> set[str]:
    found = (intent.get(attribute) for intent in intents)
    return {v.casefold() for one in found for v in ([one] if isinstance(one, str) else one or [])}


def f1(known: list[list[dict]], read: list[list[dict]]) -> dict[str, tuple[float, int]]:
    """F1 over (query, value) pairs and the number of known values, per attribute."""
    scores = {}
    for attribute in domain().names:
        pairs = [
            (values(k, attribute), values(r, attribute)) for k, r in zip(known, read, strict=True)
        ]
        right = sum(len(k & r) for k, r in pairs)
        total = sum(len(k) + len(r) for k, r in pairs)
        scores[attribute] = (2 * right / total if total else 1.0, sum(len(k) for k, _ in pairs))
    return scores


def test_known_intents_of_a_small_shop(book: Phrasebook) -> None:
    from fashion_rq_bench.builders.context.stage import context
    from fashion_rq_bench.builders.queries import generate

    catalog, ids, vectors = shop()
    table = generate(context(catalog, ids, clusters(), vectors), catalog, ids).table
    scores = f1(table["intents"].to_pylist(), parse_intents(table["query"].to_pylist(), book))
    assert min(score for score, _ in scores.values()) >= 0.97, scores


@pytest.fixture(scope="module")
def real_catalog(shared_data: Path) -> pa.Table:
    from fashion_rq_bench.builders.catalog import read_catalog

    return read_catalog(shared_data / "myntra-catalog.parquet").table


@pytest.mark.data
@pytest.mark.slow
def test_hand_labelled_queries(real_catalog: pa.Table) -> None:
    hand = [json.loads(line) for line in HAND.read_text(encoding="utf-8").splitlines()]
    assert len(hand) == 150
    read = parse_intents([one["query"] for one in hand], phrasebook(real_catalog))
    scores = f1([one["intents"] for one in hand], read)
    assert all(count > 0 for _, count in scores.values())
    assert min(score for score, _ in scores.values()) >= 0.85, scores


@pytest.mark.data
@pytest.mark.slow
def test_real_brands_that_read_like_words(real_catalog: pa.Table) -> None:
    book = phrasebook(real_catalog)
    assert "brand" not in said("I'd like a black dress", book)[0]
    assert said("black casual shoes from red tape", book) == [
        {"product_type": "casual shoes", "color": ["black"], "brand": ["Red Tape"]}
    ]
    assert said("U.S. Polo Assn. shirts for men", book)[0] == {
        "product_type": "shirts",
        "gender": "men",
        "brand": ["U.S. Polo Assn."],
    }
