"""An edition of another domain than fashion: what it carries, and that everything obeys it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cli import fails, run
from helpers.paths import ROOT
from helpers.scored import write_scored
from helpers.tiny import DIM, tiny_tables, write_tiny

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.editions.pool_relevance import judge
from fashion_rq_bench.editions.pools import Collection
from fashion_rq_bench.evaluation.run import evaluate
from fashion_rq_bench.schema.domain import domain, load_domain, using
from fashion_rq_bench.schema.tables import schema_of

SHOES = ROOT / "tests/helpers/domains/shoes.toml"
CLOSURES = {"Men": "lace up", "Women": "buckle"}


def shoe_tables() -> dict[str, pa.Table]:
    """The tiny edition's tables with shoes for clothes; called under the domain."""
    tables = tiny_tables_of_fashion()
    rows = {name: table.to_pylist() for name, table in tables.items()}
    for row in rows["corpus"]:
        row |= {"color": row["base_color"], "closure": [CLOSURES[row["gender"]]]}
    for row in [*rows["queries"], *rows["ranking"]]:
        row["intents"] = [_intent(one) for one in row["intents"]]
    return {name: pa.Table.from_pylist(rows[name], schema=schema_of(name, DIM)) for name in tables}


def tiny_tables_of_fashion() -> dict[str, pa.Table]:
    with using(load_domain("fashion")):
        return tiny_tables()


def _intent(fashion: dict[str, Any]) -> dict[str, Any]:
    closure = CLOSURES[fashion["gender"]]
    return dict.fromkeys(domain().names) | {
        "product_type": fashion["product_type"],
        "color": fashion["color"],
        "closure": [closure],
    }


@pytest.fixture(scope="module")
def shoes(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    out = tmp_path_factory.mktemp("shoes")
    with using(load_domain(SHOES)):
        return write_scored(out, shoe_tables(), name="shoes")


def test_it_carries_its_domain(shoes: Edition, tmp_path: Path) -> None:
    own, file = shoes.domain, load_domain(SHOES)
    assert (own.name, own.digest, own.names) == ("shoes", file.digest, file.names)
    assert own.words == file.words
    assert list(own.table("heel")) == list(file.table("heel"))
    assert Edition.open(shoes.path).domain is own
    shoes.verify()
    assert shoes.table("corpus").schema.field("closure").type == pa.list_(pa.string())
    write_tiny(tmp_path)
    plain = json.loads((tmp_path / "edition.json").read_text(encoding="utf-8"))
    assert "domain" not in plain
    assert "domain" not in plain["identity"]
    assert Edition.open(tmp_path).domain is load_domain("fashion")


def test_its_words_are_part_of_its_id(shoes: Edition, tmp_path: Path) -> None:
    text = SHOES.read_text(encoding="utf-8").replace('"buckled"', '"strap"')
    (tmp_path / "shoes.toml").write_text(text, encoding="utf-8")
    with using(load_domain(tmp_path / "shoes.toml")):
        other = write_scored(tmp_path / "other", shoe_tables(), name="shoes")
    assert other.id != shoes.id


def test_it_is_judged_and_scored_under_its_domain(shoes: Edition, tmp_path: Path) -> None:
    judged = judge(Collection.read(shoes))
    assert judged.matches.match.shape[1] == len(shoes.domain.names)
    result = evaluate(["bm25"], shoes, out=tmp_path, full_catalog=True)
    means = result.runs[0].means
    assert {"attr_closure", "ndcg@10_closure"} <= set(means["ranking"])
    assert "attr_gender" not in means["ranking"]
    assert np.isfinite(means["retrieval"]["rel"].value)
    assert domain().name == "fashion"


def test_datasets_reads_it_with_its_own_features(shoes: Edition, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    read = datasets.load_dataset(str(shoes.path), "queries", split="test", cache_dir=str(tmp_path))
    assert list(read[0]["intents"][0]) == list(shoes.domain.names)


def test_the_command_knows_its_domain(shoes: Edition, tmp_path: Path) -> None:
    out = ["--edition", str(shoes.path), "--out", str(tmp_path)]
    assert run("evaluate", "bm25", *out).returncode == 0
    assert run("evaluate", "bm25", *out, "--domain", str(SHOES)).returncode == 0
    fails(run("evaluate", "bm25", *out, "--domain", "fashion"), 3, "another domain")
