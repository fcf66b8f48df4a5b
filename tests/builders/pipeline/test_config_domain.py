"""A build's settings are those of its domain."""

from __future__ import annotations

from helpers.paths import ROOT

from fashion_rq_bench.builders.pipeline.config import BuildConfig
from fashion_rq_bench.schema.domain import load_domain

SHOES = ROOT / "tests" / "helpers" / "domains" / "shoes.toml"


def test_defaults_name_the_domains_columns() -> None:
    own = {column.name for column in load_domain(SHOES).columns}
    facts = BuildConfig.from_mapping({"domain": str(SHOES)}).embedding.text.facts
    assert facts
    assert {*facts} <= own
    assert "gender" in BuildConfig.from_mapping({}).embedding.text.facts
