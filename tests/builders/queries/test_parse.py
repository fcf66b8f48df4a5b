"""Answers of language models: every complete query is kept, nothing is made up."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fashion_rq_bench.builders.queries.llm.answers import parse_answer

BOTH = ("blue shirts for men", "red running shoes")


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ('{"user_queries": ["blue shirts for men", "red running shoes"]}', "json"),
        ('{"response": {"user_queries": ["blue shirts for men", "red running shoes"]}}', "json"),
        ('["blue shirts for men", "red running shoes"]', "json"),
        ('{"ideas": ["blue shirts for men", "red running shoes"], "insights": "x"}', "json"),
        ('{"queries": [{"query": "blue shirts for men"}, {"text": "red running shoes"}]}', "json"),
        ('{"user_queries": {"1": "blue shirts for men", "2": "red running shoes"}}', "json"),
        ('{"user_queries": "blue shirts for men\\nred running shoes"}', "json"),
        (
            '{"user_queries": ["blue shirts for men"], "user_queries": ["red running shoes"]}',
            "json",
        ),
        ('```json\n{"user_queries": ["blue shirts for men", "red running shoes"]}\n```', "json"),
        (
            'Sure!\n```\n{"user_queries": ["blue shirts for men", "red running shoes"]}\n```\nOK?',
            "repaired",
        ),
        ("{'user_queries': ['blue shirts for men', 'red running shoes']}", "repaired"),
        ('{user_queries: ["blue shirts for men", "red running shoes",]}', "repaired"),
        (
            '{"user_queries": [ // two\n"blue shirts for men", # here\n"red running shoes" /**/]}',
            "repaired",
        ),
        (
            '{"user_queries": ["blue shirts for men"], "user_queries": ["red running shoes"',
            "repaired",
        ),
        (
            '{"insights": "x", "user_queries": ["blue shirts for men", "red running shoes"',
            "repaired",
        ),
        ('{"user_queries": ["blue shirts for men", "red running shoes"], "valid', "repaired"),
        ("1. blue shirts for men\n2) red running shoes\n", "text"),
        ("Here you are:\n- blue shirts for men\n* red running shoes", "text"),
        ("Try “blue shirts for men” or “red running shoes”.", "text"),
    ],
)
def test_complete_queries_are_kept(text: str, reading: str) -> None:
    answer = parse_answer(text)
    assert answer.queries == BOTH
    assert answer.reading == reading


@pytest.mark.parametrize(
    "text",
    [
        '{"user_queries": ["blue shirts for men", "red running shoes", "gree',
        '{"user_queries": ["blue shirts for men", "red running shoes", "green bags for lad',
        "{'user_queries': ['blue shirts for men', 'red running shoes', 'women",
        "1. blue shirts for men\n2. red running shoes\n3. green ba",
    ],
)
def test_what_is_cut_off_is_lost_and_recorded(text: str) -> None:
    answer = parse_answer(text, cut=True)
    assert answer.queries == BOTH
    assert len(answer.lost) == 1
    assert answer.lost[0].startswith("cut off: ")


def test_apostrophes_in_single_quotes() -> None:
    text = "{'insights': 'men's things', 'user_queries': ['men's shoes', 'shoes for girls']}"
    assert parse_answer(text).queries == ("men's shoes", "shoes for girls")


def test_nothing_found() -> None:
    assert parse_answer("").lost == ("empty answer",)
    assert parse_answer("I cannot help with that.").lost == (
        "no query found: I cannot help with that.",
    )
    assert parse_answer('{"insights": "x"}').queries == ()


def test_what_is_no_text_or_too_long_is_recorded() -> None:
    answer = parse_answer(json.dumps({"user_queries": [1, None, "red shoes", "x " * 300]}))
    assert answer.queries == ("red shoes",)
    assert [loss.split(":")[0] for loss in answer.lost] == ["not a text", "not a text", "too long"]


def test_a_ready_answer_inside_a_string_is_no_answer() -> None:
    inner = json.dumps({"user_queries": ["buy this now"]})
    whole = json.dumps({"insights": inner, "user_queries": list(BOTH)})
    assert parse_answer(whole).queries == BOTH
    assert parse_answer(whole[:-3], cut=True).queries == BOTH[:1]


@pytest.mark.parametrize(
    "written",
    ['{"Shoes": "red running shoes"}', '[{"product_type": "Shoes", "query": "red running shoes"}]'],
)
def test_the_coverage_map(written: str) -> None:
    text = f'{{"user_queries": ["red running shoes"], "coverage_map": {written}}}'
    assert parse_answer(text).coverage == {"Shoes": "red running shoes"}
    assert parse_answer(f"Well: {text}").coverage == {"Shoes": "red running shoes"}
    assert parse_answer(f"Well: {text}").queries == ("red running shoes",)
    assert parse_answer(text[:-4], cut=True).queries == ("red running shoes",)


def test_an_enormous_answer_ends_somewhere() -> None:
    many = ", ".join(f'"shoes of kind {number}"' for number in range(20_000))
    answer = parse_answer(f'{{"user_queries": [{many}]}}')
    assert len(answer.queries) > 5_000
    assert answer.lost[0].startswith("beyond the longest answer")


WORDS = st.lists(
    st.sampled_from(["black", "men's", "shoes", "for", "café", '"slim"', "under", "500,", "&"]),
    min_size=2,
    max_size=8,
).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=8, unique=True), st.floats(0, 1))
def test_any_cut_keeps_what_was_closed(queries: list[str], share: float) -> None:
    """Cut a good answer anywhere: the queries closed by then, and no others, are found."""
    tidy = [" ".join(query.split()).strip("\"', ") for query in queries]
    text = json.dumps({"insights": "said so", "user_queries": queries}, ensure_ascii=False)
    place = int(share * (len(text) - 1))
    ends, at = [], text.index("[")
    for query in queries:
        written = json.dumps(query, ensure_ascii=False)
        at = text.index(written, at) + len(written)
        ends.append(at)
    closed = dict.fromkeys(q for q, end in zip(tidy, ends, strict=True) if end <= place)
    assert parse_answer(text[:place], cut=True).queries == tuple(closed)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_no_text_fails(text: str) -> None:
    parse_answer(text)
    parse_answer('{"user_queries": [' + text, cut=True)
