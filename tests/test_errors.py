"""The error tree: what a message says, and that codes are distinct and documented."""

from __future__ import annotations

import pytest

from fashion_rq_bench import cli, errors
from fashion_rq_bench.support.optional import require


def test_a_message_says_given_allowed_nearest_and_next():
    text = str(
        errors.ConfigError(
            "There is no such stage.", given="Hierachy", allowed=["context", "hierarchy"], fix="Go."
        )
    )
    assert text == (
        "There is no such stage. Given: 'Hierachy'. Allowed: context, hierarchy. "
        "Did you mean 'hierarchy'? Go."
    )


def test_long_lists_are_cut():
    text = str(errors.InputError("No.", given="x", allowed=range(30)))
    assert "11, …" in text
    assert "12" not in text


def test_every_exit_code_is_documented():
    codes = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.FashionRQError)
    }
    for code in codes:
        assert f"{code} " in (cli.__doc__ or "")


def test_a_missing_extra_names_its_command():
    with pytest.raises(
        errors.MissingDependencyError, match=r'pip install "fashion-rq-bench\[build\]"'
    ):
        require("no_such_module_at_all.x", "build")
