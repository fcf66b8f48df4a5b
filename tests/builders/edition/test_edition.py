"""Writing, reading, identifying and describing an edition."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlcroissant
import numpy as np
import pyarrow as pa
import pytest
import yaml
from helpers.tiny import CONFIG, DIM, PROVENANCE, REPORTS, tiny_tables, with_column, write_tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from fashion_rq_bench.builders.edition import write as writer
from fashion_rq_bench.builders.edition.card import escape
from fashion_rq_bench.editions.contents import content_id, table_digest
from fashion_rq_bench.editions.edition import ENVIRONMENT, Edition, locate
from fashion_rq_bench.errors import BuildError, ConfigError, EditionError
from fashion_rq_bench.schema.tables import CONFIGS, schema_of
from fashion_rq_bench.support.files import read_json, write_json

TINY_ID = "4ceb385de6ac2f8f"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    out = tmp_path_factory.mktemp("tiny")
    write_tiny(out)
    return Edition.open(out)


def files(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


# --- what is written --------------------------------------------------------------------------


def test_an_edition_is_parquet_a_card_and_four_json_files(tiny: Edition) -> None:
    data = {f"{config}/test-00000-of-00001.parquet" for config in CONFIGS}
    others = {"README.md", "edition.json", "report.json", "catalog_report.json", "croissant.json"}
    assert set(files(tiny.path)) == data | others


def test_what_is_read_is_what_was_written(tiny: Edition) -> None:
    for config, table in tiny_tables().items():
        assert tiny.table(config).equals(table), config
        assert tiny.num_rows(config) == table.num_rows
    assert (tiny.name, tiny.id, tiny.encoder) == ("tiny", TINY_ID, PROVENANCE["encoder"])
    assert tiny.report == {key: REPORTS[key] for key in ("hierarchy", "tasks")}
    assert tiny.catalog_report == REPORTS["catalog"]
    assert tiny.manifest["config"] == CONFIG
    tiny.verify()


def test_an_edition_is_shown_by_its_path_and_can_be_a_key(tiny: Edition) -> None:
    assert repr(tiny) == f"Edition(path={tiny.path!r})"
    assert {tiny: 1}[Edition.open(tiny.path)] == 1


def test_two_writes_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_tiny(tmp_path / name)
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_large_tables_are_sharded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_SHARD_BYTES", 4_000)
    assert write_tiny(tmp_path) == TINY_ID
    edition = Edition.open(tmp_path)
    assert len(edition.manifest["configs"]["corpus"]["files"]) > 1
    assert edition.table("corpus").equals(tiny_tables()["corpus"])
    edition.verify()
    records = mlcroissant.Dataset(jsonld=str(tmp_path / "croissant.json")).records("corpus")
    assert sum(1 for _ in records) == edition.num_rows("corpus")


# --- the id -----------------------------------------------------------------------------------


def test_the_id_is_fixed_for_ever() -> None:
    """A change of this value breaks every published comparison: raise the form's number then."""
    assert content_id(tiny_tables(), {"encoder": PROVENANCE["encoder"], "relevance": None}) == (
        TINY_ID
    )


def changed(config: str, column: str, change: Callable[[Any], Any], row: int = 0) -> dict[str, Any]:
    tables = tiny_tables()
    values = tables[config][column].to_pylist()
    values[row] = change(values[row])
    return tables | {config: with_column(tables[config], column, values)}


@pytest.mark.parametrize(
    ("config", "column", "change"),
    [
        ("queries", "query", lambda text: text + "s"),
        ("corpus", "price", lambda price: np.nextafter(price, 1e9)),
        ("corpus", "pattern", lambda _: None),  # null is not the empty list
        ("corpus", "brand_inferred", lambda value: not value),
        ("corpus", "semantic_id", lambda codes: [*codes[::-1], 1]),
        ("classification", "label", lambda label: label - 1),
        ("clusters", "purity", lambda purity: purity - 1e-3),
        ("strings", "string", lambda text: text.upper()),
        ("ranking", "candidates", lambda pool: pool[::-1]),
        ("paraphrase", "prefix", lambda prefix: [*prefix[:-1], 9]),
    ],
)
def test_the_id_depends_on_every_row(config: str, column: str, change: Callable[..., Any]) -> None:
    tables = changed(config, column, change)
    assert table_digest(tables[config], config) != table_digest(tiny_tables()[config], config)


