"""Values of a catalog: prices, HTML, attributes, brands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fashion_rq_bench.builders.catalog import CatalogConfig, parse_price
from fashion_rq_bench.builders.catalog.values.attributes import attribute_lists, parse_attributes
from fashion_rq_bench.builders.catalog.values.brands import infer_brands
from fashion_rq_bench.builders.catalog.values.cleaning import (
    clean,
    join_present,
    plain_text,
    to_strings,
)
from fashion_rq_bench.builders.catalog.values.derive import age_groups
from fashion_rq_bench.builders.catalog.values.price import price_tiers, prices, tier_thresholds
from fashion_rq_bench.words.vocabulary import fold


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("Rs. 1,299", 1299.0, "INR"),
        ("Rs 1299/-", 1299.0, "INR"),
        ("₹1299", 1299.0, "INR"),
        ("₹ 1,29,999", 129999.0, "INR"),
        ("1299.00 INR", 1299.0, "INR"),
        ("MRP: Rs. 2,499.50", 2499.5, "INR"),
        ("1.299,00 €", 1299.0, "EUR"),
        ("1.299 €", 1299.0, "EUR"),
        ("1 299,90 EUR", 1299.9, "EUR"),
        ("1\u202f299,90\u00a0€", 1299.9, "EUR"),
        ("CHF 1'299.95", 1299.95, "CHF"),
        ("$12.50", 12.5, "USD"),
        ("US$12.50", 12.5, "USD"),
        ("£1,299.99", 1299.99, "GBP"),
        ("R$ 99,90", 99.9, "BRL"),
        ("AED 120", 120.0, "AED"),
        ("1,299", 1299.0, None),
        ("12,5", 12.5, None),
        ("1.299", 1.299, None),
        ("1.299.000", 1299000.0, None),
        ("1,299.000", 1299.0, None),
        ("799", 799.0, None),
        ("0", 0.0, None),
        ("Rs. 999 - Rs. 1299", None, None),
        ("-5", None, None),
        ("free", None, None),
        ("12 pieces", None, None),
        ("1,29", 1.29, None),
        ("12,34,56", None, None),
        ("1,2,3", None, None),
        ("", None, None),
        ("50%", None, None),
    ],
)
def test_prices_as_people_write_them(text: str, amount: float | None, currency: str | None) -> None:
    assert parse_price(text) == (amount, currency)


@given(st.integers(0, 10**9), st.sampled_from(["Rs. {}", "{} INR", "₹{}", "INR {}"]))
def test_grouped_integers_survive(amount: int, pattern: str) -> None:
    assert parse_price(pattern.format(f"{amount:,}")) == (float(amount), "INR")


@given(st.text(max_size=30))
def test_any_text_is_a_price_or_none(text: str) -> None:
    amount, currency = parse_price(text)
    assert amount is None or amount >= 0
    assert amount is not None or currency is None


def test_the_commonest_currency_rules_and_others_are_bad() -> None:
    found = prices(pa.array(["Rs. 10", "₹20", "$5", None, "7", "soon"]), None)
    assert found.currency == "INR"
    assert found.values.to_pylist() == [10.0, 20.0, None, None, 7.0, None]
    assert found.bad.tolist() == [False, False, True, False, False, True]


def test_numbers_that_are_no_price_are_bad() -> None:
    found = prices(pa.array([1.5, -1.0, float("inf"), None]), "USD")
    assert found.values.to_pylist() == [1.5, None, None, None]
    assert found.bad.tolist() == [False, True, True, False]
    assert found.currency == "USD"


def test_tiers_by_the_papers_thresholds() -> None:
    values = pa.array([699.99, 700.0, 2000.0, 2000.01, None])
    limits = tier_thresholds(values, None, CatalogConfig())
    assert limits == (700.0, 2000.0)
    assert price_tiers(values, limits).to_pylist() == [
        "budget", "mid-range", "mid-range", "premium", None,
    ]  # fmt: skip


def test_tiers_of_other_currencies_come_from_the_prices() -> None:
    values = pa.array([float(value) for value in range(1, 100)])
    low, high = tier_thresholds(values, "EUR", CatalogConfig()) or (0, 0)
    assert (round(low), round(high)) == (34, 66)
    assert tier_thresholds(values, "EUR", CatalogConfig(price_tiers=(20, 80))) == (20, 80)
    quantiles = CatalogConfig(price_quantiles=(0.1, 0.9))
    assert [round(v) for v in tier_thresholds(values, "INR", quantiles) or ()] == [11, 89]
    assert tier_thresholds(pa.nulls(3, pa.float64()), "EUR", CatalogConfig()) is None
    assert price_tiers(pa.nulls(2, pa.float64()), None).to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("markup", "plain"),
    [
        ("<p>Blue&nbsp;shirt</p><p>100% cotton</p>", "Blue shirt. 100% cotton"),
        ("One<br />two.<br/>Three", "One. two. Three"),
        ("<ul><li>A pocket</li><li>A hem</li></ul>", "A pocket. A hem"),
        ("R&amp;B and Q&Q, 3 < 4", "R&B and Q&Q, 3 < 4"),
        ("it&rsquo s &amp;amp; it&amp;rsquo;s", "it’ s & it’s"),
        ("o&amp;  rsquo  clock", "o’ clock"),
        ("<script>alert('x')</script>safe", "safe"),
        ("<style>p {}</style><!-- note -->safe", "safe"),
        ("plain", "plain"),
        ("", ""),
        ("<b>&lt;b&gt;bold&lt;/b&gt;</b>", "bold"),
    ],
)
def test_plain_text(markup: str, plain: str) -> None:
    assert plain_text(markup) == plain


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "hostile", ["<" * 50_000, "<!--" * 20_000, "<script>" * 10_000, "&" * 50_000]
)
def test_hostile_markup_costs_linear_time(hostile: str) -> None:
    assert isinstance(plain_text(hostile), str)


def test_cleaning_tells_empty_from_said_to_be_none() -> None:
    found = clean(pa.array([" a ", "NA", "", None, "  ", "NAVY"]), ("NA",))
    assert found.values.to_pylist() == ["a", None, None, None, None, "NAVY"]
    assert (found.empty, found.named_null) == (3, 1)


@pytest.mark.parametrize(
    ("column", "strings"),
    [
        (pa.array([15970, None]), ["15970", None]),
        (pa.array([15970.0, None, float("nan")]), ["15970", None, None]),
        (pa.array([1.5]), ["1.5"]),
        (pa.array(["x"]).dictionary_encode(), ["x"]),
        (pa.array([["a", "b"], None]), ["a, b", None]),
        (pa.array([{"k": "v"}]), ['{"k": "v"}']),
        (pa.array([{"bytes": b"x", "path": "i.jpg"}]), ["i.jpg"]),
        (pa.array([True]), ["true"]),
    ],
)
def test_columns_of_any_type_become_strings(column: pa.Array, strings: list[str | None]) -> None:
    assert to_strings(column).to_pylist() == strings


_CELL = st.one_of(st.none(), st.text("ab", min_size=1, max_size=3))


@given(st.lists(st.tuples(_CELL, _CELL, _CELL), min_size=1, max_size=6))
def test_join_present(rows: list[tuple[str | None, ...]]) -> None:
    columns = [pa.array(list(values), pa.string()) for values in zip(*rows, strict=True)]
    expected = [", ".join(v for v in row if v is not None) or None for row in rows]
    assert join_present(columns, ", ").to_pylist() == expected


def test_attributes_of_myntra() -> None:
    text = (
        '{"Fabric": "Polyester-Cotton Blend", "Fabric 2": "NA", "Pattern": "Checked", '
        '"Print or Pattern Type": "Tartan Checks", "Occasion": "Casual", "Fit": "Slim Fit", '
        '"Neck": "Mandarin Collar", "Sleeve Length": "Three-Quarter Sleeves", "Length": "Regular", '
        '"Wash Care": "Machine Wash", "Collar": "Wibble Collar"}'
    )
    assert parse_attributes(text) == {
        "pattern": ["checked", "tartan"],
        "material": ["cotton blend"],
        "occasion": ["casual"],
        "style": ["slim fit", "mandarin collar", "three quarter sleeves", "wibble collar"],
    }


@pytest.mark.parametrize("text", [None, "", "nonsense", "[1, 2]", '"x"', '{"Fabric": 3}'])
def test_attributes_that_are_none(text: str | None) -> None:
    assert not any(parse_attributes(text).values())


def test_attributes_first_then_the_vocabulary() -> None:
    lists = attribute_lists(
        {
            "attributes": pa.array(['{"Fabric": "Silk"}', None, None]),
            "usage": pa.array(["Smart Casual", "Casual", None]),
        },
        pa.array(["Printed shirt", "Silk Street Checked Shirt", "Plain scarf"]),
        pa.array(["Made of cotton", "Denim. Pair it with a leather belt.", None]),
        pa.array([None, "Silk Street", None]),
    )
    assert lists["occasion"].to_pylist() == [["smart casual"], ["casual"], []]
    assert lists["material"].to_pylist() == [["silk"], ["denim"], []]
    assert lists["pattern"].to_pylist() == [["printed"], ["checked"], ["solid"]]


def test_columns_of_their_own_come_before_attributes() -> None:
    lists = attribute_lists(
        {
            "attributes": pa.array(['{"Fabric": "Silk"}'] * 2),
            "material": pa.array(["100% Cotton, Elastane", None]),
        },
        pa.array(["Shirt", "Shirt"]),
        pa.nulls(2, pa.string()),
        pa.nulls(2, pa.string()),
    )
    assert lists["material"].to_pylist() == [["cotton", "elastane"], ["silk"]]


def brands_of(titles: list[str], stated: list[str | None]) -> list[str | None]:
    return infer_brands(pa.array(titles), pa.array(stated, pa.string())).to_pylist()


def test_a_stated_brand_is_found_in_other_titles() -> None:
    titles = ["Gini & Jony Girls Top", "x", "y", "GINI AND JONY Boys Cap", "Ginis Cap", "A Gini"]
    stated = [None, "Gini and Jony", "Gini and Jony", None, None, None]
    assert brands_of(titles, stated) == ["Gini and Jony", None, None, "Gini and Jony", None, None]


def test_the_longest_brand_wins_and_one_mention_is_not_enough() -> None:
    titles = ["Lee Cooper Men Shirt", "Lee Men Jeans", "Once Men Hat", "a", "b", "c", "d", "e"]
    stated = [None, None, None, "Lee", "Lee", "Lee Cooper", "Lee Cooper", "Once"]
    assert brands_of(titles, stated)[:3] == ["Lee Cooper", "Lee", None]


def test_brands_are_read_off_titles_where_none_is_stated() -> None:
    titles = ["Turtle Men Shirt"] * 12 + ["Turtle Check Men Shirt"] * 3 + ["Rare Men Shirt"]
    found = brands_of(titles, [None] * len(titles))
    assert found[:15] == ["Turtle"] * 15
    assert found[15] is None


def test_products_of_one_line_keep_the_brands_name() -> None:
    titles = ["CASIO Enticer Men Watch"] * 4
    assert brands_of([*titles, "x", "y"], [None] * 4 + ["CASIO", "CASIO"])[:4] == ["CASIO"] * 4


@pytest.mark.data
def test_inferred_brands_of_the_real_catalog_are_right(shared_data: Path) -> None:
    table = pq.read_table(
        shared_data / "myntra-catalog.parquet", columns=["productDisplayName", "brandName"]
    )
    title, brand = (table[name].combine_chunks().cast(pa.string()) for name in table.column_names)
    hidden = np.random.default_rng(0).random(len(table)) < 0.5
    stated = brand.is_valid().to_numpy(zero_copy_only=False)
    found = infer_brands(title, pc.if_else(pa.array(hidden), None, brand)).to_pylist()
    pairs = [(found[i], brand[i].as_py()) for i in np.flatnonzero(hidden & stated) if found[i]]
    right = [fold(guess).replace(" ", "") == fold(true).replace(" ", "") for guess, true in pairs]
    assert len(pairs) > 0.97 * (hidden & stated).sum()
    assert np.mean(right) > 0.98


@pytest.mark.data
def test_derived_ages_of_the_real_catalog_are_right(shared_data: Path) -> None:
    table = pq.read_table(
        shared_data / "myntra-catalog.parquet",
        columns=["productDisplayName", "gender", "ageGroup"],
    )
    title, gender, age = (table[n].combine_chunks().cast(pa.string()) for n in table.column_names)
    blank = pa.nulls(len(table), pa.string())
    true = np.array(age_groups(age, blank, blank, "age_group").to_pylist())
    guess = np.array(age_groups(blank, title, gender, "age_group").to_pylist())
    both = np.array([a is not None and b is not None for a, b in zip(true, guess, strict=True)])
    assert both.sum() > 11_000
    assert ((true == "adult") == (guess == "adult"))[both].mean() > 0.997
