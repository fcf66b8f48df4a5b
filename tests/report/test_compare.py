"""Reading results side by side, and comparing models: figures, families, refusals."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.boards import MODELS, edition_from, write_results
from typer.testing import CliRunner

from fashion_rq_bench.cli import app
from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.evaluation.results import task_scores_of
from fashion_rq_bench.measures import statistics as stats
from fashion_rq_bench.measures.classification import report_from_confusion
from fashion_rq_bench.report.board.board import Board, at_home, read_board
from fashion_rq_bench.report.board.compare import Agreement, compare, p_text, wanted_metrics
from fashion_rq_bench.report.board.pooled import POOLED, figures_of
from fashion_rq_bench.schema.grades import GRADE_NAMES
from fashion_rq_bench.support.files import read_parquet, write_parquet


@pytest.fixture(scope="module")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    return edition_from(tmp_path_factory.mktemp("tiny") / "edition", "lsa")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, edition: Edition) -> Path:
    folder = tmp_path_factory.mktemp("results")
    write_results(folder, edition)
    return folder


@pytest.fixture(scope="module")
def board(edition: Edition, results: Path) -> Board:
    return read_board(edition, results)


# the board


def test_every_figure_is_the_one_that_evaluate_shows(board: Board, results: Path) -> None:
    checked = 0
    for path in (results / "results").glob("*.parquet"):
        table = read_parquet(path)
        place = [one.name for one in board.models].index(table["model"][0].as_py())
        for task, scores in task_scores_of(table).items():
            for metric, mean in scores.means().items():
                found = board.measure(task, metric)
                np.testing.assert_allclose(found.figures[place], mean.value, atol=1e-12)
                assert found.n[place] == mean.n
                assert found.undefined[place] == mean.undefined
                checked += 1
    assert checked > 500


def test_queries_are_named(board: Board, edition: Edition) -> None:
    assert board.query_ids("ranking") == edition.table("ranking")["query_id"].to_pylist()


def test_models_stand_by_name_and_the_floor_and_the_reference_last(board: Board) -> None:
    assert [one.name for one in board.models] == [
        "bad_one|$x$<b>",
        "good",
        "lsa",
        "random",
        "oracle",
    ]
    assert [one.role for one in board.models[3:]] == ["floor", "reference"]
    assert [one.at_home for one in board.models] == [False, False, True, False, False]


def test_hybrids_and_renamed_encoders_compete_at_home_too() -> None:
    full = "sentence-transformers/all-MiniLM-L6-v2"
    assert at_home("rrf:bm25+minilm", full)
    assert at_home(f"{full}@{'a' * 40}", "minilm")
    assert at_home("dense:models/all-MiniLM-L6-v2", full)
    assert at_home("qwen3-embedding-0.6b", "Qwen/Qwen3-Embedding-0.6B")
    assert at_home("simcse:models/x", "princeton-nlp/sup-simcse-roberta-large")
    assert not at_home("dense:models/x", "dense:models/y")
    assert at_home(full, "minilm")
    assert at_home("/models/all-MiniLM-L6-v2/", "minilm")
    assert not at_home("bm25", "lsa")
    assert not at_home("lsa", None)


def test_queries_are_aligned_by_id_not_by_row(
    edition: Edition, results: Path, tmp_path: Path
) -> None:
    for path in (results / "results").glob("*.parquet"):
        table = read_parquet(path)
        mixed = np.random.default_rng(0).permutation(len(table)) if "good" in path.name else None
        write_parquet(
            table if mixed is None else table.take(pa.array(mixed)),
            tmp_path / "results" / path.name,
        )
    other, whole = read_board(edition, tmp_path), read_board(edition, results)
    first = other.measure("ranking", "ndcg@10")
    second = whole.measure("ranking", "ndcg@10")
    np.testing.assert_allclose(first.figures, second.figures)
    found = first.differences([(0, 1)]).p_value
    np.testing.assert_allclose(found, second.differences([(0, 1)]).p_value)


def test_other_editions_are_never_mixed_in(
    edition: Edition, results: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = edition_from(tmp_path / "other", "minilm", name="other")
    assert other.id != edition.id or other.name != edition.name
    foreign = replace(other, manifest=dict(other.manifest) | {"id": "f" * 64})
    with pytest.raises(InputError, match=r"only of .*different editions do not compare") as caught:
        read_board(foreign, results)
    assert edition.id[:12] in str(caught.value)
    with pytest.raises(InputError, match="holds no results of edition"):
        read_board(edition, tmp_path)


def test_a_damaged_or_foreign_file_is_named(edition: Edition, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "x.parquet").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"x\.parquet cannot be read as results"):
        read_board(edition, tmp_path)
    write_parquet(pa.table({"a": [1]}), tmp_path / "results" / "x.parquet")
    with pytest.raises(InputError, match="other columns"):
        read_board(edition, tmp_path)


def test_two_runs_of_one_name_are_told_apart(edition: Edition, tmp_path: Path) -> None:
    write_results(tmp_path, edition, {"good": 0.3})
    write_results(tmp_path, edition, {"good": 0.9}, model_id="1" * 16)
    board = read_board(edition, tmp_path)
    assert [one.label for one in board.models] == ["good@00000000", "good@11111111"]
    with pytest.raises(ConfigError, match="Several runs share this name"):
        board.select(["good"])
    assert board.select(["good@1"]).models[0].model_id == "1" * 16


def test_a_task_that_a_model_lacks_is_undefined_for_it(edition: Edition, tmp_path: Path) -> None:
    write_results(tmp_path, edition, {"good": 0.3, "lsa": 0.6})
    path = next((tmp_path / "results").glob("lsa*"))
    table = read_parquet(path)
    kept = table.filter(pa.compute.not_equal(table["task"], "sibling"))
    write_parquet(kept, path)
    found = read_board(edition, tmp_path).measure("sibling", "ndcg@3")
    assert found.n.tolist()[1] == 0
    assert math.isnan(found.figures[1])
    assert math.isnan(found.differences([(0, 1)]).difference[0])


def test_whole_corpus_results_join_their_model(edition: Edition, tmp_path: Path) -> None:
    write_results(tmp_path, edition, {"good": 0.3, "lsa": 0.6})
    path = next((tmp_path / "results").glob("good*"))
    table = read_parquet(path)
    rows = table.filter(pa.compute.equal(table["task"], "ranking"))
    place = rows.schema.get_field_index("task")
    searched = rows.set_column(
        place, rows.schema.field("task"), pa.array(["retrieval"] * len(rows))
    )
    write_parquet(searched, tmp_path / "full-catalog" / "results" / path.name)
    board = read_board(edition, tmp_path)
    assert board.main["retrieval"] == "ndcg@10"
    found = board.measure("retrieval", "ndcg@10").figures
    np.testing.assert_allclose(found[0], board.measure("ranking", "ndcg@10").figures[0])
    assert math.isnan(found[1])


# pooled figures


def test_pooled_figures_agree_with_the_classification_report() -> None:
    confusions = np.random.default_rng(0).integers(0, 9, (20, 4, 4)).astype(float)
    confusions[3, 2] = confusions[3, :, 2] = 0
    for number, confusion in enumerate(confusions):
        report = report_from_confusion(confusion)
        for name in POOLED:
            side, _, grade = name.partition("_")
            whole = name in ("accuracy", "macro_f1", "ordinal_error")
            want = (
                getattr(report, name) if whole else getattr(report, side)[GRADE_NAMES.index(grade)]
            )
            found = figures_of(name, confusions.reshape(20, 16))[number]
            np.testing.assert_allclose(found, want, err_msg=name)


def test_pooled_figures_refuse_unknown_names() -> None:
    with pytest.raises(ConfigError, match="no such figure"):
        figures_of("f2_exact", np.ones(16))


def test_draws_of_macro_f1_are_those_of_repeated_clusters(board: Board) -> None:
    found = board.measure("classification", "macro_f1")
    cells = [f"confusion_{one}_{other}" for one in GRADE_NAMES for other in GRADE_NAMES]
    units = board.units["classification"][0]
    counts = np.stack([units.values[name][1] for name in cells], axis=-1)
    drawn = found.resampling
    for draw in range(5):
        weights = drawn.counts[draw][drawn.cluster]
        confusion = (counts * weights[:, None]).sum(axis=0).reshape(4, 4)
        np.testing.assert_allclose(found.draws[draw, 1], report_from_confusion(confusion).macro_f1)
    np.testing.assert_allclose(drawn.counts.shape, (stats.RESAMPLES, 12))


# comparing


def test_rows_hold_what_the_statistics_give(board: Board) -> None:
    found = compare(
        board, ["good", "lsa"], [("ranking", "ndcg@10"), ("classification", "macro_f1")]
    )
    ranking, macro = found.rows
    measured = board.measure("ranking", "ndcg@10")
    np.testing.assert_allclose(ranking.difference, measured.figures[1] - measured.figures[2])
    assert ranking.low < ranking.difference < ranking.high
    assert ranking.n == 24
    np.testing.assert_allclose(ranking.wins + ranking.ties + ranking.losses, 1)
    np.testing.assert_allclose(macro.difference, macro.first_value - macro.second_value)
    assert math.isnan(macro.p_value)
    assert math.isnan(macro.wins)
    assert found.tests == 1
    assert ranking.p_holm == ranking.p_value


def test_the_family_is_all_that_is_shown(board: Board) -> None:
    names, metrics = ["good", "lsa", "bad_one|$x$<b>"], wanted_metrics(board, (), ())
    found = compare(board, names, metrics)
    assert len(found.rows) == 3 * 4
    np.testing.assert_allclose(
        [row.p_holm for row in found.rows], stats.holm([row.p_value for row in found.rows])
    )


def test_the_order_of_the_names_is_the_sign_of_the_difference(board: Board) -> None:
    one = compare(board, ["good", "lsa"], [("sibling", "ndcg@3")]).rows[0]
    other = compare(board, ["lsa", "good"], [("sibling", "ndcg@3")]).rows[0]
    np.testing.assert_allclose([one.difference, one.low], [-other.difference, -other.high])
    np.testing.assert_allclose([one.p_value, one.wins], [other.p_value, other.losses])


def test_agreement_of_tasks_leaves_out_floor_and_reference(board: Board) -> None:
    found = compare(board, ["good", "random"], [("ranking", "ndcg@10")]).agreement
    assert found.models == 3
    assert found.names == ("T1", "T2", "T3", "T4")
    assert found.tau[0][0] == 1
    assert "T1–T2" in found.text()


def test_agreement_as_a_table() -> None:
    figures = [np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0])]
    grid = Agreement.between(["a", "b", "c"], figures).grid("key", "title")
    assert [[cell.text for cell in row.cells] for row in grid.rows] == [
        ["−1.00", ""],
        ["1.00", "−1.00"],
    ]
    assert grid.columns == ("", "a", "b")


def test_wanted_metrics(board: Board) -> None:
    assert wanted_metrics(board, ["t1", "sibling"], []) == [
        ("ranking", "ndcg@10"),
        ("sibling", "ndcg@3"),
    ]
    assert wanted_metrics(board, [], ["ndcg@10"]) == [
        ("ranking", "ndcg@10"),
        ("paraphrase", "ndcg@10"),
    ]
    assert wanted_metrics(board, ["T1"], ["ndcg@10_product_type"]) == [
        ("ranking", "ndcg@10_product_type")
    ]
    with pytest.raises(ConfigError, match="Did you mean 'ndcg@10'"):
        wanted_metrics(board, [], ["ndgc@10"])
    with pytest.raises(ConfigError, match="no results of this task"):
        wanted_metrics(board, ["T9"], [])


def test_one_model_is_no_comparison(board: Board) -> None:
    with pytest.raises(ConfigError, match="at least two models"):
        compare(board, ["good", "good"], [("ranking", "ndcg@10")])
    with pytest.raises(ConfigError, match="Did you mean 'good'"):
        compare(board, ["goood", "lsa"], [("ranking", "ndcg@10")])


def test_p_values_as_text() -> None:
    assert [p_text(p) for p in (0.0004, 0.0312, 1.0, math.nan)] == ["< .001", ".031", "1.000", "–"]


# command line


def test_the_command_prints_rows_and_agreement(edition: Edition, results: Path) -> None:
    command = ["compare", "--edition", str(edition.path), "--results", str(results)]
    done = CliRunner().invoke(app, [*command, "good", "bad_one|$x$<b>", "--task", "T1"])
    assert done.exit_code == 0, done.output
    assert "good – bad_one|$x$<b>" in done.output
    assert "Kendall's τ-b between the orders of 3 models" in done.output
    assert "clusters' mean differences" in done.output
    by_query = CliRunner().invoke(app, [*command, "good", "lsa", "--by-query", "--json"])
    facts = json.loads(by_query.output)
    assert facts["unit"] == "query"
    assert facts["edition"]["id"] == edition.id
    assert len(facts["comparisons"]) == 4
    assert facts["comparisons"][0]["first"] == "good"


def test_without_names_all_models_are_compared(edition: Edition, results: Path) -> None:
    command = ["compare", "--edition", str(edition.path), "--results", str(results), "--json"]
    facts = json.loads(
        CliRunner().invoke(app, [*command, "--metric", "rel", "--task", "T1"]).output
    )
    names = {name for row in facts["comparisons"] for name in (row["first"], row["second"])}
    assert names == set(MODELS) - {"random", "oracle"}
    assert len(facts["comparisons"]) == 3
