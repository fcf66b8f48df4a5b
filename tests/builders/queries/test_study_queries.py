"""The page on an edition's queries: the figures the build reported, plain queries beside them."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import numpy as np
import pytest
from helpers.paths import ROOT

from fashion_rq_bench.editions.edition import Edition

SCRIPT = ROOT / "scripts" / "study" / "queries.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("study_queries", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_escape_and_format(script: ModuleType) -> None:
    shown = script.table(["a", "b"], [["x|y", 1234], ["nothing", float("nan")]])
    assert shown.splitlines() == [
        "| a | b |",
        "| --- | --- |",
        "| x\\|y | 1,234 |",
        "| nothing | – |",
    ]


@pytest.mark.slow
def test_the_edition_s_own_figures_come_out_again(script: ModuleType) -> None:
    edition = Edition.open()
    bench = script.Bench(edition)
    ours = bench.measure(edition.table("queries"))
    reported = edition.report["tasks"]["quality"]["reference"]
    for task in ("ranking", "classification", "sibling"):
        for metric, value in reported[task].items():
            assert ours["quality"]["reference"][task][metric] == pytest.approx(value, abs=1e-3)
    assert ours["ndcg"].mean() == pytest.approx(reported["ranking"]["ndcg@10"], abs=1e-3)
    plain = bench.measure(script.plain_queries(bench.corpus, bench.codes, bench.leaves))
    assert np.array_equal(plain["prefixes"], ours["prefixes"])
    assert (plain["wishes_of"].sum(axis=1) <= 3).all()
