"""The guide to catalogs of one's own does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from helpers.paths import ROOT

from fashion_rq_bench.builders.catalog import CatalogConfig, read_catalog
from fashion_rq_bench.builders.catalog.columns import targets
from fashion_rq_bench.support import settings as _config

GUIDE = ROOT / "docs" / "your-own-catalog.md"


def block(language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(found) == 1
    return str(found[0])


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    (tmp_path / "shop.csv").write_text(block("csv"), encoding="utf-8")
    (tmp_path / "shop.toml").write_text(block("toml"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return _config.read_toml(tmp_path / "shop.toml")


def test_the_map_of_the_guide_reads_its_catalog(shop: dict[str, Any]) -> None:
    assert len(shop["columns"]) <= 10
    result = read_catalog("shop.csv", _config.from_mapping(CatalogConfig, shop))
    assert (result.report.input, result.report.read, result.report.repaired) == (3, 3, 0)
    first, second, third = result.table.to_pylist()
    assert first["price"] == 1299.0
    assert first["description"] == "Breathable & light. Slim fit."
    assert first["material"] == ["linen"]
    assert first["style"] == ["mandarin collar", "slim fit"]
    assert (first["master_category"], first["sub_category"]) == ("Clothing", "Men")
    assert first["article_type"] == "Shirts"
    assert (first["gender"], second["gender"]) == ("Men", "Women")
    assert second["pattern"] == ["printed", "floral"]
    assert third["age_group"] == "kids"
    assert [row["price_tier"] for row in (first, second, third)] == [
        "premium",
        "mid-range",
        "budget",
    ]
    assert result.report.currency == "EUR"


def test_the_python_of_the_guide_runs(
    shop: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(block("python"), str(GUIDE), "exec"), {})
    assert capsys.readouterr().out.startswith("3 products\nLinen Stand Collar Shirt. Shirts")


def test_the_guide_names_every_column_that_can_be_mapped() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert not [name for name in targets() if f"`{name}`" not in text]
