"""The synthetic catalog: shape, determinism, planted groups, faults, readable text."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from fashion_rq_bench.builders.catalog import (
    CatalogConfig,
    CatalogResult,
    SyntheticConfig,
    product_text,
    read_catalog,
    synthetic,
    write_catalog,
    write_synthetic,
)
from fashion_rq_bench.builders.catalog.domains.fashion.made import synthetic_raw
from fashion_rq_bench.builders.catalog.domains.fashion.words import words
from fashion_rq_bench.errors import CatalogError, ConfigError
from fashion_rq_bench.words.terms import find_terms, term_tables

CLEAN = SyntheticConfig(missing=0, no_attributes=0, na=0, entities=0, near_duplicates=0)


@pytest.fixture(scope="module")
def catalog() -> CatalogResult:
    return read_catalog("synthetic:3000?seed=7")


def test_shape(catalog: CatalogResult) -> None:
    table, report = catalog.table, catalog.report
    assert (report.input, report.read, report.quarantined) == (3000, 3000, 0)
    assert len(table["master_category"].unique()) == 7
    assert len(table["article_type"].unique()) >= 40
    assert len(table["sub_category"].unique()) >= 20
    assert len(table["brand"].unique()) >= 100
    assert set(table["gender"].unique().to_pylist()) == {"Men", "Women", "Boys", "Girls", "Unisex"}
    counts = sorted(Counter(table["article_type"].to_pylist()).values(), reverse=True)
    assert counts[0] > 2 * counts[1] * 0.8
    assert counts[0] / 3000 > 0.1
    assert counts[-1] < 20


def test_prices_are_skewed_and_follow_type_and_brand(catalog: CatalogResult) -> None:
    prices = catalog.table["price"].drop_null().to_numpy()
    assert prices.min() >= 99
    assert prices.mean() > np.median(prices)
    assert all(count > 300 for count in catalog.report.tiers.values())
    medians = {
        name: np.median(catalog.table.filter(mask)["price"].drop_null().to_numpy())
        for name in ("Watches", "Socks")
        for mask in [pc.equal(catalog.table["article_type"], name)]
    }
    assert medians["Watches"] > 5 * medians["Socks"]


def test_the_same_seed_gives_the_same_catalog(catalog: CatalogResult, tmp_path: Path) -> None:
    again = synthetic(3000, seed=7)
    assert again.table.equals(catalog.table)
    assert again.planted is not None
    assert again.planted.equals(catalog.planted)
    assert not synthetic(3000, seed=8).table.equals(catalog.table)
    by_config = read_catalog("synthetic:600", CatalogConfig(seed=7)).table
    assert by_config.equals(read_catalog("synthetic:600?seed=7").table)
    write_catalog(again, tmp_path)
    assert pq.read_table(tmp_path / "planted.parquet").num_rows == 3000


def test_planted_levels_are_nested(catalog: CatalogResult) -> None:
    planted = catalog.planted
    assert planted is not None
    assert planted["product_id"].equals(catalog.table["product_id"])
    assert planted["level_2"].equals(catalog.table["article_type"])
    for fine, coarse in (("level_3", "level_2"), ("level_2", "level_1")):
        pairs = set(zip(planted[fine].to_pylist(), planted[coarse].to_pylist(), strict=True))
        assert len(pairs) == len({pair[0] for pair in pairs})
    assert 10 <= len(planted["level_1"].unique()) <= 20
    assert len(planted["level_3"].unique()) > 200


def _usual_share(result: CatalogResult, column: str) -> float:
    """Mean share of the commonest value in planted leaves of at least ten products."""
    assert result.planted is not None
    leaves: dict[str, Counter[str]] = {}
    values = result.table[column].to_pylist()
    for leaf, value in zip(result.planted["level_3"].to_pylist(), values, strict=True):
        for item in [value] if isinstance(value, str) else value or []:
            leaves.setdefault(leaf, Counter())[item] += 1
    large = [counts for counts in leaves.values() if counts.total() >= 10]
    return float(np.mean([max(counts.values()) / counts.total() for counts in large]))


@pytest.mark.parametrize("column", ["pattern", "material", "brand"])
def test_products_of_a_leaf_share_traits(column: str) -> None:
    strict, none = (
        synthetic(3000, 1, SyntheticConfig(**{**vars_of(CLEAN), "consistency": value}))
        for value in (1.0, 0.0)
    )
    assert _usual_share(strict, column) > _usual_share(none, column) + 0.15
    assert _usual_share(strict, column) > (0.55 if column == "brand" else 0.95)


def vars_of(config: SyntheticConfig) -> dict[str, float]:
    return {name: getattr(config, name) for name in config.__dataclass_fields__}


def test_faults_come_at_their_rates() -> None:
    config = SyntheticConfig(
        missing=0.1, no_attributes=0.2, na=0.05, entities=0.3, near_duplicates=0.2
    )
    table = synthetic_raw(8000, 3, config).table
    for name in ("brandName", "price", "ageGroup", "season", "description"):
        assert table[name].null_count / 8000 == pytest.approx(0.1, abs=0.02), name
    for name in ("baseColour", "usage"):
        said = pc.sum(pc.equal(table[name], "NA")).as_py()
        assert said / 8000 == pytest.approx(0.05, abs=0.01), name
    assert table["articleAttributes"].null_count / 8000 == pytest.approx(0.2, abs=0.02)
    entity = "& ?rsquo|&amp;amp;|&#39;|&nbsp;|&amp; "
    broken = pc.match_substring_regex(table["description"], entity)
    assert pc.sum(broken).as_py() / 7200 > 0.2
    plain = synthetic_raw(8000, 3, CLEAN).table
    texts = [Counter(t["productDisplayName"].to_pylist()) for t in (table, plain)]
    repeats = [8000 - len(counts) for counts in texts]
    assert repeats[0] > repeats[1] + 300


def test_without_faults_there_are_none() -> None:
    result = synthetic(1000, 5, CLEAN)
    nulls = result.report.nulls
    needed = ("title", "description", "brand", "base_color", "season", "usage", "price", "year")
    assert [nulls[name] for name in needed] == [0] * len(needed)
    assert not result.report.null_strings
    assert result.report.filled.get("brand") is None


def test_missing_brands_are_found_again_in_the_titles(catalog: CatalogResult) -> None:
    inferred = catalog.table["brand_inferred"]
    assert pc.sum(inferred).as_py() > 50
    whole = synthetic(3000, 7, SyntheticConfig(**{**vars_of(SyntheticConfig()), "missing": 0}))
    same = pc.equal(whole.table["brand"], catalog.table["brand"]).filter(inferred)
    assert pc.mean(same).as_py() > 0.97


def test_text_reads_as_written_by_people() -> None:
    raw = synthetic_raw(6_000, 11, CLEAN).table
    titles = raw["productDisplayName"].to_pylist()
    texts = [*titles, *synthetic(6_000, 11, CLEAN).table["description"].to_pylist()]
    faults = re.compile(
        r"[{}<>]|\bNone\b|\s{2}|\s[.,]|\ba [aeiou](?!ni|ne\b|se)|\ban (?!hour|SPF)[^aeiou]"
        r"|\b(\w{2,}) \1\b"
        r"|,\s*\.|\ba a\b|\bthe a\b|\band and\b|\bhas and\b|\bwith and\b|^\s*$",
        re.IGNORECASE,
    )
    found = {hit[0]: text for text in texts if (hit := faults.search(text))}
    assert not found
    assert all(title[0].isupper() or title[0].isdigit() for title in titles)
    assert all(3 <= len(title.split()) <= 14 for title in titles)
    assert len(set(texts[len(titles) :])) > 4_500


def test_the_vocabulary_understands_the_synthetic_words() -> None:
    patterns = {v for kind in words().types for v in kind.traits.get("Pattern", ())}
    unknown = {v for v in patterns if not find_terms([v], "pattern")[0]}
    assert unknown <= {"braided"}
    assert "pattern" in term_tables()


def test_pieces_make_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fashion_rq_bench.builders.catalog.domains.fashion.made._CHUNK", 700)
    write_synthetic(2000, 3, tmp_path / "large.parquet")
    written = pq.read_table(tmp_path / "large.parquet")
    raw = synthetic_raw(2000, 3, SyntheticConfig())
    assert written.num_rows == len(written["id"].unique()) == 2000
    assert written.combine_chunks().equals(raw.table.combine_chunks())
    planted = pq.read_table(tmp_path / "large-planted.parquet")
    assert planted["product_id"].to_pylist() == written["id"].to_pylist()
    read = read_catalog(tmp_path / "large.parquet")
    assert read.table.equals(synthetic(2000, 3).table.select(read.table.column_names))
    assert len(list(tmp_path.iterdir())) == 2


def test_planted_types_are_neighbours_in_the_text(catalog: CatalogResult) -> None:
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import TfidfVectorizer

    some = catalog.table.slice(0, 1500)
    vectors = TfidfVectorizer(sublinear_tf=True).fit_transform(product_text(some).to_pylist())
    near = np.asarray((vectors @ vectors.T).todense())
    np.fill_diagonal(near, -1)
    types = np.array(some["article_type"].to_pylist())
    common = np.array([(types == name).sum() >= 5 for name in types])
    assert (types[near.argmax(axis=1)] == types)[common].mean() > 0.95


@pytest.mark.data
def test_no_brand_is_real(shared_data: Path) -> None:
    table = pq.read_table(shared_data / "myntra-catalog.parquet", columns=["brandName"])
    real = {name.casefold() for name in table["brandName"].unique().to_pylist() if name}
    ours = {name for domain in words().brands.values() for name, _ in domain}
    assert len(ours) >= 115
    assert not {name for name in ours if name.casefold() in real}


def test_sizes_and_rates_out_of_range_are_refused() -> None:
    for rows in (499, 10_000_001):
        with pytest.raises(CatalogError, match="500 to 10,000,000"):
            synthetic(rows)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        SyntheticConfig(missing=1.5)


@pytest.mark.slow
def test_memory_does_not_grow_with_rows(tmp_path: Path) -> None:
    before = pa.total_allocated_bytes()
    write_synthetic(300_000, 1, tmp_path / "s.parquet")
    assert pa.total_allocated_bytes() - before < 50_000_000
    assert pq.ParquetFile(tmp_path / "s.parquet").metadata.num_rows == 300_000
