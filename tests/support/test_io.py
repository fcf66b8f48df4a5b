"""Files that are whole or absent, and strict JSON."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from fashion_rq_bench.support.files import (
    atomic_path,
    digest,
    read_json,
    read_parquet,
    to_json,
    write_json,
    write_parquet,
)


def test_equal_tables_give_equal_bytes(tmp_path):
    table = pa.table({"a": [1, None, 3], "b": ["x", "y", None]})
    write_parquet(table, tmp_path / "one.parquet")
    write_parquet(pa.concat_tables([table[:1], table[1:]]), tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert read_parquet(tmp_path / "one.parquet").equals(table)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "f.txt"
    path.write_text("old", encoding="utf-8")

    def fail() -> None:
        with atomic_path(path) as temporary:
            temporary.write_text("new", encoding="utf-8")
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text(encoding="utf-8") == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["f.txt"]


def test_json_is_strict_and_sorted(tmp_path):
    value = {"b": math.nan, "a": np.float64(0.5), "c": [np.int64(3), math.inf, "é"]}
    assert to_json(value, indent=None) == '{"a": 0.5, "b": null, "c": [3, null, "é"]}'
    write_json(value, tmp_path / "v.json")
    assert read_json(tmp_path / "v.json") == {"a": 0.5, "b": None, "c": [3, None, "é"]}


def test_digest_separates_its_parts():
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("ab") == digest(b"ab")
