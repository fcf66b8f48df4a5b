"""A second domain, forty lines of TOML and no Python: catalog, edition, scores, metric, report."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from helpers.cli import run
from helpers.paths import ROOT
from helpers.shoes import SHOES, write_shoes

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.schema.attributes import CORE_COLUMNS, ROLES
from fashion_rq_bench.schema.domain import DEFAULT, load_domain

pytestmark = pytest.mark.slow


def done(*arguments: str, cwd: Path) -> str:
    result = run(*arguments, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an edition of made shoes, scored by BM25."""
    folder = tmp_path_factory.mktemp("shoes")
    write_shoes(folder / "shoes.csv", n=1500)
    small = ["--set", "rqvae.codebook_size=6", "--set", "rqvae.epochs=20"]
    small += ["--set", "tasks.max_anchors=15", "--set", "rqvae.min_coverage=0.05"]
    catalog = ["--catalog", "shoes.csv", "--domain", str(SHOES), "--out", "edition"]
    done("build", *catalog, *small, cwd=folder)
    done("evaluate", "bm25", "--edition", "edition", cwd=folder)
    return folder


def test_the_domain_is_toml_alone_and_two_attributes_are_its_own() -> None:
    shoes, fashion = load_domain(SHOES), load_domain(DEFAULT)
    assert len(shoes.attributes) == 6
    assert set(shoes.names) - set(fashion.names) == {"heel", "closure", "lining"}
    assert len(SHOES.read_text(encoding="utf-8").splitlines()) <= 60
    assert not list(SHOES.parent.glob("*.py"))


def test_queries_wish_for_the_domain_s_own_attributes(built: Path) -> None:
    edition = Edition.open(built / "edition")
    assert edition.domain.names == load_domain(SHOES).names
    edition.verify()
    intents = [one for row in edition.table("queries")["intents"].to_pylist() for one in row]
    assert {tuple(one) for one in intents} == {load_domain(SHOES).names}
    assert any(one["heel"] for one in intents)
    assert any(one["closure"] for one in intents)


def test_the_oracle_beats_chance(built: Path) -> None:
    shown = json.loads(done("evaluate", "bm25", "--edition", "edition", "--json", cwd=built))
    values: dict[str, Any] = {run["model"]: run for run in shown["models"]}
    floor, oracle = (
        values[name]["scores"]["ranking"]["ndcg@10"]["mean"] for name in ("random", "oracle")
    )
    assert oracle > floor + 0.2


def test_the_metric_judges_by_the_edition_s_domain(built: Path) -> None:
    import evaluate

    edition = Edition.open(built / "edition")
    corpus = edition.table("corpus", ["product_id", "heel"]).to_pylist()
    high = next(row["product_id"] for row in corpus if row["heel"] == "high")
    flat = next(row["product_id"] for row in corpus if row["heel"] == "flat")
    metric = evaluate.load("attr_relevance")
    found = metric.compute(
        predictions=[[high], [flat]],
        references=[{"heel": "high"}, {"heel": "high"}],
        edition=str(built / "edition"),
        return_per_query=True,
    )
    assert found["attr_score"]["heel"] == pytest.approx((1.0 + 0.0) / 2)
    assert set(found["attr_score"]) == set(edition.domain.names)


def test_report_describe_and_show_work(built: Path) -> None:
    done("report", "--edition", "edition", "--out", "report", cwd=built)
    page = (built / "report" / "index.html").read_text(encoding="utf-8")
    assert '"heel"' in page
    assert "closure" in done("describe", "--edition", "edition", cwd=built)
    done("show", "--edition", "edition", cwd=built)


def test_a_contradicting_domain_is_refused(built: Path) -> None:
    refused = run("evaluate", "bm25", "--edition", "edition", "--domain", DEFAULT, cwd=built)
    assert refused.returncode == 3
    assert "another domain" in refused.stderr


def test_no_module_outside_the_domains_names_what_only_fashion_has() -> None:
    """No string literal is a fashion attribute or column, but for roles that share a word."""
    fashion = load_domain(DEFAULT)
    own = {column.name for column in fashion.columns} | set(fashion.names)
    own -= {*CORE_COLUMNS, *ROLES, "product_type", "style", "year"}
    found = []
    for home in ("fashion_rq_bench", "builders", "metrics"):
        for path in sorted((ROOT / home).rglob("*.py")):
            if "domains" in path.parts or path.name == "_moved.py":
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and node.value in own:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.value}")
    assert found == []