def test_the_id_depends_on_the_encoder(tmp_path: Path) -> None:
    other = PROVENANCE | {"encoder": {"name": "random", "revision": "seed-1", "dim": DIM}}
    assert write_tiny(tmp_path, provenance=other) != TINY_ID


@pytest.mark.parametrize(
    ("config", "column", "change"),
    [
        ("strings", "vector", lambda vector: [np.float16(0.5)] * len(vector)),
        ("ranking", "candidates", lambda pool: [item | {"match": 0.123} for item in pool]),
        ("classification", "match", lambda _: float("nan")),
        ("clusters", "purity", lambda purity: np.nextafter(purity, 0)),
    ],
)
def test_the_id_does_not_depend_on_last_bits(
    config: str, column: str, change: Callable[..., Any]
) -> None:
    tables = changed(config, column, change)
    assert not tables[config].equals(tiny_tables()[config])
    assert table_digest(tables[config], config) == table_digest(tiny_tables()[config], config)


def test_the_id_does_not_depend_on_name_or_configuration(tmp_path: Path) -> None:
    assert write_tiny(tmp_path, name="other", config={"seed": 7}, reports={}) == TINY_ID


values = st.one_of(st.none(), st.floats(allow_nan=True), st.just(-0.0))
rows = st.fixed_dictionaries(
    {
        "a": values,
        "b": st.one_of(st.none(), st.text(max_size=3)),
        "c": st.one_of(st.none(), st.lists(st.one_of(st.none(), st.text(max_size=2)), max_size=3)),
        "d": st.one_of(
            st.none(), st.fixed_dictionaries({"x": st.booleans(), "y": st.integers(0, 9)})
        ),
    }
)
ROW_TYPE = pa.schema(
    [
        ("a", pa.float64()),
        ("b", pa.string()),
        ("c", pa.list_(pa.string())),
        ("d", pa.struct([("x", pa.bool_()), ("y", pa.int8())])),
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(rows, max_size=8), st.integers(0, 8))
def test_the_digest_does_not_depend_on_chunks_or_slices(data: list[Any], cut: int) -> None:
    table = pa.Table.from_pylist(data, schema=ROW_TYPE)
    padded = pa.Table.from_pylist([*data[:1], *data, *data[:1]], schema=ROW_TYPE)
    pieces = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    inner = padded.slice(len(data[:1]), len(data))
    assert table_digest(pieces, "x") == table_digest(table, "x") == table_digest(inner, "x")


@settings(max_examples=60, deadline=None)
@given(st.lists(rows, min_size=1, max_size=4), st.lists(rows, min_size=1, max_size=4))
def test_different_rows_have_different_digests(one: list[Any], two: list[Any]) -> None:
    tables = [pa.Table.from_pylist(data, schema=ROW_TYPE) for data in (one, two)]
    as_json = [json.dumps(table.to_pylist()).replace("-0.0", "0.0") for table in tables]
    digests = [table_digest(table, "x") for table in tables]
    assert (digests[0] == digests[1]) == (as_json[0] == as_json[1])


# --- faulty tables ----------------------------------------------------------------------------


def drop(config: str) -> Callable[[dict[str, pa.Table]], dict[str, pa.Table]]:
    return lambda tables: {name: table for name, table in tables.items() if name != config}


def put(config: str, column: str, change: Callable[[Any], Any]) -> Callable[..., dict[str, Any]]:
    return lambda _: changed(config, column, change)


FAULTS = {
    "config 'sibling' is absent": drop("sibling"),
    "config 'extra' is unknown": lambda tables: tables | {"extra": tables["corpus"]},
    "paraphrase has no rows": lambda tables: tables | {"paraphrase": tables["paraphrase"][:0]},
    "corpus has the columns": lambda tables: (
        tables | {"corpus": tables["corpus"].drop_columns("year")}
    ),
    "classification.label is int32, not int64": lambda tables: (
        tables
        | {
            "classification": tables["classification"].set_column(
                3, "label", tables["classification"]["label"].cast(pa.int32())
            )
        }
    ),
    "corpus.text is null 1 times": put("corpus", "text", lambda _: None),
    "corpus.material[] is null 1 times": put("corpus", "material", lambda _: ["wool", None]),
    "ranking.candidates[].grade is null 15 times": put(
        "ranking", "candidates", lambda pool: [item | {"grade": None} for item in pool]
    ),
    "queries.query is an empty string 1 times": put("queries", "query", lambda _: ""),
    "sibling.candidates is an empty list 1 times": put("sibling", "candidates", lambda _: []),
    "corpus has 1 rows whose product_id occurred before": put(
        "corpus", "product_id", lambda _: "p0001"
    ),
    "1 ids name a query and a product, such as 'q0-0-0-0'": put(
        "corpus", "product_id", lambda _: "q0-0-0-0"
    ),
    "classification.product_id names 1 ids absent from corpus, such as 'p9'": put(
        "classification", "product_id", lambda _: "p9"
    ),
    "paraphrase.queries.query_id names 2 ids absent from queries, such as 'q9'": put(
        "paraphrase", "queries", lambda pair: [item | {"query_id": "q9"} for item in pair]
    ),
    "ranking has 1 products that stand twice in a pool": put(
        "ranking", "candidates", lambda pool: [*pool, pool[0]]
    ),
    "ranking has 1 pools without an Exact product": put(
        "ranking", "candidates", lambda pool: [item for item in pool if item["grade"] < 3]
    ),
    "ranking has 15 grades outside 0 to 3": put(
        "ranking", "candidates", lambda pool: [item | {"grade": 4} for item in pool]
    ),
    "ranking has 15 matches outside [0, 1]": put(
        "ranking", "candidates", lambda pool: [item | {"match": 1.5} for item in pool]
    ),
    "sibling has 1 pools without exactly one target": put(
        "sibling", "candidates", lambda pool: [item | {"target": True} for item in pool]
    ),
    "classification has 1 labels outside 0 to 3": put("classification", "label", lambda _: 7),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_table_is_refused_and_nothing_is_written(fault: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(BuildError, match=re.escape(fault)):
        write_tiny(out, FAULTS[fault](tiny_tables()))
    assert not out.exists()


def test_faults_are_counted_over_chunks(tmp_path: Path) -> None:
    tables = changed("corpus", "text", lambda _: None)
    twice = with_column(tables["corpus"], "text", [None, *tables["corpus"]["text"].to_pylist()[1:]])
    pieces = pa.concat_tables([twice.slice(0, 7), twice.slice(0, 7), twice.slice(7)])
    with pytest.raises(BuildError, match=r"corpus\.text is null 2 times"):
        write_tiny(tmp_path, tables | {"corpus": pieces})


def test_provenance_must_name_source_licence_and_encoder(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=re.escape("catalog.license")):
        write_tiny(tmp_path, provenance=PROVENANCE | {"catalog": {"source": "somewhere"}})
    assert not files(tmp_path)


# --- replacing --------------------------------------------------------------------------------


def smaller() -> dict[str, pa.Table]:
    tables = tiny_tables()
    keep = tables["classification"].slice(0, 100)
    return tables | {"classification": keep}


def test_a_rewrite_replaces_the_edition_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(writer, "_SHARD_BYTES", 4_000)
        write_tiny(tmp_path)
    mine = {".work/stage/a.txt": b"1", "notes.md": b"2", "ranking/mine.txt": b"3"}
    for name, data in mine.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    write_tiny(tmp_path, smaller())
    Edition.open(tmp_path).verify()
    write_tiny(tmp_path / "fresh", smaller())
    fresh = files(tmp_path / "fresh")
    kept = {name: data for name, data in files(tmp_path).items() if not name.startswith("fresh")}
    assert kept == fresh | mine


def test_a_file_that_no_edition_wrote_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    with pytest.raises(EditionError, match=r"no edition wrote.*README\.md"):
        write_tiny(tmp_path)
    assert files(tmp_path) == {"README.md": b"mine"}


def test_a_failed_write_leaves_the_edition_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tiny(tmp_path)
    before = files(tmp_path)

    def broken(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer, "render_card", broken)
    with pytest.raises(EditionError, match="No space left on device"):
        write_tiny(tmp_path, smaller())
    assert files(tmp_path) == before


def test_a_write_interrupted_while_replacing_leaves_no_edition_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tiny(tmp_path)
    real, calls = Path.replace, []

    def killed(path: Path, target: Path) -> Path:
        calls.append(target)
        if "sibling" in str(target) and ".edition-new" not in str(target):
            raise KeyboardInterrupt
        return real(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            write_tiny(tmp_path, smaller())
    with pytest.raises(EditionError, match="no finished edition"):
        Edition.open(tmp_path)
    write_tiny(tmp_path, smaller())
    Edition.open(tmp_path).verify()
    write_tiny(tmp_path / "fresh", smaller())
    assert {n for n in files(tmp_path) if not n.startswith("fresh")} == set(
        files(tmp_path / "fresh")
    )


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(EditionError, match="cannot be written"):
        write_tiny(tmp_path / "file")


# --- opening ----------------------------------------------------------------------------------


def copy(edition: Edition, to: Path) -> Path:
    for name, data in files(edition.path).items():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        (to / name).write_bytes(data)
    return to


def with_manifest(folder: Path, **changes: Any) -> Path:
    write_json(read_json(folder / "edition.json") | changes, folder / "edition.json")
    return folder


def test_an_unknown_name_is_an_error_with_the_nearest() -> None:
    with pytest.raises(EditionError, match="Did you mean 'mini'"):
        Edition.open("minni")


def test_a_folder_without_manifest_is_no_edition(tmp_path: Path) -> None:
    with pytest.raises(EditionError, match="no finished edition"):
        Edition.open(tmp_path)


def test_another_schema_version_is_refused(tiny: Edition, tmp_path: Path) -> None:
    folder = with_manifest(copy(tiny, tmp_path), schema_version="0")
    with pytest.raises(EditionError, match="another schema version"):
        Edition.open(folder)


def test_a_missing_file_is_named(tiny: Edition, tmp_path: Path) -> None:
    (copy(tiny, tmp_path) / "README.md").unlink()
    with pytest.raises(EditionError, match=r"README\.md"):
        Edition.open(tmp_path)


def test_a_manifest_that_points_outside_its_folder_is_refused(
    tiny: Edition, tmp_path: Path
) -> None:
    folder = copy(tiny, tmp_path / "in")
    (tmp_path / "secret").write_text("", encoding="utf-8")
    with_manifest(folder, files={"../secret": {"bytes": 0, "sha256": ""}})
    with pytest.raises(EditionError, match="not the manifest"):
        Edition.open(folder)


def test_verify_finds_a_changed_file(tiny: Edition, tmp_path: Path) -> None:
    card = copy(tiny, tmp_path) / "README.md"
    card.write_text(card.read_text(encoding="utf-8").replace("48", "49"), encoding="utf-8")
    with pytest.raises(EditionError, match=r"README\.md .* not as it was written"):
        Edition.open(tmp_path).verify()


def test_verify_finds_a_wrong_id(tiny: Edition, tmp_path: Path) -> None:
    with pytest.raises(EditionError, match="do not give its id"):
        Edition.open(with_manifest(copy(tiny, tmp_path), id="0" * 16)).verify()


def test_a_damaged_parquet_file_is_an_error(tiny: Edition, tmp_path: Path) -> None:
    (copy(tiny, tmp_path) / "ranking" / "test-00000-of-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(EditionError, match="'ranking'"):
        Edition.open(tmp_path).table("ranking")


def test_columns_are_read_in_the_order_asked(tiny: Edition) -> None:
    table = tiny.table("corpus", ["text", "product_id"])
    assert table.equals(tiny_tables()["corpus"].select(["text", "product_id"]))


@pytest.mark.parametrize(
    ("config", "columns", "nearest"),
    [("rankings", None, "'ranking'"), ("corpus", ["product"], "'product_id'")],
)
def test_an_unknown_config_or_column_is_an_error(
    tiny: Edition, config: str, columns: list[str] | None, nearest: str
) -> None:
    with pytest.raises(ConfigError, match=nearest):
        tiny.table(config, columns)


def test_names(tiny: Edition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    mini = locate("mini")
    assert locate("fashion-rq-bench") == mini
    monkeypatch.setenv(ENVIRONMENT, str(tiny.path))
    assert locate("fashion-rq-bench") == locate("tiny") == tiny.path
    assert locate("mini") == mini
    (tmp_path / "mini").mkdir()
    assert locate("mini") == Path("mini")


# --- the card and Croissant -------------------------------------------------------------------

NASTY = 'Tee | <script>alert(1)</script> [x](http://evil) `a` **b** $c$ \n# head &amp; "q"'


def test_escape_leaves_no_markup() -> None:
    shown = escape(NASTY)
    assert "\n" not in shown
    assert "<" not in shown
    for mark in "|[]()`*#$:":
        assert not re.search(rf"(?<!\\){re.escape(mark)}", shown), mark
    assert escape("a" * 500) == "a" * 159 + "…"


def test_the_card_shows_catalog_text_as_text(tmp_path: Path) -> None:
    tables = changed("corpus", "text", lambda _: NASTY)
    provenance = PROVENANCE | {"catalog": {"source": NASTY, "license": "mit"}, "note": NASTY}
    write_tiny(tmp_path, tables, name="tiny\n<b>: |x", provenance=provenance)
    _, front, body = (tmp_path / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert yaml.safe_load(front)["pretty_name"] == "FASHION-RQBENCH tiny\n<b>: |x"
    assert not re.search(r"<(script|b)", body)
    assert "](http" not in body
    tables_of_card = [line for line in body.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables_of_card} <= {3, 4, 5}


def test_a_grammars_card_names_no_language_model() -> None:
    card = (Edition.open("mini").path / "README.md").read_text(encoding="utf-8")
    assert "queries.generator" in card
    assert "llm." not in card


def test_the_card_declares_every_config(tiny: Edition) -> None:
    front = (tiny.path / "README.md").read_text(encoding="utf-8").split("---\n")[1]
    card = yaml.safe_load(front)
    assert card["license"] == "apache-2.0"
    assert [entry["config_name"] for entry in card["configs"]] == list(CONFIGS)
    assert [entry["config_name"] for entry in card["configs"] if entry.get("default")] == [
        "ranking"
    ]
    for info in card["dataset_info"]:
        (split,) = info["splits"]
        assert split["num_examples"] == tiny.num_rows(info["config_name"])
        assert tiny.id in info["description"]


def test_the_card_tells_counts_shares_and_quality(tiny: Edition) -> None:
    body = (tiny.path / "README.md").read_text(encoding="utf-8").split("---\n", 2)[2]
    assert "| products | 48 |" in body
    assert "3 at level 1, 6 at level 2, 12 at level 3" in body
    assert "exact 25.0%" in body
    assert "| ranking.ndcg\\@10 | 0.61 | 0.93 |" in body
    assert "| exact | 72 | 1 | 0 |" in body
    assert not re.search(r"\$\w", body)


def test_croissant_is_valid_and_reads_every_config(tiny: Edition) -> None:
    dataset = mlcroissant.Dataset(jsonld=str(tiny.path / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    for config in CONFIGS:
        assert sum(1 for _ in dataset.records(config)) == tiny.num_rows(config), config
    first = next(iter(dataset.records("queries")))
    assert first["queries/query"] == b"blue shirts for men"


# --- datasets ---------------------------------------------------------------------------------


@pytest.mark.parametrize("config", CONFIGS)
def test_datasets_loads_every_config_from_the_folder(
    tiny: Edition, config: str, tmp_path: Path
) -> None:
    from datasets import ClassLabel, load_dataset

    loaded = load_dataset(str(tiny.path), config, split="test", cache_dir=str(tmp_path))
    assert loaded.with_format("arrow")[:].cast(schema_of(config, DIM)).equals(tiny.table(config))
    if config == "classification":
        assert loaded.features["label"] == ClassLabel(
            names=["irrelevant", "related", "sibling", "exact"]
        )


def test_datasets_streams_slices_and_defaults(tiny: Edition, tmp_path: Path) -> None:
    from datasets import get_dataset_config_names, load_dataset

    path, cache = str(tiny.path), str(tmp_path)
    assert get_dataset_config_names(path) == list(CONFIGS)
    assert load_dataset(path, cache_dir=cache)["test"].num_rows == tiny.num_rows("ranking")
    assert len(load_dataset(path, "corpus", split="test[10:20]", cache_dir=cache)) == 10
    streamed = list(load_dataset(path, "corpus", split="test", streaming=True, cache_dir=cache))
    assert [row["product_id"] for row in streamed] == tiny.table("corpus")["product_id"].to_pylist()


def test_datasets_does_not_serve_the_rows_of_a_replaced_edition(tmp_path: Path) -> None:
    """Rows, bytes and id are equal: only the hash of the files tells the two apart."""
    from datasets import load_dataset

    def load() -> tuple[int, list[float]]:
        size = (tmp_path / "e" / "strings" / "test-00000-of-00001.parquet").stat().st_size
        cache = str(tmp_path / "cache")
        rows = load_dataset(str(tmp_path / "e"), "strings", split="test", cache_dir=cache)
        return size, rows[0]["vector"]

    write_tiny(tmp_path / "e")
    size, vector = load()
    moved = [float(np.float16(value + np.float16(0.25))) for value in vector]
    write_tiny(tmp_path / "e", changed("strings", "vector", lambda _: np.float16(moved)))
    assert load() == (size, moved)
