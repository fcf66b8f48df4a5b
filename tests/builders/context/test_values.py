"""Products x values: which products hold what."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fashion_rq_bench.builders.context.incidence import Incidence, column_axis, incidence

LETTERS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=4), min_size=1, max_size=12)


def table(rows: list[list[str]]) -> Incidence:
    catalog = pa.table({"style": pa.array(rows, pa.list_(pa.string()))})
    return incidence([column_axis(catalog, "style")], len(rows))


@given(LETTERS, st.data())
def test_held_is_what_the_products_hold(rows: list[list[str]], data: st.DataObject) -> None:
    values = table(rows)
    picked = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, unique=True))
    held = values.held(np.array(picked))
    names = [values.names[column][1] for column in held.columns]
    assert set(names) == {letter for number in picked for letter in rows[number]}
    for place, number in enumerate(picked):
        assert {n for n, h in zip(names, held.matrix[place], strict=True) if h} == set(rows[number])
    every = range(values.matrix.shape[1])
    assert (held.any_of(every) == [bool(rows[number]) for number in picked]).all()
    assert not held.any_of([]).any()


def test_given_columns_only() -> None:
    values = table([["a", "c"], ["b"], []])
    held = values.held(np.array([2, 0, 1]), np.array([0, 2]))
    assert held.matrix.tolist() == [[False, False], [True, True], [False, False]]
    assert held.any_of([1, 2]).tolist() == [False, True, False]  # column 1 was not looked at
    columns, block = held.within(slice(1, 3))
    assert columns.tolist() == [2]
    assert block.tolist() == [[False], [True], [False]]
