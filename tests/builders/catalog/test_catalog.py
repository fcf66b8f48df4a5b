"""Reading catalogs: the real one, other shapes, malformed ones, and errors that name the cure."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from rich.console import Console

from fashion_rq_bench.builders.catalog import (
    CatalogConfig,
    CatalogReport,
    CatalogResult,
    TextConfig,
    check_images,
    product_text,
    read_catalog,
    write_catalog,
)
from fashion_rq_bench.errors import CatalogError, ConfigError
from fashion_rq_bench.schema import tables as schema
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.support import settings as _config

HEADER = "id,gender,masterCategory,subCategory,articleType,baseColour,productDisplayName"
ROW = "1,Men,Apparel,Topwear,Shirts,Blue,Turtle Men Blue Shirt"


def catalog_file(folder: Path, text: str, name: str = "products.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def read_text(folder: Path, text: str, **settings: Any) -> CatalogResult:
    return read_catalog(catalog_file(folder, text), CatalogConfig(**settings))


def assert_counts_add_up(result: CatalogResult) -> None:
    report = result.report
    assert report.read + report.quarantined == report.input
    assert report.read == len(result.table)
    assert report.quarantined == len(result.quarantined)
    assert sum(report.quarantine_reasons.values()) == report.quarantined
    assert report.repaired <= min(report.read, sum(report.repair_reasons.values()))
    assert result.table.schema == schema.catalog_schema()


# --- the real catalog -----------------------------------------------------------------------


@pytest.fixture(scope="session")
def kaggle(shared_data: Path) -> CatalogResult:
    return read_catalog(shared_data / "fashion-dataset")


@pytest.fixture(scope="session")
def myntra(shared_data: Path) -> CatalogResult:
    return read_catalog(shared_data / "myntra-catalog.parquet")


@pytest.mark.data
def test_kaggle_folder_golden_counts(kaggle: CatalogResult) -> None:
    report, table = kaggle.report, kaggle.table
    assert_counts_add_up(kaggle)
    assert (report.input, report.read, report.repaired, report.quarantined) == (44446, 44446, 22, 0)
    assert report.repair_reasons == {"over-long line rejoined into the title": 22}
    said_na = {name: report.null_strings.get(name) for name in ("base_color", "usage", "title")}
    assert said_na == {"base_color": 15, "usage": 316, "title": 7}
    assert report.empty["season"] == 21
    assert report.filled["title"] == 7
    assert report.missing == {"records": 44446 - 75, "images": 44446 - 1200}
    assert report.currency == "INR"
    distinct = {name: len(table[name].drop_null().unique()) for name in table.column_names[3:9]}
    assert distinct["article_type"] == 143
    assert distinct["sub_category"] == 45
    assert distinct["master_category"] == 7
    assert distinct["base_color"] == 46  # and "NA", which is none
    assert distinct["gender"] == 5


@pytest.mark.data
def test_kaggle_repaired_line_is_whole(kaggle: CatalogResult) -> None:
    ids = kaggle.table["product_id"].to_pylist()
    row = kaggle.table.slice(ids.index("44065"), 1).to_pylist()[0]
    assert ids.index("44065") + 2 == 6044  # the file's line, after the header
    assert row["title"] == "Boss Men Perfume, After Shave Balm and Shower Gel Set"
    assert (row["usage"], row["year"], row["season"]) == ("Casual", 2017, "Spring")


@pytest.mark.data
def test_kaggle_record_is_joined(kaggle: CatalogResult, shared_data: Path) -> None:
    row = next(r for r in kaggle.table.to_pylist() if r["product_id"] == "11000")
    assert row["brand"] == "Puma"
    assert row["price"] == 3995.0
    assert row["price_tier"] == "premium"
    assert row["age_group"] == "adult"
    assert row["fashion_type"] == "Fashion"
    assert row["style"] == ["analogue"]
    assert not row["brand_inferred"]
    assert "<" not in row["description"]
    assert "&nbsp" not in row["description"]
    assert row["description"].startswith("Stylish and comfortable, this motorsport inspired")
    there = shared_data / "fashion-dataset" / "images" / "11000.jpg"
    assert row["image"] == ("images/11000.jpg" if there.is_file() else None)


@pytest.mark.data
def test_a_missing_title_is_made_from_the_product(kaggle: CatalogResult) -> None:
    made = next(r for r in kaggle.table.to_pylist() if r["product_id"] == "30991")
    assert made["title"] == "Women Perfume and Body Mist"


@pytest.mark.data
def test_myntra_parquet_reads_without_a_map(myntra: CatalogResult) -> None:
    report, table = myntra.report, myntra.table
    assert_counts_add_up(myntra)
    assert (report.input, report.read, report.repaired) == (44446, 44446, 0)
    assert report.empty["price"] == 44446 - 11861
    assert report.columns["title"] == "productDisplayName"
    assert table["brand"].null_count < 200
    assert report.brand_inferred == pc.sum(table["brand_inferred"]).as_py() == 32500
    adults = pc.sum(pc.equal(table["age_group"], "adult")).as_py()
    assert adults > 38_000
    known = domain().by_name["age_group"].settings["values"]
    assert set(table["age_group"].drop_null().unique().to_pylist()) <= set(known)


@pytest.mark.data
def test_both_forms_of_the_real_catalog_agree(kaggle: CatalogResult, myntra: CatalogResult) -> None:
    for name in ("product_id", "article_type", "base_color", "gender", "season", "year", "usage"):
        assert kaggle.table[name].equals(myntra.table[name]), name


@pytest.mark.data
def test_images_of_the_real_catalog(kaggle: CatalogResult, shared_data: Path) -> None:
    some = kaggle.table.filter(kaggle.table["image"].is_valid()).slice(0, 40)
    assert check_images(some, shared_data / "fashion-dataset") == ([], [])


# --- other shapes ---------------------------------------------------------------------------

RECORDS = [
    {
        "sku": "A1",
        "name": "Blue & White Striped Shirt",
        "category": "Men > Shirts > Casual Shirts",
        "price": "€ 1.299,50",
        "details": "<p>Made of <b>linen</b>.</p>",
        "attributes": {"Pattern": "Stripes", "Fit": "Slim Fit", "Occasion": "NA"},
    },
    {
        "sku": "A2",
        "name": "Silk Saree",
        "category": "Women > Sarees",
        "price": 49,
        "details": None,
        "attributes": None,
    },
]
MAP = {"product_id": "sku", "title": "name", "description": "details"}


def test_json_lines_with_a_map(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(record) for record in RECORDS) + "\nnot json\n[1]\n"
    result = read_catalog(
        catalog_file(tmp_path, lines, "products.jsonl"), CatalogConfig(columns=MAP)
    )
    assert_counts_add_up(result)
    assert result.report.input == 4
    assert result.quarantined["row"].to_pylist() == [3, 4]
    first, second = result.table.to_pylist()
    assert first["title"] == "Blue & White Striped Shirt"
    assert first["description"] == "Made of linen."
    assert (first["master_category"], first["sub_category"]) == ("Men", "Shirts")
    assert first["article_type"] == "Casual Shirts"
    assert (first["price"], result.report.currency) == (1299.5, "EUR")
    assert (first["pattern"], first["style"], first["occasion"]) == (["striped"], ["slim fit"], [])
    assert first["material"] == ["linen"]
    assert second["price"] == 49.0
    assert second["material"] == ["silk"]
    assert (second["master_category"], second["sub_category"]) == ("Women", "Women")


def test_every_format_gives_the_same_catalog(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    plain = [{k: v for k, v in r.items() if k != "attributes"} | {"price": 9.5} for r in RECORDS]
    table = pa.Table.from_pylist(plain)
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.json").write_text(json.dumps(plain), encoding="utf-8")
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, plain)), encoding="utf-8")
    with (tmp_path / "a.tsv").open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, plain[0], delimiter="\t")
        writer.writeheader()
        writer.writerows(plain)
    dataset = datasets.Dataset.from_list(plain)
    dataset.save_to_disk(tmp_path / "saved")
    (tmp_path / "shards").mkdir()
    for index in range(2):
        pq.write_table(table.slice(index, 1), tmp_path / "shards" / f"{index}.parquet")
    config = CatalogConfig(columns=MAP)
    expected = read_catalog(tmp_path / "a.parquet", config).table
    assert len(expected) == 2
    for source in ("a.json", "a.jsonl", "a.tsv", "saved", "shards"):
        assert read_catalog(tmp_path / source, config).table.equals(expected), source
    assert read_catalog(dataset, config).table.equals(expected)


def test_the_map_wins_over_well_known_names_and_can_leave_one_out(tmp_path: Path) -> None:
    text = "id,title,name,brand,category\n1,wrong,right,Acme,Shirts\n"
    result = read_text(tmp_path, text, columns={"title": "name", "brand": ""}, infer_brand=False)
    row = result.table.to_pylist()[0]
    assert (row["title"], row["brand"], row["article_type"]) == ("right", None, "Shirts")
    assert row["master_category"] == row["sub_category"] == "Shirts"


def test_ids_are_made_where_no_column_gives_them(tmp_path: Path) -> None:
    result = read_text(tmp_path, "title,category\nA shirt,Shirts\nA saree,Sarees\n")
    assert result.table["product_id"].to_pylist() == ["row-1", "row-2"]
    assert any("ids" in note for note in result.report.notes)
    assert result.report.repaired == 0


def test_newlines_quotes_and_the_byte_order_mark(tmp_path: Path) -> None:
    text = (
        "\ufeffid;title;category\r\n"
        '1;"A ""fine""\nshirt; really";Shirts\r\n'
        '2;3.5" cuff shirt;Shirts\r\n'
    )
    result = read_text(tmp_path, text)
    assert result.table["title"].to_pylist() == ['A "fine" shirt; really', '3.5" cuff shirt']
    assert result.report.repaired == 0


def test_age_is_taken_from_the_title_before_the_gender(tmp_path: Path) -> None:
    rows = ["Men Shirt,Men", "Kids Shirt,Men", "Shirt,F", "Shirt,Unisex"]
    text = "title,gender,category\n" + "".join(f"{row},Shirts\n" for row in rows)
    result = read_text(tmp_path, text)
    assert result.table["age_group"].to_pylist() == ["adult", "kids", "adult", None]
    assert result.table["gender"].to_pylist()[2] == "Women"
    assert result.report.filled["age_group"] == 3
    assert read_text(tmp_path, text, infer_age=False).table["age_group"].null_count == 4


# --- every row accounted for ----------------------------------------------------------------


def test_rows_that_cannot_be_kept_say_why(tmp_path: Path) -> None:
    text = f"{HEADER}\n{ROW}\n2,Men\n1,Men,Apparel,Topwear,Shirts,Red,Again\n3,,,,,,NA\n"
    result = read_text(tmp_path, text, duplicate_ids="quarantine")
    assert_counts_add_up(result)
    assert result.report.read == 1
    rows = result.quarantined.to_pylist()
    assert [row["row"] for row in rows] == [2, 3, 4]
    assert "2 fields where 7" in rows[0]["reason"]
    assert rows[1]["reason"] == "id of an earlier row"
    assert rows[2]["reason"].startswith("no title")
    assert json.loads(rows[1]["raw"])["productDisplayName"] == "Again"


def test_repairs_are_counted_by_reason(tmp_path: Path) -> None:
    text = "id,title,category,price,year\n1,A,Shirts,Rs. 1 to 2,2012\n,B,Shirts,Rs. 5,soon\n"
    result = read_text(tmp_path, text)
    assert result.table["price"].to_pylist() == [None, 5.0]
    assert result.table["year"].to_pylist() == [2012, None]
    assert result.table["product_id"].to_pylist() == ["1", "row-2"]
    assert result.report.repaired == 2
    assert result.report.repair_reasons == {
        "price not understood, left empty": 1,
        "year not understood, left empty": 1,
        "id made from the row's position": 1,
    }


_LETTERS = st.characters(codec="ascii", categories=("L", "N"), include_characters=" ,.'/")
_NAMES = st.text(_LETTERS, max_size=20).map(lambda text: f"x{' '.join(text.split())}x")
_QUIET = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@_QUIET
@given(names=st.lists(_NAMES, min_size=1, max_size=8), place=st.integers(0, 3))
def test_unquoted_commas_in_the_title_are_put_back(
    tmp_path: Path, names: list[str], place: int
) -> None:
    others = ["id", "category", "colour"]
    header = [*others[:place], "title", *others[place:]]
    cells = [
        {"id": f"p{row}", "category": "Shirts", "colour": "Blue", "title": name}
        for row, name in enumerate(names)
    ]
    lines = [",".join(header)] + [",".join(cell[name] for name in header) for cell in cells]
    result = read_text(tmp_path, "\n".join(lines) + "\n")
    assert_counts_add_up(result)
    assert result.table["title"].to_pylist() == names
    assert result.table["product_id"].to_pylist() == [cell["id"] for cell in cells]
    assert result.report.repaired == sum("," in name for name in names)


def test_surplus_fields_go_where_the_other_columns_make_sense(tmp_path: Path) -> None:
    text = (
        "id;title;category;price;description\n"
        "1;Shirt;Shirts;5;Good\n"
        "2;Shirt; blue;Shirts;6;Fine\n"
        "3;Shirt;Shirts;7;Soft; warm &amp; light\n"
        "4;a;b;c;d;e\n"
    )
    result = read_text(tmp_path, text)
    assert result.table["title"].to_pylist() == ["Shirt", "Shirt; blue", "Shirt"]
    assert result.table["description"].to_pylist()[2] == "Soft; warm & light"
    assert result.report.repair_reasons == {
        "over-long line rejoined into the description": 1,
        "over-long line rejoined into the title": 1,
    }
    assert result.quarantined["row"].to_pylist() == [4]


_CELLS = st.sampled_from(["", "NA", "Blue", "a,b", '"', "<b>x</b>", "12", "Rs. 1,299", "\n", "é"])


@_QUIET
@given(rows=st.lists(st.lists(_CELLS, min_size=5, max_size=5), min_size=1, max_size=6))
def test_counts_always_add_up(tmp_path: Path, rows: list[list[str]]) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(["id", "title", "category", "price", "description"])
    writer.writerow(["keep", "A shirt", "Shirts", "1", ""])
    writer.writerows(rows)
    ids = [row[0] for row in rows if row[0] not in ("", "NA")]
    assume(len(ids) - len(set(ids)) <= 1)  # a column that repeats itself is refused as a whole
    result = read_text(tmp_path, stream.getvalue(), duplicate_ids="quarantine")
    assert_counts_add_up(result)
    # A row of only empty cells is still a row: csv writes it as commas.
    assert result.report.input == len(rows) + 1


def test_reading_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    path = catalog_file(tmp_path, f"{HEADER}\n{ROW}\n")
    for name in ("a", "b"):
        write_catalog(read_catalog(path), tmp_path / name)
    files = sorted(file.name for file in (tmp_path / "a").iterdir())
    assert files == ["catalog.parquet", "catalog_report.json", "quarantined.parquet"]
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    written = json.loads((tmp_path / "a" / "catalog_report.json").read_text(encoding="utf-8"))
    assert (written["input"], written["read"], written["quarantined"]) == (1, 1, 0)
    assert written["reasons"] == {"repaired": {}, "quarantined": {}}
    assert CatalogReport.from_dict(written) == read_catalog(path).report


def test_the_report_prints_a_catalogs_words_as_they_are(tmp_path: Path) -> None:
    text = "id,[bold]name,category\n1,Shirt,Shirts\n"
    report = read_text(tmp_path, text, columns={"title": "[bold]name"}).report
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(report.table())
    shown = console.export_text()
    assert "[bold]name" in shown
    assert "quarantined" in shown


# --- errors ---------------------------------------------------------------------------------


def kaggle_folder(folder: Path, ids: list[str]) -> Path:
    lines = [f"{row},Men,Apparel,Topwear,Shirts,Blue,Turtle Men Shirt" for row in ids]
    (folder / "styles").mkdir(parents=True)
    catalog_file(folder, "\n".join([HEADER, *lines]), "styles.csv")
    (folder / "images").mkdir()
    return folder


def test_a_broken_record_and_a_path_in_an_id_do_no_harm(tmp_path: Path) -> None:
    folder = kaggle_folder(tmp_path / "archive", ["1", "2", "../../secret"])
    (folder / "styles" / "1.json").write_text("{broken", encoding="utf-8")
    record = {"data": {"price": 10, "productDescriptors": {"style_note": {"value": "Note"}}}}
    (folder / "styles" / "2.json").write_text(json.dumps(record), encoding="utf-8")
    (tmp_path / "secret.json").write_text(json.dumps({"data": {"price": 99}}), encoding="utf-8")
    result = read_catalog(folder)
    assert result.table["price"].to_pylist() == [None, 10.0, None]
    assert result.table["description"].to_pylist() == [None, "Note", None]
    assert result.report.missing == {"records": 1, "images": 3}
    assert any("1 records are not valid JSON" in note for note in result.report.notes)


@pytest.mark.data
def test_corrupt_and_missing_images_are_told_apart(shared_data: Path, tmp_path: Path) -> None:
    photos = sorted((shared_data / "fashion-dataset" / "images").glob("*.jpg"))[:2]
    names = ["whole.jpg", "cut.jpg", "text.jpg"]
    shutil.copy(photos[0], tmp_path / names[0])
    (tmp_path / names[1]).write_bytes(photos[1].read_bytes()[:2000])
    (tmp_path / names[2]).write_text("no image", encoding="utf-8")
    paths = [*names, "absent.jpg", None, "../outside.jpg"]
    table = pa.table({"product_id": [str(i) for i in range(6)], "image": paths})
    missing, corrupt = check_images(table, tmp_path)
    assert missing == ["3", "4", "5"]
    assert corrupt == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("", {}, "The catalog file is empty"),
        (f"{HEADER}\n", {}, "no products"),
        (f"{HEADER}\n{ROW}\n", {"columns": {"title": "productdisplayname"}}, "productDisplayName"),
        (f"{HEADER}\n{ROW}\n", {"columns": {"titel": "id"}}, "Did you mean 'title'"),
        (f"{HEADER}\n{ROW}\n{ROW}\n", {}, "duplicate_ids=quarantine"),
        (f"{HEADER}\n{ROW}\n{ROW}\n{ROW}\n", {"duplicate_ids": "quarantine"}, "does not name"),
        ("id,title\n1,Shirt\n", {}, "No product has an article type"),
        ("id,title,articleType\n1,Shirt,NA\n", {}, "--map article_type"),
        ("id,category\n1,\n", {}, "No product has a title"),
        ("id,id,title\n1,1,Shirt\n", {}, "same name"),
        (f'{HEADER}\n{ROW}\n2,Men,A,B,C,D,"open\n3,x\n', {}, "line 3 is never closed"),
    ],
)
def test_bad_catalogs_are_refused(
    tmp_path: Path, text: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(CatalogError) as caught:
        read_text(tmp_path, text, **settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_undecodable_text_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes(f"{HEADER}\n{ROW}\n2,Men,A,B,Shirts,Blue,Caf\xe9 shirt\n".encode("latin-1"))
    with pytest.raises(CatalogError, match=r"Line 3 of latin\.csv is not utf-8"):
        read_catalog(path)
    table = read_catalog(path, CatalogConfig(encoding="latin-1")).table
    assert table["title"].to_pylist()[1] == "Café shirt"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere/products.csv", "no such catalog file"),
        ("products", "no such catalog file"),
        ("nobody/nothing-of-the-kind", "neither a file here nor a dataset"),
        ("nobody/nothing?colour=red", "no such option"),
        ("synthetic:10", "500 to 10,000,000"),
        ("synthetic:many", "synthetic:3000"),
    ],
)
def test_sources_that_do_not_exist(source: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        read_catalog(source)


def test_a_folder_or_file_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="holds no catalog"):
        read_catalog(tmp_path)
    with pytest.raises(CatalogError, match="cannot be read"):
        read_catalog(catalog_file(tmp_path, "x", "products.docx"))
    with pytest.raises(CatalogError, match="as Parquet"):
        read_catalog(catalog_file(tmp_path, "x", "products.parquet"))
    with pytest.raises(CatalogError, match="list of objects"):
        read_catalog(catalog_file(tmp_path, "{}", "products.json"))


def test_configuration_is_checked_and_survives_a_round_trip() -> None:
    config = CatalogConfig(columns={"title": "name"}, price_tiers=(10, 20))
    assert _config.from_mapping(CatalogConfig, _config.to_mapping(config)) == config
    for wrong in (
        {"price_tiers": (5, 5)},
        {"price_quantiles": (0.5, 1.0)},
        {"price_tiers": (1, 2), "price_quantiles": (0.1, 0.2)},
        {"duplicate_ids": "ignore"},
        {"seed": -1},
        {"encoding": "klingon"},
    ):
        with pytest.raises(ConfigError):
            CatalogConfig(**wrong)  # type: ignore[arg-type]


# --- the text models read -------------------------------------------------------------------


def test_product_text_states_what_is_there_and_no_price(tmp_path: Path) -> None:
    text = (
        "id,title,category,colour,gender,price,description\n"
        "1,Acme Shirt,Shirts,Blue,Men,Rs. 777,<p>Soft linen.</p>\n"
        "2,Bare,Shirts,,,,\n"
    )
    table = read_text(tmp_path, text, infer_brand=False).table
    assert product_text(table).to_pylist() == [
        "Acme Shirt. Shirts, Blue, Men, adult, linen. Soft linen.",
        "Bare. Shirts",
    ]
    only = TextConfig(facts=("base_color",), description=False)
    assert product_text(table, only).to_pylist() == ["Acme Shirt. Blue", "Bare"]
    assert product_text(table, TextConfig(facts=(), description=False)).to_pylist()[1] == "Bare"
    assert product_text(table.slice(1, 1)).to_pylist() == ["Bare. Shirts"]
    with pytest.raises(ConfigError, match="price"):
        TextConfig(facts=("price",))
