"""The user study: sampling, statistics against independent libraries, power, and the page."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.paths import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.measures.statistics import holm
from fashion_rq_bench.people.rating_page import rating_page, write_rating_page
from fashion_rq_bench.people.study_report import plot_study, study_table
from fashion_rq_bench.people.user_study import (
    SCALES,
    Ratings,
    Study,
    StudyConfig,
    analyse,
    cronbach_alpha,
    read_queries,
    read_ratings,
    read_study,
    sample_study,
    write_study,
)

POOLS = {
    "RQBENCH": [f"black shirts for men {n}" for n in range(40)],
    "CHAT": [f"pls show me smth nice {n}" for n in range(50)],
    "LLM": [f"Could you recommend elegant gowns {n}?" for n in range(50)],
}


def ratings_of(values: np.ndarray, **more: Any) -> Ratings:
    names = tuple(f"r{n}" for n in range(values.shape[1]))
    both = dict.fromkeys(SCALES, values)
    return Ratings(names, both, more.get("unparseable", ()), more.get("missing", 0), 0)


def export(study: Study, path: Path, rater: str, answers: list[dict[str, Any]]) -> Path:
    content = {
        "format": "fashion-rq-ratings/1",
        "study": study.study_id,
        "rater": rater,
        "ratings": answers,
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


# ---------------------------------------------------------------- sampling


def test_sample_is_balanced_interleaved_and_the_same_every_time() -> None:
    study = sample_study(POOLS)
    assert study == sample_study(POOLS)
    assert {name: study.sources.count(name) for name in POOLS} == dict.fromkeys(POOLS, 20)
    runs = 1 + sum(a != b for a, b in pairwise(study.sources))
    assert runs > 25  # three blocks would have 3
    assert len(set(study.ids)) == len(set(study.queries)) == 60
    assert study != sample_study(POOLS, StudyConfig(order_seed=1))


def test_a_sources_draw_does_not_depend_on_the_others() -> None:
    def drawn(pools: dict[str, list[str]]) -> set[str]:
        study = sample_study(pools)
        return {q for q, s in zip(study.queries, study.sources, strict=True) if s == "CHAT"}

    assert drawn(POOLS) == drawn({"CHAT": POOLS["CHAT"]})


def test_hidden_ids_and_order_do_not_tell_the_source() -> None:
    study = sample_study(POOLS)
    numbers = [int(hidden[1:]) for hidden in study.ids]
    by_source = [
        [n for n, s in zip(numbers, study.sources, strict=True) if s == name] for name in POOLS
    ]
    assert stats.kruskal(*by_source).pvalue > 0.01


def test_bad_pools_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too few distinct"):
        sample_study({"A": ["x", "X ", " x"]}, StudyConfig(per_source=2))
    with pytest.raises(InputError, match="from two sources"):
        sample_study({"A": ["red dress"], "B": ["Red  Dress"]}, StudyConfig(per_source=1))
    with pytest.raises(InputError, match="at least one source"):
        sample_study({})
    with pytest.raises(ConfigError):
        StudyConfig(per_source=0)
    with pytest.raises(InputError, match="cannot be read"):
        read_queries(tmp_path / "none.txt")


def test_files_come_back(tmp_path: Path) -> None:
    (tmp_path / "pool.txt").write_text("a\n\n b \n", encoding="utf-8")
    assert read_queries(tmp_path / "pool.txt") == ["a", "b"]
    study = sample_study(POOLS)
    write_study(study, tmp_path / "key.json")
    assert read_study(tmp_path / "key.json") == study
    whole = json.loads((tmp_path / "key.json").read_text(encoding="utf-8"))
    for wrong in ({"ids": None}, {"sources": ["A"]}, {"ids": ["q1"] * 60}):
        (tmp_path / "key.json").write_text(json.dumps(whole | wrong), encoding="utf-8")
        with pytest.raises(InputError, match="no whole key"):
            read_study(tmp_path / "key.json")


def test_an_edition_is_a_pool_of_queries() -> None:
    queries = read_queries(ROOT / "fashion_rq_bench" / "data" / "mini")
    assert len(sample_study({"RQBENCH": queries}).ids) == 20


def test_answers_are_read_and_what_is_wrong_is_counted(tmp_path: Path) -> None:
    study = sample_study({"A": ["x", "y"], "B": ["z", "w"]}, StudyConfig(per_source=2))
    one, two, three, _ = study.ids
    good = [{"id": hidden, "naturalness": 4, "intent_clarity": "5"} for hidden in study.ids]
    bad = [
        {"id": one, "naturalness": "four", "intent_clarity": 6},
        {"id": two, "naturalness": 3.5, "intent_clarity": True},
        {"id": three, "naturalness": 1},
        {"id": "q99999x", "naturalness": 1},
    ]
    paths = [export(study, tmp_path / "a.json", "ann", good)]
    paths.append(export(study, tmp_path / "b.json", "bob", bad))
    found = read_ratings(paths, study)
    assert found.raters == ("ann", "bob")
    assert found.values["intent_clarity"][:, 0].tolist() == [5, 5, 5, 5]
    assert [answer[3] for answer in found.unparseable] == ["four", "6", "3.5", "True"]
    assert (found.missing, found.unknown) == (3, 1)
    assert np.isnan(found.values["naturalness"][:, 1]).tolist() == [True, True, False, True]
    export(study, tmp_path / "c.json", "ann", good)
    with pytest.raises(InputError, match="one rater"):
        read_ratings([*paths, tmp_path / "c.json"], study)
    other = sample_study({"A": ["x", "v"], "B": ["z", "w"]}, StudyConfig(per_source=2))
    with pytest.raises(InputError, match="another study"):
        read_ratings(paths, other)
    for answers, message in (([good[0], good[0]], "twice"), (["x"], "no list"), (None, "no list")):
        export(study, tmp_path / "d.json", "dan", answers)  # type: ignore[arg-type]
        with pytest.raises(InputError, match=message):
            read_ratings([tmp_path / "d.json"], study)
    write_study(study, tmp_path / "key.json")
    with pytest.raises(InputError, match="another kind"):
        read_ratings([tmp_path / "key.json"], study)


# ---------------------------------------------------------------- statistics


def test_alpha_by_hand() -> None:
    """Columns of variance 1 and 1, sums 2, 4, 5: 2/1 · (1 − 2 / (7/3)) = 2/7."""
    alpha = cronbach_alpha([[1, 1], [2, 2], [3, 2]])
    assert alpha == pytest.approx(2 * (1 - (1 + 1 / 3) / (7 / 3)))
    assert (alpha.n_complete, alpha.n_dropped) == (3, 0)
    assert cronbach_alpha([[1, 1], [2, 2], [3, 3]]) == pytest.approx(1.0)


def test_alpha_drops_incomplete_rows_and_says_so() -> None:
    full = [[1, 2, 1], [2, 3, 3], [5, 4, 5], [3, 3, 4]]
    alpha = cronbach_alpha([*full, [np.nan, 5, 5], [1, np.nan, 2]])
    assert alpha == cronbach_alpha(full)
    assert (alpha.n_complete, alpha.n_dropped) == (4, 2)
    for undefined in ([[1], [2]], [[1, 2]], [[3, 3], [3, 3]], [[np.nan, 1], [2, 2]]):
        assert np.isnan(cronbach_alpha(undefined))
    with pytest.raises(InputError, match="matrix"):
        cronbach_alpha([1, 2, 3])


def test_alpha_agrees_with_pingouin() -> None:
    pingouin = pytest.importorskip("pingouin", reason="pingouin is a peer for comparison only")
    pandas = pytest.importorskip("pandas")
    values = np.random.default_rng(0).integers(1, 6, (60, 32)) + np.arange(60)[:, None] / 20
    theirs, _ = pingouin.cronbach_alpha(data=pandas.DataFrame(values))
    assert cronbach_alpha(values) == pytest.approx(theirs, abs=1e-12)


@given(st.lists(st.lists(st.integers(1, 5), min_size=4, max_size=4), min_size=3, max_size=20))
@settings(max_examples=50, deadline=None)
def test_alpha_is_the_ratio_of_covariances(rows: list[list[int]]) -> None:
    """Equal to k/(k−1) · (sum of covariances of distinct raters) / (variance of the sum)."""
    covariance = np.cov(np.array(rows).T)
    total = covariance.sum()
    alpha = cronbach_alpha(rows)
    if total < 1e-9:
        assert np.isnan(alpha)
    else:
        assert alpha == pytest.approx(4 / 3 * (total - np.trace(covariance)) / total, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
@settings(max_examples=50, deadline=None)
def test_holm_agrees_with_statsmodels(p_values: list[float]) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    theirs = multitest.multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(theirs, abs=1e-12)


def test_holm_leaves_nan_out() -> None:
    assert holm([0.04, np.nan, 0.01]) == pytest.approx([0.04, np.nan, 0.02], nan_ok=True)


def test_tests_agree_with_formulas_and_pingouin() -> None:
    study, values = simulated(np.random.default_rng(3), (2.8, 3.2, 3.3))
    result = analyse(study, ratings_of(values)).scales[0]
    means = np.nanmean(values, axis=1)
    groups = {name: means[np.array(study.sources) == name] for name in study.sources}
    ranks = stats.rankdata(means)
    n = len(means)
    sums = [ranks[np.array(study.sources) == name].sum() ** 2 / 20 for name in groups]
    _, ties = np.unique(means, return_counts=True)
    h = (12 / (n * (n + 1)) * sum(sums) - 3 * (n + 1)) / (1 - (ties**3 - ties).sum() / (n**3 - n))
    assert result.h == pytest.approx(h)
    assert result.p_value == pytest.approx(stats.chi2.sf(h, 2))
    assert result.epsilon_squared == pytest.approx(h / (n - 1))
    for c in result.comparisons:
        a, b = groups[c.first], groups[c.second]
        gap = np.sign(a[:, None] - b[None, :])
        assert c.effect == pytest.approx(gap.mean())
        assert c.u == pytest.approx(((gap > 0) + 0.5 * (gap == 0)).sum())
    pingouin = pytest.importorskip("pingouin", reason="pingouin is a peer for comparison only")
    for c in result.comparisons:
        theirs = pingouin.mwu(groups[c.first], groups[c.second])
        assert c.p_value == pytest.approx(float(theirs.filter(regex="^p").iloc[0, 0]))
        assert abs(c.effect) == pytest.approx(abs(float(theirs["RBC"].iloc[0])))


def test_unrated_queries_and_alike_raters_are_reported() -> None:
    study, values = simulated(np.random.default_rng(0), (3.0, 3.0, 3.0))
    values[5] = np.nan
    values[:, 3] = np.where(np.isnan(values[:, 3]), np.nan, 4)
    found = analyse(study, ratings_of(values, unparseable=(("r1", "q1", "naturalness", "|x|"),)))
    assert found.flagged["naturalness"] == ("r3",)
    assert found.scales[0].n_unrated == 1
    assert found.scales[0].alpha_dropped == 1
    assert sum(m.n for m in found.scales[0].means) == 59
    text = study_table(found)
    assert "1 unparseable" in text
    assert "r3" in text
    assert "(1 dropped)" in text


def test_units_levels_and_empty_groups() -> None:
    study, values = simulated(np.random.default_rng(0), (2.0, 3.0, 4.0))
    by_rating = analyse(study, ratings_of(values), unit="rating").scales[0]
    by_query = analyse(study, ratings_of(values)).scales[0]
    assert by_rating.means[0].n == 20 * 32
    assert by_rating.means[0].mean == pytest.approx(by_query.means[0].mean)
    for wrong in ({"unit": "rater"}, {"level": 0.0}):
        with pytest.raises(ConfigError):
            analyse(study, ratings_of(values), **wrong)
    nothing = analyse(study, ratings_of(np.full_like(values, np.nan))).scales[0]
    assert all(np.isnan(c.p_holm) and not c.significant for c in nothing.comparisons)
    assert "–" in study_table(analyse(study, ratings_of(np.full_like(values, np.nan))))


def simulated(rng: np.random.Generator, means: tuple[float, ...]) -> tuple[Study, np.ndarray]:
    """32 raters with habits of their own, 20 queries per source with effects of their own."""
    sources = np.repeat(["RQBENCH", "CHAT", "LLM"], 20)
    order = rng.permutation(60)
    level = np.repeat(means, 20) + rng.normal(0, 0.25, 60)
    raw = level[:, None] + rng.normal(0, 0.4, 32) + rng.normal(0, 0.8, (60, 32))
    ids = tuple(f"q{n}" for n in range(60))
    study = Study("simulated", ids, ids, tuple(sources[order].tolist()))
    return study, np.clip(np.rint(raw), 1, 5)[order]


@pytest.mark.parametrize("repeats", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_known_effects_are_found_in_95_percent_of_studies(repeats: int) -> None:
    """All pairs differ by 0.4 points: right is the omnibus, all three pairs, and their order."""
    rng = np.random.default_rng(2026)
    right = 0
    for _ in range(repeats):
        study, values = simulated(rng, (3.8, 3.0, 3.4))
        result = analyse(study, ratings_of(values)).scales[0]
        ordered = sorted(result.means, key=lambda m: m.mean)
        names = [m.source for m in ordered]
        found = result.p_value < 0.05 and all(c.significant for c in result.comparisons)
        right += found and names == ["CHAT", "LLM", "RQBENCH"]
    assert right >= 0.95 * repeats


@pytest.mark.slow
def test_intervals_cover_at_the_stated_rate() -> None:
    """A source's interval covers its mean, which the ends of the scale do not move at 3.0."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(500):
        study, values = simulated(rng, (3.0, 3.0, 3.0))
        mean = analyse(study, ratings_of(values - values.mean(axis=0) + 3)).scales[0].means[0]
        covered += mean.low <= 3.0 <= mean.high
    assert covered >= stats.binom.isf(0.999, 500, 0.95)


