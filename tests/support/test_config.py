"""Configuration from mappings: unknown keys, wrong types, settings on the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.support.settings import (
    from_mapping,
    merge,
    parse_settings,
    read_toml,
    to_mapping,
)


@dataclass(frozen=True)
class Inner:
    epochs: int = 3
    rate: float = 0.5
    path: Literal["a", "b"] = "a"


@dataclass(frozen=True)
class Outer:
    name: str = "x"
    seed: int | None = None
    widths: tuple[int, ...] = (1, 2)
    pair: tuple[float, float] | None = None
    columns: dict[str, str] = field(default_factory=dict)
    inner: Inner = field(default_factory=Inner)


def test_nested_values_and_conversions():
    made = from_mapping(
        Outer, {"inner": {"epochs": 5, "rate": 2}, "widths": [4], "columns": {"title": "name"}}
    )
    assert made == Outer(inner=Inner(5, 2.0), widths=(4,), columns={"title": "name"})
    assert isinstance(made.inner.rate, float)


def test_round_trip():
    made = Outer(seed=3, widths=(9,), inner=Inner(path="b"))
    assert from_mapping(Outer, to_mapping(made)) == made


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"inner": {"epoch": 5}}, "epochs"),
        ({"nam": "y"}, "name"),
        ({"inner": {"epochs": "five"}}, "inner.epochs"),
        ({"inner": {"epochs": True}}, "inner.epochs"),
        ({"inner": {"path": "c"}}, "inner.path"),
        ({"inner": 3}, "inner"),
        ({"widths": 3}, "widths"),
        ({"seed": "x"}, "seed"),
        ({"pair": [1, 2, 3]}, "pair must be a list of 2"),
    ],
)
def test_refusals_name_the_setting(values, expected):
    with pytest.raises(ConfigError, match=expected):
        from_mapping(Outer, values)


def test_settings_are_toml_values_or_text():
    assert parse_settings(["a.b=5", "a.c=[1, 2]", "d=plain text"]) == {
        "a": {"b": 5, "c": [1, 2]},
        "d": "plain text",
    }
    with pytest.raises(ConfigError, match=r"SECTION\.KEY=VALUE"):
        parse_settings(["rqvae.epochs"])


def test_merge_goes_into_tables_and_lets_the_later_win():
    assert merge({"a": {"x": 1, "y": 2}, "b": 1}, {"a": {"y": 3}, "b": {"z": 1}}) == {
        "a": {"x": 1, "y": 3},
        "b": {"z": 1},
    }


@given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=4))
def test_merging_nothing_changes_nothing(values):
    assert merge(values, {}) == values
    assert merge({}, values) == values


def test_broken_toml_names_the_place(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("a = \n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 1"):
        read_toml(path)
    with pytest.raises(ConfigError, match="does not exist"):
        read_toml(tmp_path / "y.toml")
