"""The mechanical verifier finds what is planted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from helpers.shop import clusters, shop

from fashion_rq_bench.builders.context.stage import context
from fashion_rq_bench.builders.queries import generate
from fashion_rq_bench.builders.queries.check.verify import Verdict, form_faults, verify
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.schema.tables import queries_schema


@pytest.fixture(scope="module")
def evidence() -> pa.Table:
    catalog, ids, vectors = shop()
    return context(catalog, ids, clusters(), vectors)


def check(evidence: pa.Table, *asked: tuple[str, list[int], dict[str, Any]]) -> Verdict:
    catalog, ids, _ = shop()
    rows = [
        {
            "query_id": f"q{number}",
            "query": text,
            "prefix": prefix,
            "level": len(prefix),
            "intents": [{**dict.fromkeys(domain().names), **intent}],
            "source": "hand",
        }
        for number, (text, prefix, intent) in enumerate(asked)
    ]
    return verify(pa.Table.from_pylist(rows, schema=queries_schema()), evidence, catalog, ids)


BLUE = {"product_type": "tshirts", "gender": "men", "color": ["blue"]}


def reasons(verdict: Verdict) -> list[list[str]]:
    found: list[list[str]] = verdict.queries["reasons"].to_pylist()
    return found


def test_good_queries_pass(evidence: pa.Table) -> None:
    verdict = check(evidence, ("blue t-shirts for men", [0, 0, 1], BLUE))
    assert reasons(verdict) == [[]]
    assert verdict.queries["exact"].to_pylist() == [1.0]
    assert verdict.queries["sibling"].to_pylist() == [0.0]


def test_queries_that_fit_siblings(evidence: pa.Table) -> None:
    broad = {"product_type": "tshirts", "gender": "men"}
    verdict = check(evidence, ("some t-shirts for men", [0, 0, 1], broad))
    assert reasons(verdict) == [["fits siblings as well"]]
    assert verdict.report["fits_siblings_as_well"] == 1.0


@pytest.mark.parametrize(
    "intent",
    [{"color": ["red"]}, {"brand": ["Nike"]}, {"gender": "women"}, {"style_tags": ["v neck"]}],
)
def test_ungrounded(intent: dict[str, Any], evidence: pa.Table) -> None:
    verdict = check(evidence, ("nice t-shirts for men", [0, 0, 1], {**BLUE, **intent}))
    assert "ungrounded" in reasons(verdict)[0]


def test_duplicates(evidence: pa.Table) -> None:
    verdict = check(
        evidence,
        ("Blue t-shirts for men!", [0, 0, 1], BLUE),
        ("blue T-shirts, for men", [0, 0, 1], BLUE),
    )
    assert reasons(verdict) == [[], ["duplicate", "near-duplicate"]]
    assert verdict.report["unique"] == 1


def test_coverage_gaps(evidence: pa.Table) -> None:
    other = {"product_type": "watches"}
    leaf = evidence.filter(pa.array([p == [0, 0, 1] for p in evidence["prefix"].to_pylist()]))
    verdict = check(leaf, ("watches for men please", [0, 0, 1], other))
    assert verdict.report["coverage"]["gaps"] == 1
    assert verdict.report["coverage"]["uncovered"] == ["0-0-1: Tshirts"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("blue shirt", "length"),
        ("a " * 27, "length"),
        ("color=blue t-shirts for men", "internal names"),
        ("t-shirts with article type shirts", "internal names"),
        ("blue AND cotton t-shirts", "attribute list"),
        ("shirt, blue, cotton, men, casual, cheap", "attribute list"),
    ],
)
def test_form(text: str, fault: str) -> None:
    assert form_faults(text) == [fault]


def test_generated_queries_pass(evidence: pa.Table) -> None:
    catalog, ids, _ = shop()
    table = generate(evidence, catalog, ids).table
    report = verify(table, evidence, catalog, ids).report
    assert report["coverage"]["gaps"] == 0
    assert set(report["failures"]) <= {"fits siblings as well"}
    assert report["satisfied"]["exact"] > 0.9


def test_uncovered_types_that_are_not_listed_are_counted(evidence: pa.Table) -> None:
    many = pa.concat_tables([evidence, evidence])
    verdict = check(many, ("blue t-shirts for men", [0, 0, 1], BLUE))
    coverage = verdict.report["coverage"]
    assert coverage["gaps"] == coverage["required_types"] - 2  # one cluster, there twice
    assert len(coverage["uncovered"]) == 50
    assert coverage["uncovered_not_listed"] == coverage["gaps"] - 50