@pytest.mark.slow
def test_no_effect_is_found_at_most_at_the_nominal_rate() -> None:
    rng = np.random.default_rng(7)
    omnibus = family = 0
    for _ in range(500):
        study, values = simulated(rng, (3.2, 3.2, 3.2))
        result = analyse(study, ratings_of(values)).scales[0]
        omnibus += result.p_value < 0.05
        family += any(c.significant for c in result.comparisons)
    limit = stats.binom.isf(0.001, 500, 0.05)
    assert omnibus <= limit
    assert family <= limit


def test_plot_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    study, values = simulated(np.random.default_rng(0), (2.0, 3.0, 4.0))
    plot_study(analyse(study, ratings_of(values)), tmp_path / "study.png")
    assert (tmp_path / "study.png").read_bytes().startswith(b"\x89PNG")


# ---------------------------------------------------------------- the page


def test_page_is_self_contained_and_blind() -> None:
    study = sample_study(POOLS)
    page = rating_page(study)
    assert not any(name in page for name in POOLS)
    for outside in ("http://", "https://", "src=", "@import", "url("):
        assert outside not in page
    assert "default-src 'none'" in page


def test_a_query_cannot_become_markup() -> None:
    evil = "</script><script>alert(1)</script> <!-- {{STUDY}} "
    page = rating_page(sample_study({"A": [evil]}, StudyConfig(per_source=1)))
    assert "<script>alert" not in page
    data = page.split('id="study">')[1].split("</script>")[0]
    assert json.loads(data)["items"][0]["query"] == evil.strip()


