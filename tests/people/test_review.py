"""The human check: sampling, the page (also in a browser), and reading the ratings back."""

from __future__ import annotations

import io
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.cli import fails, run
from rich.console import Console
from scipy import stats

from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.people.hand_review import (
    SCALES,
    Review,
    ReviewConfig,
    ReviewedQuery,
    read_reviews,
    sample_review,
)
from fashion_rq_bench.people.review_page import review_page, write_review_page
from fashion_rq_bench.people.review_table import review_tables

EVIL = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)> {{REVIEW}}"


@pytest.fixture(scope="module")
def mini() -> Edition:
    return Edition.open("mini")


def saved(path: Path, review: Review, rater: str, answers: list[dict[str, Any]]) -> Path:
    content = {
        "format": "fashion-rq-review/1",
        "review": review.review_id,
        "edition": review.edition_id,
        "rater": rater,
        "answers": answers,
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def printed(parts: list[Any]) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    for part in parts:
        console.print(part)
    return console.export_text()


# ---------------------------------------------------------------- sampling


def test_a_sample_shows_items_of_each_querys_cluster(mini: Edition) -> None:
    review = sample_review(mini, ReviewConfig(queries=30, items=5))
    assert review == sample_review(mini, ReviewConfig(queries=30, items=5))
    assert review != sample_review(mini, ReviewConfig(queries=30, items=5, seed=1))
    queries = {row["query_id"]: row for row in mini.table("queries").to_pylist()}
    codes = dict(
        zip(*mini.table("corpus", ["product_id", "semantic_id"]).to_pydict().values(), strict=True)
    )
    used = set(mini.table("ranking", ["query_id"])["query_id"].to_pylist())
    for one in review.queries:
        prefix = queries[one.query_id]["prefix"]
        members = [name for name, code in codes.items() if code[: len(prefix)] == prefix]
        shown = [item["product_id"] for item in one.items]
        assert one.query == queries[one.query_id]["query"]
        assert one.query_id in used
        assert one.size == len(members)
        assert set(shown) <= set(members)
        assert len(set(shown)) == len(shown) == min(5, len(members))
    prefixes = [tuple(queries[one.query_id]["prefix"]) for one in review.queries]
    assert len(set(prefixes)) == 30  # a cluster twice only when all have had their turn


def test_sources_are_drawn_evenly_and_small_ones_whole(mini: Edition, tmp_path: Path) -> None:
    table = mini.table("queries")
    names = ["llm" if n % 100 == 0 else "grammar" for n in range(len(table))]
    changed = table.set_column(table.column_names.index("source"), "source", pa.array(names))
    drawn = sample_review(Changed(mini, changed), ReviewConfig(queries=40, every_cluster=True))
    ids = {one.query_id for one in drawn.queries}
    chosen = changed.to_pylist()
    counts = Counter(row["source"] for row in chosen if row["query_id"] in ids)
    assert counts == {"llm": 20, "grammar": 20}
    every = ReviewConfig(queries=10**6, every_cluster=True, items=1)
    assert len(sample_review(Changed(mini, table.slice(0, 40)), every).queries) == 40


class Changed(Edition):
    """An edition with another table of queries."""

    def __init__(self, edition: Edition, queries: pa.Table) -> None:
        super().__init__(edition.path, {**edition.manifest, "changed": queries})

    def table(self, config: str, columns: Any = None) -> pa.Table:
        if config != "queries":
            return super().table(config, columns)
        found = self.manifest["changed"]
        return found if columns is None else found.select(columns)


def test_bad_settings(mini: Edition) -> None:
    for wrong in ({"queries": 0}, {"items": 0}, {"seed": -1}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            ReviewConfig(**wrong)
    with pytest.raises(InputError, match="no queries"):
        sample_review(Changed(mini, mini.table("queries").slice(0, 0)))


# ---------------------------------------------------------------- reading back


def test_means_and_intervals_by_hand(mini: Edition, tmp_path: Path) -> None:
    """Two reviewers, three queries: a query's mean over reviewers is one observation."""
    review = sample_review(mini, ReviewConfig(queries=3))
    one, two, three = (query.query_id for query in review.queries)
    ann = [{"id": q, "natural": n, "clear": 5, "fits": "4"} for q, n in ((one, 5), (two, 3))]
    bob = [{"id": q, "natural": n, "clear": 5} for q, n in ((one, 4), (two, 2), (three, 1))]
    paths = [saved(tmp_path / "a", review, "ann", ann), saved(tmp_path / "b", review, "bob", bob)]
    found = read_reviews(paths, mini)
    natural = next(m for m in found.means if m.scale == "natural")
    values = [4.5, 2.5, 1.0]
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert (natural.source, natural.queries) == ("grammar", 3)
    assert natural.mean == pytest.approx(np.mean(values))
    assert (natural.low, natural.high) == pytest.approx((low, high))
    clear = next(m for m in found.means if m.scale == "clear")
    assert (clear.mean, clear.low, clear.high) == (5, 5, 5)
    assert found.raters == ("ann", "bob")
    assert found.missing == 3  # Bob's fits
    lowest = found.lowest[0]
    assert (lowest[0], lowest[2]) == (three, pytest.approx(3.0))
    assert [one[2] for one in found.lowest] == sorted(one[2] for one in found.lowest)


def test_sources_stand_apart_and_together(mini: Edition, tmp_path: Path) -> None:
    table = mini.table("queries")
    review = sample_review(mini, ReviewConfig(queries=4))
    ids = [one.query_id for one in review.queries]
    names = ["llm" if q in ids[:2] else "grammar" for q in table["query_id"].to_pylist()]
    place = table.column_names.index("source")
    edition = Changed(mini, table.set_column(place, "source", pa.array(names)))
    answers = [{"id": q, "natural": n} for q, n in zip(ids, (1, 2, 4, 5), strict=True)]
    found = read_reviews([saved(tmp_path / "a", review, "ann", answers)], edition)
    means = {m.source: m.mean for m in found.means if m.scale == "natural"}
    assert means == {"grammar": 4.5, "llm": 1.5, "all": 3.0}
    fits = next(m for m in found.means if m.scale == "fits")
    assert (fits.queries, np.isnan(fits.mean), np.isnan(fits.low)) == (0, True, True)


def test_what_is_no_rating_is_reported(mini: Edition, tmp_path: Path) -> None:
    review = sample_review(mini, ReviewConfig(queries=2))
    one, two = (query.query_id for query in review.queries)
    answers: list[Any] = [
        {"id": one, "natural": "four", "clear": 6, "fits": 3.5, "comment": " odd \n\x1b[2J [red] "},
        {"id": two, "natural": True, "clear": None},
        {"id": "q-nowhere", "natural": 1},
        "nonsense",
    ]
    found = read_reviews([saved(tmp_path / "a.json", review, "", answers)], mini)
    assert [bad.answer for bad in found.unparseable] == ["four", "6", "3.5", "True"]
    assert (found.missing, found.unknown, found.raters) == (2, 2, ("a",))
    assert found.means == ()
    shown = printed(review_tables(found))
    assert "four" in shown
    assert "[red]" in shown  # a comment is text, not markup
    assert "\x1b" not in shown
    assert "4 unparseable, 2 missing, 2 unknown" in shown


def test_foreign_files_are_refused(mini: Edition, tmp_path: Path) -> None:
    review = sample_review(mini, ReviewConfig(queries=1))
    good = saved(tmp_path / "good.json", review, "ann", [])
    with pytest.raises(InputError, match="one reviewer"):
        read_reviews([good, good], mini)
    other = Review(review.review_id, "another", review.queries)
    with pytest.raises(InputError, match="another edition"):
        read_reviews([saved(tmp_path / "other.json", other, "bob", [])], mini)
    for name, text in (("text", "no json"), ("list", "[]"), ("kind", '{"format": "x"}')):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"cannot be read|no saved review"):
            read_reviews([tmp_path / name], mini)
    with pytest.raises(InputError, match="cannot be read"):
        read_reviews([tmp_path / "absent"], mini)


def test_the_commands(tmp_path: Path) -> None:
    made = run("review", "page", "-n", "2", "--out", str(tmp_path / "p.html"), "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["queries"] == 2
    assert (tmp_path / "p.html").exists()
    fails(run("review", "read", str(tmp_path / "p.html")), 3, "cannot be read")


# ---------------------------------------------------------------- the page


def evil_review() -> Review:
    item = {"product_id": "1", "title": EVIL, "price": 1234.0, "brand": None}
    plain = {**dict.fromkeys(("article_type", "base_color", "gender", "usage"), "Red"), **item}
    queries = tuple(ReviewedQuery(f"q1.{n}", f"query {n} {EVIL}", 9, (plain,)) for n in range(3))
    return Review("abc", "edition", queries)


def test_the_page_is_self_contained_and_blind(mini: Edition) -> None:
    page = review_page(sample_review(mini, ReviewConfig(queries=20)))
    for outside in ("http://", "https://", "src=", "@import", "url("):
        assert outside not in page
    assert "default-src 'none'" in page
    assert "grammar" not in page


def test_catalog_text_cannot_become_markup() -> None:
    page = review_page(evil_review())
    assert page.count("<script") == 2
    assert "<img" not in page
    data = json.loads(page.split('id="review">')[1].split("</script>")[0])
    assert data["queries"][0]["items"][0][0] == EVIL
    assert data["queries"][0]["items"][0][-1] == "1,234"


@pytest.mark.slow
def test_the_page_in_a_browser(browser: Any, tmp_path: Path) -> None:
    """A hostile title is shown as text; answers survive a reload and come back as saved."""
    review = evil_review()
    write_review_page(review, tmp_path / "page.html")
    browser.get((tmp_path / "page.html").as_uri())
    browser.find_element("id", "begin").click()
    assert not browser.find_element("id", "rate").is_displayed()  # no name, no start
    browser.find_element("id", "rater").send_keys("Ann <b>")
    browser.find_element("id", "begin").click()
    assert browser.find_element("id", "query").text == f"query 0 {EVIL}"
    assert browser.find_element("css selector", "#items td").text == EVIL
    assert browser.title == "Check shopping queries"
    assert browser.find_elements("css selector", "#items img, #items script") == []
    for scale, value in zip(SCALES, (4, 5, 2), strict=True):
        browser.find_element("css selector", f"input[name={scale}][value='{value}']").click()
    browser.find_element("id", "comment").send_keys("odd <b>")
    browser.refresh()
    checked = browser.find_elements("css selector", "input:checked")
    assert [box.get_attribute("value") for box in checked] == ["4", "5", "2"]
    assert browser.find_element("id", "comment").get_attribute("value") == "odd <b>"
    browser.find_element("id", "next").click()
    browser.find_element("css selector", "input[name=natural][value='1']").click()
    browser.find_element("id", "finish").click()
    assert "1 of 3 queries" in browser.find_element("id", "rated").text
    browser.find_element("id", "export").click()
    content = json.loads(_download(tmp_path / "downloads").read_text(encoding="utf-8"))
    assert content == json.loads(browser.find_element("id", "text").get_attribute("value"))
    assert (content["review"], content["edition"], content["rater"]) == (
        "abc",
        "edition",
        "Ann <b>",
    )
    assert content["answers"] == [
        {"id": "q1.0", "natural": 4, "clear": 5, "fits": 2, "comment": "odd <b>"},
        {"id": "q1.1", "natural": 1},
        {"id": "q1.2"},
    ]
    browser.find_element("id", "again").click()
    assert browser.find_element("id", "query").text.startswith("query 1")
    assert browser.get_log("browser") == []  # no error, nothing refused by the policy


def _download(folder: Path) -> Path:
    for _ in range(100):
        if found := list(folder.glob("*.json")):
            return found[0]
        time.sleep(0.1)
    raise AssertionError("nothing was saved")