def _answer(browser: Any, position: int) -> None:
    for scale, value in zip(SCALES, (position % 5 + 1, (position * 2) % 5 + 1), strict=True):
        browser.find_element("css selector", f"input[name={scale}][value='{value}']").click()


@pytest.mark.slow
def test_page_in_a_browser_from_first_to_last_question(browser: Any, tmp_path: Path) -> None:
    """Answer six queries, reload in the middle, go back once, save the file and analyse it."""
    pools = {name: pool[:2] for name, pool in POOLS.items()}
    study = sample_study(pools, StudyConfig(per_source=2))
    write_rating_page(study, tmp_path / "page.html")
    browser.get((tmp_path / "page.html").as_uri())
    browser.find_element("id", "begin").click()
    assert not browser.find_element("id", "rate").is_displayed()  # no name, no start
    browser.find_element("id", "rater").send_keys("Ann <b>")
    browser.find_element("id", "begin").click()
    for position, query in enumerate(study.queries):
        assert browser.find_element("id", "query").text == query
        assert not browser.find_element("id", "next").is_enabled()
        _answer(browser, position)
        if position == 3:
            browser.refresh()
            assert browser.find_element("id", "query").text == query
            checked = browser.find_elements("css selector", "input:checked")
            assert [box.get_attribute("value") for box in checked] == ["4", "2"]
            browser.find_element("id", "back").click()
            assert browser.find_element("id", "query").text == study.queries[2]
            browser.find_element("id", "next").click()
        browser.find_element("id", "next").click()
    browser.refresh()
    text = browser.find_element("id", "text").get_attribute("value")
    browser.find_element("id", "export").click()
    saved = _download(tmp_path / "downloads")
    assert json.loads(saved.read_text(encoding="utf-8")) == json.loads(text)
    assert browser.get_log("browser") == []  # no error, nothing refused by the policy
    _check_export(saved, study)


def _download(folder: Path) -> Path:
    import time

    for _ in range(100):
        if found := list(folder.glob("*.json")):
            return found[0]
        time.sleep(0.1)
    raise AssertionError("nothing was saved")


def _check_export(saved: Path, study: Study) -> None:
    ratings = read_ratings([saved], study)
    assert ratings.raters == ("Ann <b>",)
    assert ratings.values["naturalness"][:, 0].tolist() == [1, 2, 3, 4, 5, 1]
    assert ratings.values["intent_clarity"][:, 0].tolist() == [1, 3, 5, 2, 4, 1]
    assert (ratings.missing, ratings.unknown, ratings.unparseable) == (0, 0, ())
    assert analyse(study, ratings).n_queries == 6
